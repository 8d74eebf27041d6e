"""Error feedback and selection for many gradients at once: from each its own entries, or from all of them together.

The fused kernel does it where it has the rule and the variant; for others it is `correct`, `SELECTORS`, `settle`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import cast

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Feedback, Fusion, Memory
from sparsync.experiments.hooks.side import placed
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.call_plan import Rule
from sparsync.kernels.codec import keep_error
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


def rule_of(selector: str, k: int, dimension: int) -> str:
    """The rule that selects; where all are to be sent, one that sends all."""
    return "top_k" if k == dimension else selector


def fills_capacity(selector: str) -> bool:
    """Whether a rule selects exactly k entries, whatever it is given."""
    return selector in ("top_k", "chunked_top_k", "random_k")


@dataclass(frozen=True, eq=False)
class Unit:
    """Gradients that one selection is made from.

    Args:
        name: of the first parameter.
        gradients: vectors, not changed.
        memories: of the same lengths.
        places: where each gradient begins in the exchange.
        k: target count.
        capacity: entries that are returned at most.
    """

    name: str
    gradients: Sequence[Tensor]
    memories: Sequence[Memory]
    places: Sequence[int]
    k: int
    capacity: int

    @cached_property
    def starts(self) -> Tensor:
        """Where each gradient begins in the unit, [gradients] int32 on the device."""
        lengths = [gradient.numel() for gradient in self.gradients[:-1]]
        return placed([0, *accumulate(lengths)], device=self.gradients[0].device).to(torch.int32)

    @cached_property
    def shifts(self) -> Tensor:
        """By how much further each begins in the exchange, [gradients] int32 on the device."""
        return placed(self.places, device=self.gradients[0].device).to(torch.int32) - self.starts


@dataclass(frozen=True, eq=False)
class Choice:
    """What was selected in a step.

    Args:
        payloads: of each unit; indices count through its gradients.
        corrected: of each unit, the vectors that it was selected from, if its memories have not been told yet.
    """

    payloads: list[SparsePayload]
    corrected: list[list[Tensor]] | None


class Chooser:
    """A rule applied to the same units at every step, with what makes later calls faster.

    Args:
        selector: a key of `SELECTORS`.
        units: all of one dtype and device.
        feedback: the variant.
        seed: names the draws of a random rule.
        rank: likewise.
    """

    def __init__(self, selector: str, units: Sequence[Unit], *, feedback: Feedback, seed: int, rank: int) -> None:
        self._units, self._feedback, self._seed, self._rank = units, feedback, seed, rank
        self._rules = [rule_of(selector, unit.k, sum(map(len, unit.gradients))) for unit in units]
        self._states = [SelectionState() for _ in units]
        self._is_single = all(len(unit.gradients) == 1 for unit in units)
        self._fusion = feedback.fusion if selector in KERNEL_RULES else None
        shifts = [unit.gradients[0].new_full((unit.capacity,), unit.places[0], dtype=torch.int32) for unit in units]
        self._shift = torch.cat(shifts) if shifts else torch.empty(0, dtype=torch.int32)

    def choose(self, step: int) -> Choice:
        """Select from gradients and memories; `keep` is to follow.

        Args:
            step: of the run; a random rule draws by it.

        Raises:
            ValueError: what is selected from is not finite; memories may have changed then, but none that a `Fusion`
                replaces.
        """
        if not self._units:
            return Choice([], None)
        return self._defined(step) if self._fusion is None else Choice(self._fused(self._fusion), None)

    def _fused(self, fusion: Fusion) -> list[SparsePayload]:
        """By the kernel. The memories of all units are replaced together, once something is selected from each."""
        renewed = [[dict(memory) for memory in unit.memories] for unit in self._units]
        addends = [
            # Memories hold gradients: the step size stands outside.
            [fusion.addend(memory, gradient, 1.0) for memory, gradient in zip(memories, unit.gradients, strict=True)]
            for memories, unit in zip(renewed, self._units, strict=True)
        ]
        payloads = self._selected(addends, [[memory["residual"] for memory in memories] for memories in renewed])
        for unit, memories, payload in zip(self._units, renewed, payloads, strict=True):
            if fusion.settle is not None:
                for memory, part in zip(memories, _parts(payload, unit), strict=True):
                    fusion.settle(memory, part)
            for memory, new in zip(unit.memories, memories, strict=True):
                memory.update(new)
        return payloads

    def _selected(self, addends: list[list[Tensor]], residuals: list[list[Tensor]]) -> list[SparsePayload]:
        """One call of the kernel for all units of one vector and rule, or one for each unit."""
        if self._is_single:
            found: dict[int, SparsePayload] = {}
            for rule, places in self._places_by_rule.items():
                payloads = feedback_select_many(
                    [addends[place][0] for place in places],
                    [residuals[place][0] for place in places],
                    [self._units[place].k for place in places],
                    rule=cast(Rule, rule),
                    state=self._states[places[0]],
                    capacity=[self._units[place].capacity for place in places],
                )
                found |= zip(places, payloads, strict=True)
            return [found[place] for place in range(len(self._units))]
        every = zip(self._units, self._rules, self._states, addends, residuals, strict=True)
        return [
            feedback_select_many(gradients, vectors, unit.k, rule=cast(Rule, rule), state=state, capacity=unit.capacity)
            for unit, rule, state, gradients, vectors in every
        ]

    @cached_property
    def _places_by_rule(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, rule in enumerate(self._rules):
            places.setdefault(rule, []).append(place)
        return places

    def keep(self, choice: Choice, sent: Sequence[SparsePayload]) -> None:
        """Remember what is not sent.

        Args:
            choice: of this step.
            sent: `choice.payloads` themselves, or, of each, what every receiver reads: other values, as quantised.
        """
        if choice.corrected is None and sent is choice.payloads:
            return
        for place, (unit, its_sent) in enumerate(zip(self._units, sent, strict=True)):
            parts = _parts(its_sent, unit)
            if choice.corrected is not None:
                for memory, corrected, part in zip(unit.memories, choice.corrected[place], parts, strict=True):
                    self._feedback.settle(memory, corrected, part)
                continue
            for memory, chosen, part in zip(unit.memories, _parts(choice.payloads[place], unit), parts, strict=True):
                keep_error(memory["residual"], chosen, part)

    def padded(self, choice: Choice) -> tuple[Tensor, Tensor, Tensor]:
        """What was selected, in one row.

        Returns:
            Values, and indices int32, in the places of all units' capacities, in order; counts [units] int32. Indices
            count through the exchange.
        """
        if self._fusion is not None and self._is_single:
            values, indices, counts = padded_together(choice.payloads)
            # A variant that reads what was selected, as one with masking does, has cut it from its place.
            if len(indices) == len(self._shift):
                return values, indices + self._shift, counts
        return self.together(choice.payloads)

    def together(self, payloads: Sequence[SparsePayload]) -> tuple[Tensor, Tensor, Tensor]:
        """Payloads of all units in the form of `padded`."""
        parts = []
        for unit, payload in zip(self._units, payloads, strict=True):
            values, indices, count = payload.padded()
            missing = (0, unit.capacity - len(values))
            indices = torch.nn.functional.pad(indices, missing)
            parts.append((torch.nn.functional.pad(values, missing), moved(indices, unit), count))
        return (
            torch.cat([values for values, _, _ in parts]),
            torch.cat([indices for _, indices, _ in parts]),
            torch.stack([count for _, _, count in parts]),
        )

    def _defined(self, step: int) -> Choice:
        """By the definition of error feedback, for what the kernel lacks."""
        payloads, everything = [], []
        for unit, rule in zip(self._units, self._rules, strict=True):
            # By the parameter and not in a row, since DDP forms its buckets anew.
            generator = random_stream(self._seed, f"selection from {unit.name} in step {step}", self._rank)
            corrected = [
                # Memories hold gradients: the step size stands outside.
                self._feedback.correct(memory, gradient, 1.0)
                for memory, gradient in zip(unit.memories, unit.gradients, strict=True)
            ]
            chosen = SELECTORS[rule](torch.cat(corrected), unit.k, generator)
            payload = SparsePayload(chosen.values[: unit.capacity], chosen.indices[: unit.capacity], chosen.dimension)
            payloads.append(payload)
            everything.append(corrected)
        return Choice(payloads, everything)


def _parts(payload: SparsePayload, unit: Unit) -> list[SparsePayload]:
    """The payload of each of a unit's gradients."""
    if len(unit.gradients) == 1:
        return [payload]
    sizes = [gradient.numel() for gradient in unit.gradients]
    starts = [0, *accumulate(sizes)]
    edges = torch.tensor(starts, dtype=torch.int32, device=payload.indices.device)
    cuts = torch.searchsorted(payload.indices, edges).tolist()
    return [
        SparsePayload(payload.values[first:end], payload.indices[first:end] - start, size)
        for first, end, start, size in zip(cuts, cuts[1:], starts, sizes, strict=False)
    ]


def moved(indices: Tensor, unit: Unit) -> Tensor:
    """Indices through a unit's gradients, as indices through the exchange."""
    if len(unit.places) == 1:
        return indices + unit.places[0]
    return indices + unit.shifts[torch.bucketize(indices, unit.starts, right=True).sub_(1).clamp_(0)]
