"""Deep gradient compression's memory: momentum before the selection, and none left where an entry was sent."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import (
    Fusion,
    Memory,
    StepLocation,
    added,
    require_length,
    require_momentum,
    scaled,
    zeros,
)
from sparsync.kernels.payload import SparsePayload


@dataclass(frozen=True)
class Dgc:
    """m ← βm + g, u = e + m, e ← u − C(u), m ← 0 where C(u) is sent, x ← x − η mean C(u).

    β = 0 is `Ef14` outside. Where everything is sent, it is heavy ball on the mean gradient, or plain SGD if m is
    masked, as nothing is left of m. Conserved: all that was sent and what is pending add up to all m.
    Source: Lin, Han, Mao, Wang, Dally 2018, momentum correction and momentum factor masking, re-derived; without
    gradient clipping and warm-up.

    Args:
        momentum: β, in [0, 1). The `momentum` of a run is another one, after aggregation.
        masking: whether m is set to zero where an entry is sent; 0 or 1 likewise.

    Raises:
        ValueError: one is out of its range.
    """

    momentum: float = 0.9
    masking: bool = True

    def __post_init__(self) -> None:
        require_momentum("momentum", self.momentum)
        if self.masking not in (0, 1):
            raise ValueError(f"masking must be 0 or 1, got {self.masking!r}")

    @property
    def step_location(self) -> StepLocation:
        """The memory holds gradients."""
        return "outside"

    @property
    def fusion(self) -> Fusion:
        """The kernel adds m to e; m is masked afterwards."""
        return Fusion(self._addend, self._mask if self.masking else None)

    @property
    def pends_remainder(self) -> bool:
        """True: e."""
        return True

    @property
    def is_update(self) -> bool:
        """False: a gradient with momentum."""
        return False

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """`residual`: e; `velocity`: m.

        Raises:
            ValueError: see `zeros`.
        """
        return zeros(
            (
                "residual",
                "velocity",
            ),
            dimension,
            dtype=dtype,
            device=device,
        )

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """u [d]; moves m on.

        Raises:
            ValueError: see `scaled`.
        """
        memory["velocity"] = self._moved_on(memory["velocity"], gradient, step_size)
        return memory["residual"].add(memory["velocity"])

    def settle(self, memory: Memory, corrected: Tensor, payload: SparsePayload) -> None:
        """e = u − C(u), exactly, and m masked.

        Raises:
            ValueError: `corrected` or `payload` has not the memory's length.
        """
        require_length(corrected, memory["residual"])
        memory["residual"] = added(corrected, payload, sign=-1)
        if self.masking:
            memory["velocity"] = payload.remainder(memory["velocity"])

    def deliver(self, memory: Memory, mean: Tensor) -> Tensor:
        """The mean itself."""
        del memory
        return mean

    def pending(self, memory: Memory) -> Tensor:
        """e [d]; what m will add to later steps is not in it."""
        return memory["residual"]

    def _moved_on(self, velocity: Tensor, gradient: Tensor, step_size: float) -> Tensor:
        """βm + g [d], a new tensor; βm is rounded before the addition."""
        addend = scaled(gradient, step_size, like=velocity, step_location=self.step_location)
        return velocity.mul(self.momentum).add_(addend)

    def _addend(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        memory["velocity"] = self._moved_on(memory["velocity"], gradient, step_size)
        # The kernel adds before it finds a sum that is not finite. A copy costs no more than to look first.
        memory["residual"] = memory["residual"].clone()
        return memory["velocity"]

    def _mask(self, memory: Memory, payload: SparsePayload) -> None:
        memory["velocity"].index_fill_(0, payload.indices.long(), 0.0)
