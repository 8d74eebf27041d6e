"""Error feedback as it was first used: what is not sent is added to the next gradient."""

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
    require_step_location,
    scaled,
    zeros,
)
from sparsync.kernels.payload import SparsePayload


@dataclass(frozen=True)
class Ef14:
    """u = e + ηg, e ← u − C(u), x ← x − mean C(u); with the step size outside, u = e + g and x ← x − η mean C(u).

    Both agree only while η is constant; with a changing η, outside replays old residuals at the new step size.
    Conserved: all that was sent and what is pending add up to all ηg, or all g. At every step sent + kept = u, bit for
    bit. Source: Seide et al. 2014; the memory of Stich, Cordonnier, Jaggi 2018.

    Args:
        step_location: whether the memory holds ηg ("inside"), as the analyses have it, or g ("outside"), as released
            code has it.

    Raises:
        ValueError: `step_location` is neither.
    """

    step_location: StepLocation = "inside"

    def __post_init__(self) -> None:
        require_step_location(self.step_location)

    @property
    def fusion(self) -> Fusion | None:
        """It is what the kernel does; ηg or g is added to e itself."""
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
        """u [d].

        Raises:
            ValueError: see `scaled`.
        """
        residual = memory["residual"]
        return residual.add(scaled(gradient, step_size, like=residual, step_location=self.step_location))

    def settle(self, memory: Memory, corrected: Tensor, payload: SparsePayload) -> None:
        """e = u − C(u), exactly: +0 where an entry is sent as it is.

        Raises:
            ValueError: `corrected` or `payload` has not the residual's length.
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
        return addend_of(gradient, step_size, like=memory["residual"], step_location=self.step_location)
