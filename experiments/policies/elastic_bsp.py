"""Elastic bulk-synchronous parallel: barriers are put where all workers are expected to finish a step together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Effect, Look
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.planners.zipline import COSTS, Objective, zipline
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class ElasticBsp(Policy):
    """Between barriers workers run asynchronously, weight 1/n; each stops after the step that `zipline` chose for it.

    A superstep begins at a barrier. Once every worker has `monitoring` reports in it, its next `lookahead` reports are
    expected at equal intervals, that between its last two; the barrier counts as a report, so that no interval holds a
    wait. While some interval is unknown, everybody makes one more step. All go on when the last has made its last step.

    No bound on anybody's lead: supersteps let workers make different numbers of steps, and nothing evens them out.
    Inside one, a worker makes up to ⌊monitoring · slowest/fastest interval⌋ + lookahead steps, and leads by up to that
    less monitoring: `elastic_lead` in `theory/synchronisation/superstep_regret.py`, for intervals of all steps.

    Args:
        lookahead: R, reports that are predicted; 1 without monitoring is BSP.
        objective: what `zipline` minimises; "spread" is the source's.
        monitoring: reports of every worker before the plan; 0 plans at the barrier, from the intervals before it.

    Source: Zhao, Papagelis, An, Chen, Liu, Hu 2020. Time of planning and of joining workers ours.
    """

    lookahead: int = 15
    objective: Objective = "spread"
    monitoring: int = 2

    gate_opens_on: ClassVar[Wake] = "own_message"

    def __post_init__(self) -> None:
        require_count("lookahead", self.lookahead, least=1)
        require_count("monitoring", self.monitoring, least=0)
        if self.objective not in COSTS:
            raise ValueError(f"unknown objective {self.objective!r}; known: {', '.join(COSTS)}")

    def attach(self, view: View) -> Iterable[Effect]:
        """The first superstep begins."""
        self._interval = [0.0] * view.worker_count
        """seconds between the last two reports; 0 if unknown"""
        yield from super().attach(view)
        self._begin()

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """Applied at once; the last report that others wait for ends the phase. Those of an earlier life do not."""
        yield from super().on_arrive(message)
        worker, now = message.worker, self.view.now
        if self.view.is_awaited(message):
            self._interval[worker], self._last[worker] = now - self._last[worker], now
            self._reports[worker] += 1
            if self._reports[worker] >= self._goal[worker]:
                self._pending.discard(worker)
            yield from self._end_phase()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """Nobody waits for one that is gone; for one that is new, one step."""
        self._pending.discard(worker)
        if worker in self.view.alive:
            self._interval[worker], self._last[worker] = 0.0, self.view.now
            self._reports[worker], self._goal[worker] = 0, 1 if self._is_planned else self.monitoring
            self._pending.add(worker)
        return self._end_phase()

    def gate(self, worker: int) -> bool:
        """Its own report is applied, and it has not made its last step."""
        is_stopped = self._is_planned and self._reports[worker] >= self._goal[worker]
        return self.view.is_settled(worker) and not is_stopped

    def guarantee(self) -> Guarantee:
        """No bound on anybody's lead."""
        return Guarantee(deferral=0)

    def _end_phase(self) -> Iterable[Effect]:
        if self._pending or not self.view.alive:
            return ()
        if self._is_planned:
            self._begin()
            return (Look(),)
        self._plan()
        return ()

    def _begin(self) -> None:
        """A superstep, with its monitoring."""
        count, self._began = self.view.worker_count, self.view.now
        self._last, self._reports = [self._began] * count, [0] * count
        self._goal, self._pending = [self.monitoring] * count, set(self.view.alive)
        self._is_planned = False
        if not self.monitoring:
            self._plan()

    def _plan(self) -> None:
        """Everybody's last step of this superstep."""
        workers = sorted(self.view.alive)
        steps = (1,) * len(workers)
        if all(self._interval[worker] for worker in workers):
            ahead = range(1, self.lookahead + 1)
            times = [[self._last[worker] + step * self._interval[worker] for step in ahead] for worker in workers]
            steps = zipline(times, self.objective, begin=self._began).steps
        for worker, more in zip(workers, steps, strict=True):
            self._goal[worker] = self._reports[worker] + more
        self._is_planned, self._pending = True, set(workers)
