"""Load-balanced BSP: at each barrier batches are resized so that all workers should finish together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Add, Effect, Plan
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.planners.batch_planner import climb_split, heap_split, proportional_split
from sparsync.experiments.policies.bsp import Bsp


@dataclass(eq=False)
class LbBsp(Bsp):
    """BSP with batches of Σ_w b_w = n alive, replanned when a round is added; weights are b_w/(sum of the round's b).

    These weights make a round the mean over all its examples, as if it were one large batch. Seconds are predicted as
    pace·batch, the pace being measured in each step. One that joins takes a usual batch until the next barrier.

    Args:
        planner: in whole examples, greedily or by climbing from equal batches; or proportional to speed, unrounded.
        smoothing: s in (0, 1], predicted pace ← s·measured + (1 − s)·predicted; 1 is the last one measured.
        example_count: examples in a usual batch; if it is not the problem's number, batches are rounded twice.

    Source: Chen, Weng, Wang, Li, Li 2020. Predictors here are two of the simplest.
    """

    planner: Literal["heap", "climb", "proportional"] = "heap"
    smoothing: float = 1.0
    example_count: int = 32

    def __post_init__(self) -> None:
        if self.planner not in ("heap", "climb", "proportional"):
            raise ValueError(f"planner must be 'heap', 'climb' or 'proportional', got {self.planner!r}")
        if not 0 < self.smoothing <= 1:
            raise ValueError(f"smoothing must lie in (0, 1], got {self.smoothing}")
        require_count("example_count", self.example_count, least=1)

    def attach(self, view: View) -> Iterable[Effect]:
        """All begin with usual batches."""
        self._batches = [1.0] * view.worker_count
        self._paces = [0.0] * view.worker_count
        return super().attach(view)

    def plan(self, worker: int) -> Plan:
        """What the last barrier decided."""
        return Plan(batch=self._batches[worker])

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """Learn the pace before a round may end, unless the step that was timed last is not the one reported."""
        worker = message.worker
        if self.view.is_awaited(message):
            measured = self.view.compute_seconds[worker] / message.batch
            predicted = self._paces[worker] or measured
            self._paces[worker] = self.smoothing * measured + (1 - self.smoothing) * predicted
        return super().on_arrive(message)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """One that joins has a usual batch."""
        self._batches[worker] = 1.0
        return super().on_membership(worker)

    def finished_round(self) -> Iterable[Effect]:
        """Weights by batch, and new batches."""
        if not self.view.has_every_report():
            return ()
        messages = self.view.inbox_by_worker()
        total = sum_in_order(message.batch for message in messages)
        alive = sorted(self.view.alive)
        for worker, batch in zip(alive, self._split([self._paces[worker] for worker in alive]), strict=True):
            self._batches[worker] = batch
        return (Add(tuple(message.uid for message in messages), tuple(message.batch / total for message in messages)),)

    def _split(self, paces: list[float]) -> list[float]:
        if self.planner == "proportional":
            return proportional_split(paces, len(paces))
        seconds = [partial(float.__mul__, pace) for pace in paces]
        equal = [self.example_count] * len(paces)
        counts = heap_split(seconds, sum(equal)) if self.planner == "heap" else climb_split(seconds, equal)
        return [count / self.example_count for count in counts]
