"""RMSProp before the selection: each worker divides its gradient by the root of its mean squares, then selects."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import (
    Fusion,
    Memory,
    StepLocation,
    added,
    require_length,
    scaled,
    zeros,
)
from sparsync.kernels.payload import SparsePayload

SMALLEST_EPSILON = 2.0**-126


@dataclass(frozen=True)
class RmsProp:
    """v ← βv + (1 − β)g², w ← βw + (1 − β), u = e + g/(√(v/w) + ε), e ← u − C(u), x ← x − η mean C(u); all from 0.

    w is 1 − βᵗ. It takes the place of an adaptive optimiser: entries of all sizes have their turn in the selection, and
    one that waits arrives as the sum of the steps that it would have made. After a selection that optimiser would see
    rare and large entries, whose mean squares say little of the gradient. Conserved: all that was sent and what is
    pending add up to all g/(√(v/w) + ε), up to the rounding of their sum with e. As in Adam, an entry makes no more
    steps once its g² was not finite, in float32 from 2⁶⁴ on. Source: Kingma, Ba 2015, algorithm 1 with β₁ = 0; before
    the selection: ours (Chen, Shen, Huang, Liu 2021, arXiv 2004.14180, quantise Adam with error feedback).

    Args:
        averaging: β, in (0, 1).
        epsilon: ε, at least 2⁻¹²⁶, which float32 holds.

    Raises:
        ValueError: one is out of its range.
    """

    averaging: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        if not 0 < self.averaging < 1:
            raise ValueError(f"averaging must lie in (0, 1), got {self.averaging}")
        if not SMALLEST_EPSILON <= self.epsilon < math.inf:
            raise ValueError(f"epsilon must be finite and at least {SMALLEST_EPSILON}, got {self.epsilon}")

    @property
    def step_location(self) -> StepLocation:
        """The memory holds steps of size 1."""
        return "outside"

    @property
    def fusion(self) -> Fusion:
        """The kernel adds g/(√(v/w) + ε) to e."""
        return Fusion(self._normalised)

    @property
    def pends_remainder(self) -> bool:
        """True: e."""
        return True

    @property
    def is_update(self) -> bool:
        """True: an optimiser that scaled it by its mean squares would do so twice."""
        return True

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """`residual`: e; `square`: v; `weight`: w, a vector as all of a memory.

        Raises:
            ValueError: see `zeros`.
        """
        return zeros(
            (
                "residual",
                "square",
                "weight",
            ),
            dimension,
            dtype=dtype,
            device=device,
        )

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """u [d]; moves v and w on.

        Raises:
            ValueError: see `scaled`.
        """
        return memory["residual"].add(self._normalised(memory, gradient, step_size))

    def settle(self, memory: Memory, corrected: Tensor, payload: SparsePayload) -> None:
        """e = u − C(u), exactly.

        Raises:
            ValueError: `corrected` or `payload` has not the memory's length.
        """
        require_length(corrected, memory["residual"])
        memory["residual"] = added(corrected, payload, sign=-1)

    def deliver(self, memory: Memory, mean: Tensor) -> Tensor:
        """The mean itself."""
        del memory
        return mean

    def pending(self, memory: Memory) -> Tensor:
        """e [d]."""
        return memory["residual"]

    def _normalised(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """g/(√(v/w) + ε) [d], a new tensor; every operation is rounded."""
        old = memory["square"]
        new = scaled(gradient, step_size, like=old, step_location=self.step_location)
        share = 1 - self.averaging
        memory["square"] = old.mul(self.averaging).add_(new.square().mul_(share))
        memory["weight"] = memory["weight"].mul(self.averaging).add_(share)
        return new.div(memory["square"].div(memory["weight"]).sqrt_().add_(self.epsilon))
