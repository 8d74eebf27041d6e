"""Smooth switch: from asynchronous to synchronous, by a buffer that grows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from sparsync.experiments.engine.effects import Add, Effect
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class SmoothSwitch(Policy):
    """Reports are added once there are K, K = min(1 + ⌊version/growth⌋, workers alive); reporters wait for that.

    The paper's threshold function has not been read: that K grows by one at a time is recalled. At K = 1 this is
    asynchronous, at K = n bulk-synchronous.

    Args:
        growth: versions after which K grows by one; infinity keeps 1, and 0 begins with all workers.
        weight: "mean" gives each report 1/K, so that early versions move by whole steps; "per_worker" always 1/n.

    Source: Vora, Joshi, Patel 2024.
    """

    growth: float = 25
    weight: Literal["mean", "per_worker"] = "mean"

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.growth >= 0:
            raise ValueError(f"growth must be at least 0, got {self.growth}")
        if self.weight not in ("mean", "per_worker"):
            raise ValueError(f"weight must be 'mean' or 'per_worker', got {self.weight!r}")

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """The report that fills the buffer empties it."""
        del message
        return self.emptied_buffer()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """With fewer workers a smaller buffer is full."""
        del worker
        return self.emptied_buffer()

    def buffer_size(self) -> int:
        """K of the present version."""
        view = self.view
        grown = 1 + view.version // self.growth if self.growth else view.worker_count
        return max(1, int(min(grown, view.alive_count)))

    def emptied_buffer(self) -> Iterable[Effect]:
        """One addition of all reports, in worker order, if there are K."""
        if len(self.view.inbox) < self.buffer_size():
            return ()
        messages = tuple(message.uid for message in self.view.inbox_by_worker())
        weight = 1 / (len(messages) if self.weight == "mean" else self.view.worker_count)
        return (Add(messages, (weight,) * len(messages)),)

    def guarantee(self) -> Guarantee:
        """A worker waits until its own report is applied; nothing is claimed of the lead."""
        return Guarantee(deferral=0)
