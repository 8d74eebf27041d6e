"""EF21 with momentum: the estimate follows an average of the gradients, so that their noise is not compressed."""

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
class Ef21Sgdm:
    """v ← (1 − α)v + αg, u = v − h, h ← h + C(u), x ← x − η mean h, where h is the worker's estimate of v; both from 0.

    α = 1 is `Ef21`. Conserved: all that a worker sent adds up to h; and h with what is pending is v, up to roundings.
    Source: Fatkhullin, Tyurin, Richtárik 2023, re-derived; there v begins as a gradient and not as 0.

    Args:
        momentum: α, the weight of the new gradient, in (0, 1].

    Raises:
        ValueError: `momentum` out of its range.
    """

    momentum: float = 0.1

    def __post_init__(self) -> None:
        require_share("momentum", self.momentum, may_be_zero=False)

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
        """False: an average of gradients."""
        return False

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """`velocity`: v; `estimate`: h; `average`: that of all workers' h; `unsent`: u − C(u).

        Raises:
            ValueError: see `zeros`.
        """
        return zeros(
            (
                "velocity",
                "estimate",
                "average",
                "unsent",
            ),
            dimension,
            dtype=dtype,
            device=device,
        )

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """u = v − h [d]; moves v on, with both products rounded before the addition.

        Raises:
            ValueError: see `scaled`.
        """
        velocity = memory["velocity"]
        new = scaled(gradient, step_size, like=velocity, step_location=self.step_location)
        memory["velocity"] = velocity.mul(1 - self.momentum).add(new.mul(self.momentum))
        return memory["velocity"].sub(memory["estimate"])

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
        """u − C(u) [d]: what the estimate lacks of v."""
        return memory["unsent"]
