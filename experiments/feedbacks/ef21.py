"""EF21: every worker sends what its estimate of its gradient lacks, and the mean of the estimates is the step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import (
    Memory,
    StepLocation,
    added,
    require_length,
    scaled,
    zeros,
)
from sparsync.kernels.payload import SparsePayload


@dataclass(frozen=True)
class Ef21:
    """u = g − h, h ← h + C(u), x ← x − η mean h, where h is the worker's estimate of its gradient g, from 0.

    Conserved: all that a worker sent adds up to h; and h with what is pending is the last gradient, up to the
    roundings of g − h and of h + C(u). Source: Richtárik, Sokolov, Fatkhullin 2021, re-derived; h = 0 before the first
    step gives h = C(g) after it.
    """

    @property
    def step_location(self) -> StepLocation:
        """The memory holds gradients."""
        return "outside"

    @property
    def fusion(self) -> None:
        """None: the estimate is not what a selection left."""
        return None

    @property
    def pends_remainder(self) -> bool:
        """True."""
        return True

    @property
    def is_update(self) -> bool:
        """False: a gradient."""
        return False

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """`estimate`: h; `average`: that of all workers' h; `unsent`: u − C(u).

        Raises:
            ValueError: see `zeros`.
        """
        return zeros(
            (
                "estimate",
                "average",
                "unsent",
            ),
            dimension,
            dtype=dtype,
            device=device,
        )

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """u = g − h [d].

        Raises:
            ValueError: see `scaled`.
        """
        estimate = memory["estimate"]
        return scaled(gradient, step_size, like=estimate, step_location=self.step_location).sub(estimate)

    def settle(self, memory: Memory, corrected: Tensor, payload: SparsePayload) -> None:
        """h ← h + C(u).

        Raises:
            ValueError: `corrected` or `payload` has not the memory's length.
        """
        require_length(corrected, memory["estimate"])
        memory["unsent"] = added(corrected, payload, sign=-1)
        memory["estimate"] = added(memory["estimate"], payload)

    def deliver(self, memory: Memory, mean: Tensor) -> Tensor:
        """mean h [d]: the mean of all workers' estimates."""
        memory["average"] = memory["average"].add(mean)
        return memory["average"]

    def pending(self, memory: Memory) -> Tensor:
        """u − C(u) [d]: what the estimate lacks of the last gradient."""
        return memory["unsent"]
