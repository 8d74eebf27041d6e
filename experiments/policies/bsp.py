"""Bulk-synchronous parallel: nobody starts a step before everybody's last one is in the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.effects import Add, Effect
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Bsp(Policy):
    """Once every worker alive has reported, all reports are added in worker order, each with weight 1/(reports).

    Source: Valiant 1990; as a parameter server, Dean et al. 2012.
    """

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """The last report of a round lets the round be applied."""
        del message
        return self.finished_round()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A round may have waited for one that is gone."""
        del worker
        return self.finished_round()

    def finished_round(self) -> Iterable[Effect]:
        """One addition of all reports, if every worker alive has reported."""
        if not self.view.has_every_report():
            return ()
        messages = tuple(message.uid for message in self.view.inbox_by_worker())
        return (Add(messages, (1 / len(messages),) * len(messages)),)

    def guarantee(self) -> Guarantee:
        """Nobody is ahead, and what is applied was read in the version before."""
        return Guarantee(gap=1, staleness=0, deferral=0)
