"""Collaboration of whoever is there: an update is due when all together have seen so many examples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.effects import KEEP, PULL, Add, Effect, Look, Pull
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Dedloc(Policy):
    """Reports wait until their batches sum to the target, then all are added; weights are batch/(sum of the batches).

    A worker waits until its own report has arrived, never for others; it goes on from the model it had until there is a
    newer one. So an update is always a mean over the target number of examples, however many workers there are. A slow
    worker's report may be on an older model than others of the same update.

    Args:
        target_batch: examples of an update, as a multiple of the usual batch of one worker.

    Source: Diskin et al. 2021, recalled: there gradients are summed locally and averaged among all at the target.
    """

    target_batch: float = 8

    gate_opens_on: ClassVar[Wake] = "own_message"

    def __post_init__(self) -> None:
        if not 0 < self.target_batch < math.inf:
            raise ValueError(f"target_batch must be positive and finite, got {self.target_batch}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nothing has arrived."""
        self._reported = [0] * view.worker_count
        """by worker, up to which of its steps"""
        self._total = 0.0
        """examples in the inbox"""
        return super().attach(view)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """An update, if this report was the last one needed."""
        self._reported[message.worker] = max(self._reported[message.worker], message.clock)
        self._total += message.batch
        return (*(self._update() if self._total >= self.target_batch else ()), Look((message.worker,)))

    def _update(self) -> Iterable[Effect]:
        messages, self._total = self.view.inbox_by_worker(), 0.0
        total = sum_in_order(message.batch for message in messages)
        return (Add(tuple(message.uid for message in messages), tuple(message.batch / total for message in messages)),)

    def gate(self, worker: int) -> bool:
        """The report on its last step has arrived; one of an earlier life may be lost."""
        return self._reported[worker] == self.view.clock[worker]

    def refresh(self, worker: int) -> Pull:
        """The shared model if it has changed."""
        return PULL if self.view.version > self.view.read_version[worker] else KEEP

    def guarantee(self) -> Guarantee:
        """Nothing is lost."""
        return Guarantee()
