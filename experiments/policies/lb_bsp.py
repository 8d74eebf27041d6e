"""Load-balanced BSP: at each barrier batches are resized so that all workers should finish together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Add, Effect, Plan
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.planners.batch_planner import Seconds, climb_split, heap_split, proportional_split
from sparsync.experiments.planners.step_times import StepTimes
from sparsync.experiments.policies.bsp import Bsp


def read_caps(text: str) -> tuple[int, ...]:
    """What workers can hold from a text: whole numbers, apart by /.

    Raises:
        ValueError: it is none; the message says what it must be.
    """
    if not re.fullmatch(r"\d+(/\d+)*", text, flags=re.ASCII):
        raise ValueError("examples that workers can hold, such as 48 or 48/48/16")
    return tuple(map(int, text.split("/")))


@dataclass(eq=False)
class LbBsp(Bsp):
    """BSP with batches of Σ_w b_w = n alive, replanned when a round is added; weights are b_w/(sum of the round's b).

    These weights make a round the mean over all its examples, as if it were one large batch. All begin with equal
    batches, as far as caps allow. One that joins takes a usual batch, or what it can hold, until the next barrier.
    Where some have gone and the others cannot hold a usual batch each, the round has what they can hold.

    Args:
        planner: in whole examples, greedily or by climbing from equal batches; or proportional to speed, unrounded.
        smoothing: s in (0, 1], predicted ← s·measured + (1 − s)·predicted, of the pace or of the seconds of a batch; 1
            is the last one measured.
        example_count: examples in a usual batch; if it is not the problem's number, batches are rounded twice.
        times: seconds are predicted as pace·batch, the pace being measured in each step ("proportional"), or between
            those of other batches that the worker had ("learnt"), as `StepTimes` does.
        caps: the most examples that each worker can hold, or one number for all; None is no limit. On a command line
            48/48/16.

    Source: Chen, Weng, Wang, Li, Li 2020, who resize by a measured search where times are not in proportion, as
    described to us. Predictors here are some of the simplest, and ours.
    """

    planner: Literal["heap", "climb", "proportional"] = "heap"
    smoothing: float = 1.0
    example_count: int = 32
    times: Literal["proportional", "learnt"] = "proportional"
    caps: tuple[int, ...] | None = field(default=None, metadata={"read": read_caps})

    def __post_init__(self) -> None:
        if self.planner not in ("heap", "climb", "proportional"):
            raise ValueError(f"planner must be 'heap', 'climb' or 'proportional', got {self.planner!r}")
        if not 0 < self.smoothing <= 1:
            raise ValueError(f"smoothing must lie in (0, 1], got {self.smoothing}")
        require_count("example_count", self.example_count, least=1)
        if self.times not in ("proportional", "learnt"):
            raise ValueError(f"times must be 'proportional' or 'learnt', got {self.times!r}")
        if self.planner == "proportional" and self.times == "learnt":
            raise ValueError("planner 'proportional' needs times 'proportional', got 'learnt'")
        if self.caps is not None and not self.caps:
            raise ValueError(f"caps must name what somebody can hold, got {self.caps}")
        for cap in self.caps or ():
            require_count("caps", cap, least=1)

    def attach(self, view: View) -> Iterable[Effect]:
        """All begin with equal batches, as far as caps allow.

        Raises:
            ValueError: caps are of another number of workers, or those who are there cannot hold a round.
        """
        count, alive = view.worker_count, sorted(view.alive)
        if self.caps is not None and len(self.caps) not in (1, count):
            raise ValueError(f"caps must be one, or {count} for as many workers, got {self.caps}")
        self._held = None if self.caps is None else [self.caps[worker % len(self.caps)] for worker in range(count)]
        held, examples = self._total(alive), len(alive) * self.example_count
        if held < examples:
            raise ValueError(f"caps {self.caps} let {len(alive)} workers hold {held} of {examples} examples")
        self._batches = [self._usual(worker) for worker in range(count)]
        self._give(alive, [examples / self.example_count for examples in self._equal(alive)])
        self._paces = [0.0] * count
        self._times = [StepTimes(self.smoothing) for _ in range(count)]
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
            examples = round(message.batch * self.example_count)
            self._times[worker].learn(examples, self.view.compute_seconds[worker])
        return super().on_arrive(message)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """One that joins has a usual batch, or what it can hold."""
        self._batches[worker] = self._usual(worker)
        return super().on_membership(worker)

    def finished_round(self) -> Iterable[Effect]:
        """Weights by batch, and new batches."""
        if not self.view.has_every_report():
            return ()
        messages = self.view.inbox_by_worker()
        total = sum_in_order(message.batch for message in messages)
        alive = sorted(self.view.alive)
        self._give(alive, self._split(alive))
        return (Add(tuple(message.uid for message in messages), tuple(message.batch / total for message in messages)),)

    def _give(self, workers: Sequence[int], batches: Sequence[float]) -> None:
        for worker, batch in zip(workers, batches, strict=True):
            self._batches[worker] = batch

    def _caps(self, workers: Sequence[int]) -> list[int] | None:
        return None if self._held is None else [self._held[worker] for worker in workers]

    def _usual(self, worker: int) -> float:
        """The batch of one of whom nothing is known."""
        return 1.0 if self._held is None else min(1.0, self._held[worker] / self.example_count)

    def _total(self, workers: Sequence[int]) -> int:
        """Examples of their round."""
        usual, caps = len(workers) * self.example_count, self._caps(workers)
        return usual if caps is None else min(usual, sum(caps))

    def _equal(self, workers: Sequence[int]) -> list[int]:
        """The examples of each where all are equally fast."""
        return heap_split([float] * len(workers), self._total(workers), self._caps(workers))

    def _split(self, workers: Sequence[int]) -> list[float]:
        """Batches that should end together."""
        paces, caps = [self._paces[worker] for worker in workers], self._caps(workers)
        if self.planner == "proportional":
            limits = None if caps is None else [cap / self.example_count for cap in caps]
            return proportional_split(paces, self._total(workers) / self.example_count, limits)
        seconds: list[Seconds] = [partial(float.__mul__, pace) for pace in paces]
        if self.times == "learnt":
            seconds = [self._times[worker].seconds for worker in workers]
        if self.planner == "heap":
            counts = heap_split(seconds, self._total(workers), caps)
        else:
            counts = climb_split(seconds, self._equal(workers), caps=caps)
        return [count / self.example_count for count in counts]
