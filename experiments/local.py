"""Local steps with a sparse outer update: ranks train alone for H steps, then send the largest of what they changed.

    outer = OuterStep(model, inner_steps=30, density=0.02)
    for …:
        loss.backward(); optimiser.step(); outer.step()

Δ = θ − θ_local after H steps of any optimiser is the pseudo-gradient; u = βe + Δ; C(u) is sent, in few bits if asked
for; e ← u − what was sent; θ ← the outer optimiser's step along the mean; every rank goes on from θ. The form is that
of SparseLoCo (Sarfi et al. 2025); β = 1 and SGD inside is Qsparse-local-SGD (Basu et al. 2019). Where all entries are
sent it is DiLoCo (Douillard et al. 2023), with Nesterov's momentum outside. Written from their descriptions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.ddp import named_parameters
from sparsync.experiments.hooks.agreement import require_agreement
from sparsync.experiments.hooks.treatments import require_density
from sparsync.experiments.training.collectives import begin_all_gather
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.call_plan import Rule
from sparsync.kernels.codec import Values, decode, encode_into, encoded_bound, keep_error
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.native import KERNEL_RULES, SelectionState, feedback_select
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS, target_count

OuterOptimiser = Callable[[list[Tensor]], torch.optim.Optimizer]


def plain_step(parameters: list[Tensor]) -> torch.optim.Optimizer:
    """θ ← θ − mean: with all entries sent, the mean of the ranks' parameters."""
    return torch.optim.SGD(parameters, lr=1.0)


