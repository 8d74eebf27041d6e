"""Backup workers: a synchronous round does not wait for its b slowest reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Add, Drop, Effect
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.policies.bsp import Bsp
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Backup(Bsp):
    """Once all but b of the workers alive have reported, their reports are added, each with weight 1/(reports).

    A late worker finishes its step, its report is dropped on arrival, and it goes on from the newest model. A round has
    at least one report, however few workers are there.

    Args:
        backups: b from 0 to n − 1; 0 is BSP.

    Source: Chen, Pan, Monga, Bengio, Jozefowicz 2016.
    """

    backups: int = 1

    tolerates_loss: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_count("backups", self.backups, least=0)

    def attach(self, view: View) -> Iterable[Effect]:
        """A round waits for somebody.

        Raises:
            ValueError: there are to be as many backup workers as workers.
        """
        if self.backups >= view.worker_count:
            raise ValueError(f"backups must be fewer than the {view.worker_count} workers, got {self.backups}")
        return super().attach(view)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """A report on an older model came too late."""
        if self.backups and message.read_version < self.view.version:
            return (Drop((message.uid,)),)
        return self.finished_round()

    def finished_round(self) -> Iterable[Effect]:
        """One addition of all reports, if enough have come."""
        if self.view.reporting_count < max(1, self.view.alive_count - self.backups):
            return ()
        messages = tuple(message.uid for message in self.view.inbox_by_worker())
        return (Add(messages, (1 / len(messages),) * len(messages)),)

    def guarantee(self) -> Guarantee:
        """What is applied was read in the version before; with backup workers, a slow one may fall behind for ever."""
        if not self.backups:
            return super().guarantee()
        return Guarantee(staleness=0, deferral=0, lossless=False)
