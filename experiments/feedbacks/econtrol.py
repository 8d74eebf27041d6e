"""EControl: EF21's estimate and the old residual together, the residual fed back by a share."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import (
    Memory,
    StepLocation,
    added,
    require_length,
    require_share,
    scaled,
    zeros,
)
from sparsync.kernels.payload import SparsePayload


@dataclass(frozen=True)
class EControl:
    """u = αe + g − h, h ← h + C(u), e ← e + g − h with the new h, x ← x − η mean h; e and h from 0.

    α = 0 is `Ef21`. Conserved, up to roundings: the h of all steps, which the parameters follow, and what is pending
    add up to all g. Source: Gao, Islamov, Stich 2024, re-derived; there h begins as a gradient and not as 0.

    Args:
        control: α, in [0, 1]; to be small where little is sent.

    Raises:
        ValueError: `control` out of its range.
    """

    control: float = 0.1

    def __post_init__(self) -> None:
        require_share("control", self.control)

    @property
    def step_location(self) -> StepLocation:
        """The memory holds gradients."""
        return "outside"

    @property
    def fusion(self) -> None:
        """None: no vector of the memory is what a selection left."""
        return None

    @property
    def pends_remainder(self) -> bool:
        """False: e holds what the estimate lacks of all gradients."""
        return False

    @property
    def is_update(self) -> bool:
        """False: a gradient."""
        return False

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """`residual`: e; `estimate`: h; `average`: that of all workers' h.

        Raises:
            ValueError: see `zeros`.
        """
        return zeros(
            (
                "residual",
                "estimate",
                "average",
            ),
            dimension,
            dtype=dtype,
            device=device,
        )

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """u [d]; adds g − h, with the old h, to e.

        Raises:
            ValueError: see `scaled`.
        """
        residual, estimate = memory["residual"], memory["estimate"]
        new = scaled(gradient, step_size, like=residual, step_location=self.step_location)
        difference = new.sub(estimate)
        memory["residual"] = residual.add(difference)
        return residual.mul(self.control).add(difference)

    def settle(self, memory: Memory, corrected: Tensor, payload: SparsePayload) -> None:
        """h ← h + C(u), e ← e − C(u).

        Raises:
            ValueError: `corrected` or `payload` has not the memory's length.
        """
        require_length(corrected, memory["residual"])
        memory["estimate"] = added(memory["estimate"], payload)
        memory["residual"] = added(memory["residual"], payload, sign=-1)

    def deliver(self, memory: Memory, mean: Tensor) -> Tensor:
        """mean h [d]: the mean of all workers' estimates."""
        memory["average"] = memory["average"].add(mean)
        return memory["average"]

    def pending(self, memory: Memory) -> Tensor:
        """e [d]."""
        return memory["residual"]
