"""Sync-Switch: bulk-synchronous at first, asynchronous from a given share of the steps on."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import ClassVar, Literal

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Add, Effect, Look, Plan
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors.guarantee import Guarantee

Straggler = Literal["wait", "asynchronous", "exclude"]


@dataclass(eq=False)
class SyncSwitch(Policy):
    """The first bsp_fraction · total_steps rounds are those of BSP, then every report is applied when it arrives.

    Weights are 1/(reports) in rounds and 1/n afterwards. So with a step scale of 1 an example moves the model equally
    far before and after, which is the recalled rule: n times the asynchronous rate on the mean of n reports.

    A straggler is a worker that took more than `straggler_factor` times the median from its release to its last report.
    Intervals between finished steps would not tell: behind a barrier they become equal. What follows is recalled, not
    read: the released programs contain no straggler policy.

    Args:
        bsp_fraction: share of synchronous rounds; 1 never switches, and 0 begins asynchronously.
        total_steps: that each worker would take in the whole run; say what your run has.
        asynchronous_step_scale: factor of the step size of asynchronous steps.
        straggler: in the synchronous part, rounds "wait" for it; or all are "asynchronous" while there is one; or
            "exclude" holds it at the gate until the asynchronous part.
        straggler_factor: see above.

    Source: Li, Mangoubi, Xu, Guo 2021.
    """

    bsp_fraction: float = 0.25
    total_steps: int = 40
    asynchronous_step_scale: float = 1.0
    straggler: Straggler = "wait"
    straggler_factor: float = 2.0

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.bsp_fraction <= 1:
            raise ValueError(f"bsp_fraction must lie in [0, 1], got {self.bsp_fraction}")
        require_count("total_steps", self.total_steps, least=1)
        if not 0 < self.asynchronous_step_scale < math.inf:
            raise ValueError(f"asynchronous_step_scale must be positive, got {self.asynchronous_step_scale}")
        if self.straggler not in ("wait", "asynchronous", "exclude"):
            raise ValueError(f"straggler must be 'wait', 'asynchronous' or 'exclude', got {self.straggler!r}")
        if not self.straggler_factor >= 1:
            raise ValueError(f"straggler_factor must be at least 1, got {self.straggler_factor}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nothing is known of anybody's speed yet."""
        self.round_count = 0
        self.excluded: set[int] = set()
        self._released_at = [0.0] * view.worker_count
        self._seconds = [0.0] * view.worker_count
        self._known: list[tuple[float, int]] = []
        """(seconds, worker) in ascending order, of those alive that have reported"""
        return super().attach(view)

    @property
    def stragglers(self) -> set[int]:
        """Who has taken too long."""
        first = bisect_right(self._known, (self._longest_usual(), math.inf))
        return {worker for _, worker in self._known[first:]}

    @property
    def has_rounds_left(self) -> bool:
        """Has the synchronous part not ended?"""
        return self.bsp_fraction == 1 or self.round_count < round(self.bsp_fraction * self.total_steps)

    @property
    def is_synchronous(self) -> bool:
        """Do reports wait for a round now?"""
        if self.straggler == "asynchronous" and self._known and self._known[-1][0] > self._longest_usual():
            return False
        return self.has_rounds_left

    def plan(self, worker: int) -> Plan:
        """Asynchronous steps have their own size."""
        del worker
        return Plan(step_scale=1.0 if self.is_synchronous else self.asynchronous_step_scale)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """A report tells how fast its worker is."""
        if self.view.is_awaited(message):
            self._learn(message.worker, self.view.now - self._released_at[message.worker])
        return self._added()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A round may have waited for one that is gone; one that comes is nobody's straggler yet."""
        self._released_at[worker] = self.view.now
        self._learn(worker, 0.0)
        self.excluded.discard(worker)
        return self._added()

    def gate(self, worker: int) -> bool:
        """Its own report is applied, and it is not held."""
        return self.view.is_settled(worker) and not (worker in self.excluded and self._holds_excluded())

    def _holds_excluded(self) -> bool:
        """Rounds consist of all workers alive but the excluded, unless none would remain."""
        return bool(self.excluded) and self.is_synchronous and len(self.excluded) < self.view.alive_count

    def _learn(self, worker: int, seconds: float) -> None:
        """How long the worker took; 0 if nobody knows."""
        if self._seconds[worker]:
            del self._known[bisect_left(self._known, (self._seconds[worker], worker))]
        if seconds:
            insort(self._known, (seconds, worker))
        self._seconds[worker] = seconds

    def _longest_usual(self) -> float:
        known = self._known
        middle = known[(len(known) - 1) // 2 : len(known) // 2 + 1]
        return self.straggler_factor * median(seconds for seconds, _ in middle) if known else math.inf

    def _is_round_complete(self) -> bool:
        view, excluded = self.view, self.excluded
        if not excluded:
            return view.has_every_report()
        if view.reporting_count < view.alive_count - len(excluded):
            return False
        reporters = {message.worker for message in view.inbox.values() if view.is_awaited(message)}
        return bool(view.alive) and (view.alive - excluded or view.alive) <= reporters

    def _added(self) -> Iterable[Effect]:
        """What is due of the inbox; and those who were held until now may go on."""
        held = self._holds_excluded()
        if self.straggler == "exclude" and self.has_rounds_left:
            self.excluded |= self.stragglers
        additions = self._additions()
        return (*additions, Look()) if held and not self._holds_excluded() else additions

    def _additions(self) -> tuple[Effect, ...]:
        """One addition of the inbox in worker order, in the synchronous part only if the round is complete."""
        if not self.view.inbox or (self.is_synchronous and not self._is_round_complete()):
            return ()
        messages = self.view.inbox_by_worker()
        weight = 1 / (len(messages) if self.is_synchronous else self.view.worker_count)
        self.round_count += self.is_synchronous
        for message in filter(self.view.is_awaited, messages):
            self._released_at[message.worker] = self.view.now
        return (Add(tuple(message.uid for message in messages), (weight,) * len(messages)),)

    def remark(self) -> str:
        """It never switched, though it was to."""
        if self.bsp_fraction == 1 or not self.has_rounds_left:
            return ""
        return (
            f"the run ended in its synchronous part, after {self.round_count} of the "
            f"{round(self.bsp_fraction * self.total_steps)} rounds before the switch: it was BSP throughout; set "
            "total_steps to the steps that a worker takes in the run"
        )

    def guarantee(self) -> Guarantee:
        """A worker waits until its own report is applied; nothing is claimed of the lead."""
        return Guarantee(deferral=0)
