"""Error feedback that forgets: what is not sent fades before it is added to the next gradient."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import (
    Fusion,
    Memory,
    StepLocation,
    added,
    addend_of,
    require_length,
    require_share,
    require_step_location,
    scaled,
    zeros,
)
from sparsync.kernels.payload import SparsePayload


@dataclass(frozen=True)
class Decayed:
    """u = βe + ηg, e ← u − C(u), x ← x − mean C(u); with the step size outside, u = βe + g and x ← x − η mean C(u).

    β = 1 is `Ef14`, β = 0 sends without a memory. Conserved: what is pending after step t is the sum over s ≤ t of
    β^(t − s) times what step s added less what it sent. Source: the memory of SparseLoCo (arXiv 2508.15706), whose
    paper was not read; the recursion is re-derived.

    Args:
        decay: β, in [0, 1].
        step_location: as in `Ef14`.

    Raises:
        ValueError: `decay` out of its range, or `step_location` is neither.
    """

    decay: float = 0.95
    step_location: StepLocation = "inside"

    def __post_init__(self) -> None:
        require_share("decay", self.decay)
        require_step_location(self.step_location)

    @property
    def fusion(self) -> Fusion:
        """The kernel adds ηg or g to βe."""
        return Fusion(self._addend)

    @property
    def pends_remainder(self) -> bool:
        """True: e."""
        return True

    @property
    def is_update(self) -> bool:
        """False: a gradient."""
        return False

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """`residual`: e.

        Raises:
            ValueError: see `zeros`.
        """
        return zeros(("residual",), dimension, dtype=dtype, device=device)

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """u [d]; βe is rounded before the addition.

        Raises:
            ValueError: see `scaled`.
        """
        residual = memory["residual"]
        addend = scaled(gradient, step_size, like=residual, step_location=self.step_location)
        return residual.mul(self.decay).add(addend)

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

    def _addend(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        residual = memory["residual"]
        addend = addend_of(gradient, step_size, like=residual, step_location=self.step_location)
        # In a new vector, even where β = 1: the old one is still there if the kernel refuses.
        memory["residual"] = residual.mul(self.decay)
        return addend