class OuterStep:
    """What one rank keeps between outer steps: where all ranks began, and what it has not sent.

    Args:
        model: with the same parameters on every rank; those that need a gradient are trained.
        inner_steps: H, steps of the rank's own optimiser between two exchanges.
        selector: a key of `SELECTORS`; "keep_all" is dense.
        density: k/d of the whole model.
        decay: β in [0, 1], of the residual before the pseudo-gradient is added.
        values: how values are sent: "exact", "bf16", "int8" or "int2"; what they lose stays in the residual.
        outer_optimiser: from [θ], a vector that gets the mean as its gradient, to the optimiser of the outer step.
        seed: names the draws of a random selector.
        process_group: None is the default one.

    Raises:
        ValueError: an argument is not as said; or, on every rank alike, ranks have other settings or parameters.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        inner_steps: int,
        selector: str = "chunked_top_k",
        density: float = 0.02,
        decay: float = 0.95,
        values: Values = "exact",
        outer_optimiser: OuterOptimiser = plain_step,
        seed: int = 0,
        process_group: dist.ProcessGroup | None = None,
    ) -> None:
        if isinstance(inner_steps, bool) or not isinstance(inner_steps, int) or inner_steps < 1:
            raise ValueError(f"inner_steps must be an int of at least 1, got {inner_steps!r}")
        if selector not in SELECTORS:
            raise ValueError(f"unknown selector {selector!r}; known: {', '.join(SELECTORS)}")
        if not 0 <= decay <= 1:
            raise ValueError(f"decay must lie in [0, 1], got {decay}")
        if values not in VALUE_CODES:
            raise ValueError(f"unknown value code {values!r}; known: {', '.join(VALUE_CODES)}")
        require_density(density, "density")
        self.process_group = process_group
        self._parameters = list(named_parameters(model).values())
        self._inner_steps, self._selector, self._decay, self._values = inner_steps, selector, decay, values
        self._seed, self._rank = seed, dist.get_rank(process_group)
        self._anchor = self._flat()
        self._dimension = self._anchor.numel()
        self._residual = torch.zeros_like(self._anchor)
        self._selection = SelectionState()
        self._k = self._dimension if selector == "keep_all" else target_count(density, self._dimension)
        self._outer = outer_optimiser([self._anchor])
        self.step_count = 0
        """Inner steps so far."""
        self.sent_bytes = 0
        """What this rank has handed to collectives so far."""
        names = [(name, tuple(p.shape), p.dtype) for name, p in named_parameters(model).items()]
        settings = (inner_steps, selector, self._k, decay, values, seed, repr(self._outer))
        parts = {"the parameters": names, "the settings": settings, "the values of the parameters": self._digest()}
        require_agreement(parts, what="before the first step", group=process_group)

    def step(self) -> bool:
        """Count an inner step; at every H-th exchange, and put θ into the model. True iff it did.

        Raises:
            FloatingPointError: on every rank alike, if a rank's parameters are not finite; θ and e have not changed.
        """
        self.step_count += 1
        if self.step_count % self._inner_steps:
            return False
        change = self._anchor - self._flat()
        mean = self._mean(change)
        self._anchor.grad = mean
        self._outer.step()
        self._anchor.grad = None
        self._fill()
        return True

    @property
    def pending(self) -> Tensor:
        """A copy of e [d]."""
        return self._residual.clone()

    def state_dict(self) -> dict[str, Any]:
        """This rank's: θ, e, the outer optimiser's state and the count; tensors are copies."""
        return {
            "step_count": self.step_count,
            "anchor": self._anchor.clone(),
            "residual": self._residual.clone(),
            # What an optimiser returns are its own tensors, and it keeps those that it is given.
            "outer": deepcopy(self._outer.state_dict()),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from `state_dict`; the model's parameters are loaded by whoever saved them.

        Raises:
            ValueError: saved of another number of entries; nothing has changed then.
        """
        for name in ("anchor", "residual"):
            if saved[name].shape != self._anchor.shape:
                count = saved[name].numel()
                raise ValueError(f"{name} was saved with {count} entries, the model has {self._dimension}")
        self._anchor.copy_(saved["anchor"])
        self._residual.copy_(saved["residual"])
        self._outer.load_state_dict(deepcopy(saved["outer"]))
        self.step_count = int(saved["step_count"])

    def _mean(self, change: Tensor) -> Tensor:
        """The mean of all ranks' messages [d]; e becomes what this rank's lacks."""
        if not torch.isfinite(change).all():
            self._gathered(torch.empty(0, dtype=torch.uint8))
        residual = self._residual * self._decay
        payload = self._selected(change, residual)
        buffer = torch.empty(self._room(payload), dtype=torch.uint8)
        length = encode_into(payload, buffer, values=self._values)
        messages = self._gathered(buffer[:length])
        # What every other rank decodes of this message, too.
        keep_error(residual, payload, decode(buffer))
        self._residual = residual
        total = torch.zeros_like(change)
        for message in messages:
            sent = decode(message)
            # Indices are unique within a message, so no addition is lost.
            total[sent.indices.long()] += sent.values
        return total.div_(len(messages))

    def _room(self, payload: SparsePayload) -> int:
        """Bytes that its message has at most."""
        return encoded_bound(payload.count, payload.dimension, values=self._values, dtype=payload.values.dtype)

    def _gathered(self, message: Tensor) -> list[Tensor]:
        """Every rank's message; one without a byte says that its rank has nothing finite to send."""
        own = torch.tensor([len(message)])
        lengths, future = begin_all_gather(own, self.process_group)
        future.wait()
        lost = [rank for rank, length in enumerate(lengths.flatten().tolist()) if length == 0]
        if lost:
            raise FloatingPointError(f"step {self.step_count}: the parameters of ranks {lost} are not finite")
        longest = int(lengths.max())
        padded = torch.nn.functional.pad(message, (0, longest - len(message)))
        everyone, future = begin_all_gather(padded, self.process_group)
        self.sent_bytes += own.element_size() + longest
        future.wait()
        return list(everyone)

    def _selected(self, change: Tensor, residual: Tensor) -> SparsePayload:
        """C(βe + Δ); the rest becomes the residual."""
        if self._selector in KERNEL_RULES:
            rule: Rule = self._selector  # type: ignore[assignment]
            return feedback_select(change, residual, self._k, rule=rule, state=self._selection)
        generator = random_stream(self._seed, f"outer selection in step {self.step_count}", self._rank)
        corrected = residual + change
        payload = SELECTORS[self._selector](corrected, self._k, generator)
        residual.copy_(payload.remainder(corrected))
        return payload

    def _flat(self) -> Tensor:
        """The parameters as one vector of float32, or of float64 where one of them is; a copy."""
        dtype = torch.float32
        for parameter in self._parameters:
            dtype = torch.promote_types(dtype, parameter.dtype)
        return torch.cat([parameter.detach().to(dtype).flatten() for parameter in self._parameters])

    @torch.no_grad()
    def _fill(self) -> None:
        parts = self._anchor.split([parameter.numel() for parameter in self._parameters])
        for parameter, part in zip(self._parameters, parts, strict=True):
            parameter.copy_(part.view(parameter.shape))

    def _digest(self) -> list[float]:
        """A few numbers that other parameters would not give."""
        position = torch.arange(1, self._dimension + 1, dtype=torch.float64, device=self._anchor.device)
        wide = self._anchor.double()
        return [float(wide.sum()), float(wide @ position.sqrt()), math.fsum(wide[:1000].tolist())]
