"""What is a synchronisation model? Hooks that read a view and return effects; each has a default.

A policy decides what a worker reports, what happens to reports, who may go on, and from which model. Hooks are called
in the order of `experiments/engine/core.py`. They keep counters of their own, but no vectors.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from sparsync.experiments.engine.effects import PULL, USUAL_PLAN, Add, Effect, Plan, Pull, Send
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors.guarantee import Guarantee

Wake = Literal["anything", "watched_progress", "least_progress", "own_message"]


@dataclass(eq=False)
class Policy:
    """Asynchronous by default: every message is applied when it arrives, nobody waits for others.

    A subclass is a dataclass whose fields are its parameters; it states in its docstring the rule, the paper, and the
    weight with which messages are added.
    """

    gate_opens_on: ClassVar[Wake] = "anything"
    """When a closed gate is looked at again, besides when its worker arrives, the membership changes, or a `Look` is
    ordered: after any event; when the progress of a `watched` worker changes, or after an alarm; when the least
    progress changes; or only when one of the worker's own messages is settled, or its model is mixed. All give the same
    run if true."""

    tolerates_loss: ClassVar[bool] = True
    """A real run goes on when a worker is lost, with those who are left; else it ends, and says who was lost.

    Messages on their way may be lost with it, so that a gate must not count those of a life that came before.
    """

    is_decentralised: ClassVar[bool] = False
    """There is no shared model, workers mix their own: what counts is the mean of them."""

    def attach(self, view: View) -> Iterable[Effect]:
        """Called once before the first step; overriding methods call this one."""
        self.view = view
        return ()

    def plan(self, worker: int) -> Plan:
        """Before each step of a worker."""
        del worker
        return USUAL_PLAN

    def on_step(self, worker: int) -> Iterable[Effect]:
        """A worker has finished a step."""
        return (Send(worker),)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """A message is in the inbox."""
        return (Add((message.uid,), (1 / self.view.worker_count,)),)

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """An alarm rings."""
        del key
        return ()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A worker has come or gone, as `view.alive` already says."""
        del worker
        return ()

    def gate(self, worker: int) -> bool:
        """May a waiting worker go on? A pure function of the view and the policy's counters."""
        return self.view.is_settled(worker)

    def watched(self, worker: int) -> Iterable[int]:
        """Whose progress could open a closed gate, where gates open on that."""
        del worker
        return ()

    def refresh(self, worker: int) -> Pull:
        """From which model a released worker goes on."""
        del worker
        return PULL

    def remark(self) -> str:
        """What a user should know of the run that is over, such as that the policy came to do nothing of its own."""
        return ""

    def guarantee(self) -> Guarantee:
        """What the policy's paper promises; the monitors hold it to that."""
        return Guarantee()
