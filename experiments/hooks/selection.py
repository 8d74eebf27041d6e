"""Error feedback and selection for many gradients at once: from each its own entries, or from all of them together.

The fused kernel does it where it has the rule; `SELECTORS` do it for the others, with the residual as definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.call_plan import Rule
from sparsync.kernels.native import KERNEL_RULES, SelectionState, feedback_select_many
from sparsync.kernels.payload import SparsePayload, padded_together
from sparsync.kernels.selection import SELECTORS


def capacity_of(selector: str, k: int, dimension: int) -> int:
    """The most entries that are sent of a selection: what the rule may return, or 2k where that has no bound.

    What a rule selects beyond stays in the residual.
    """
    bounds = {"top_k": k, "chunked_top_k": k, "random_k": k, "gaussian_k": 4 * k // 3}
    # Where fewer than ⌈2k/3⌉ entries are not zero, Gaussian-k returns fewer; the bound of 4k/3 is below 1 for no k.
    return min(dimension, max(1, bounds.get(selector, 2 * k)))


@dataclass(frozen=True, eq=False)
class Unit:
    """Gradients that one selection is made from.

    Args:
        name: of the first parameter.
        gradients: vectors, not changed.
        residuals: of the same lengths, changed in place.
        places: where each gradient begins in the exchange.
        k: target count.
        capacity: entries that are returned at most.
    """

    name: str
    gradients: Sequence[Tensor]
    residuals: Sequence[Tensor]
    places: Sequence[int]
    k: int
    capacity: int


class Chooser:
    """A rule applied to the same units at every step, with what makes later calls faster.

    Args:
        selector: a key of `SELECTORS`.
        units: all of one dtype and device.
        seed: names the draws of a random rule.
        rank: likewise.
    """

    def __init__(self, selector: str, units: Sequence[Unit], *, seed: int, rank: int) -> None:
        self._selector, self._units, self._seed, self._rank = selector, units, seed, rank
        self._states = [SelectionState() for _ in units]
        self._is_single = all(len(unit.gradients) == 1 for unit in units)
        shifts = [torch.full((unit.capacity,), unit.places[0], dtype=torch.int32) for unit in units]
        device = units[0].residuals[0].device if units else torch.device("cpu")
        self._shift = torch.cat(shifts).to(device) if shifts else torch.empty(0, dtype=torch.int32)

    def choose(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Residual ← residual + gradient, less what is selected.

        Args:
            step: of the run; a random rule draws by it.

        Returns:
            Values, and indices int32, in the places of all units' capacities, in order; counts [units] int32. Indices
            count through the exchange.
        """
        if self._selector not in KERNEL_RULES:
            return self._together(self._defined(step))
        rule: Rule = self._selector  # type: ignore[assignment]
        if not self._is_single:
            return self._together(
                [
                    feedback_select_many(
                        unit.gradients, unit.residuals, unit.k, rule=rule, state=state, capacity=unit.capacity
                    )
                    for unit, state in zip(self._units, self._states, strict=True)
                ]
            )
        payloads = feedback_select_many(
            [unit.gradients[0] for unit in self._units],
            [unit.residuals[0] for unit in self._units],
            [unit.k for unit in self._units],
            rule=rule,
            state=self._states[0],
            capacity=[unit.capacity for unit in self._units],
        )
        values, indices, counts = padded_together(payloads)
        return values, indices + self._shift, counts

    def _together(self, payloads: Sequence[SparsePayload]) -> tuple[Tensor, Tensor, Tensor]:
        """With every unit's capacity filled, and indices that count through the exchange."""
        parts = []
        for unit, payload in zip(self._units, payloads, strict=True):
            values, indices, count = payload.padded()
            missing = (0, unit.capacity - len(values))
            indices = torch.nn.functional.pad(indices, missing)
            parts.append((torch.nn.functional.pad(values, missing), _moved(indices, unit), count))
        return (
            torch.cat([values for values, _, _ in parts]),
            torch.cat([indices for _, indices, _ in parts]),
            torch.stack([count for _, _, count in parts]),
        )

    def _defined(self, step: int) -> list[SparsePayload]:
        """By the definition of error feedback, for rules that the kernel lacks."""
        payloads = []
        for unit in self._units:
            # By the parameter and not in a row, since DDP forms its buckets anew.
            generator = random_stream(self._seed, f"selection from {unit.name} in step {step}", self._rank)
            corrected = torch.cat([e.add(g) for e, g in zip(unit.residuals, unit.gradients, strict=True)])
            chosen = SELECTORS[self._selector](corrected, unit.k, generator)
            payload = SparsePayload(chosen.values[: unit.capacity], chosen.indices[: unit.capacity], chosen.dimension)
            rests = payload.remainder(corrected).split([e.numel() for e in unit.residuals])
            for residual, rest in zip(unit.residuals, rests, strict=True):
                residual.copy_(rest)
            payloads.append(payload)
        return payloads


def _moved(indices: Tensor, unit: Unit) -> Tensor:
    """Indices through a unit's gradients, as indices through the exchange."""
    if len(unit.places) == 1:
        return indices + unit.places[0]
    starts = [0, *accumulate(gradient.numel() for gradient in unit.gradients[:-1])]
    shifts = [place - start for place, start in zip(unit.places, starts, strict=True)]
    first = torch.tensor(starts, dtype=torch.int32, device=indices.device)
    shift = torch.tensor(shifts, dtype=torch.int32, device=indices.device)
    return indices + shift[torch.bucketize(indices, first, right=True).sub_(1).clamp_(0)]
