"""How many examples of a batch does each worker get, so that the slowest is finished as early as can be?

Worker w has t_w(b_w) + s_w seconds: steps that are flat up to x examples and then straight, t(b) = c + m·max(b, x), as
on a GPU that a small batch does not fill, or a table of what was measured; s_w to send. Everybody gets at least one
example and no more than its memory holds. The objective is that of the slowest worker.

Source: the setting is that of Chen, Weng, Wang, Li, Li 2020 (LB-BSP), which was not read; the shape of the times is
recalled. The rule is classical, see `batch_planner.py`; that it is exact is the statement `greedy_split`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.batch_planner import examples_within, level_split
from sparsync.experiments.planners.plan import InfeasibleError, Plan


def require_seconds(name: str, value: float) -> None:
    """It is a finite number of seconds.

    Raises:
        ValueError: it is negative, infinite, or no number.
    """
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be finite and at least 0, got {value}")


@dataclass(frozen=True)
class FlatThenStraight:
    """c + m·max(b, x) seconds for b examples.

    Args:
        example_seconds: m.
        fixed_seconds: c.
        flat_count: x, the examples that take no longer than one.
    """

    example_seconds: float
    fixed_seconds: float = 0.0
    flat_count: int = 0

    def __post_init__(self) -> None:
        require_seconds("example_seconds", self.example_seconds)
        require_seconds("fixed_seconds", self.fixed_seconds)
        require_count("flat_count", self.flat_count, least=0)

    def __call__(self, examples: int) -> float:
        """Seconds of so many."""
        return self.fixed_seconds + self.example_seconds * max(examples, self.flat_count)


@dataclass(frozen=True)
class Measured:
    """Seconds of 1, 2, … examples as they were measured, not decreasing; the worker can hold no more."""

    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        for value in self.seconds:
            require_seconds("measured seconds", value)
        if not self.seconds or any(less > more for less, more in pairwise(self.seconds)):
            raise ValueError(f"measured seconds must be there and not decrease, got {self.seconds}")

    def __call__(self, examples: int) -> float:
        """Seconds of so many.

        Raises:
            ValueError: so many were not measured.
        """
        if not 1 <= examples <= len(self.seconds):
            raise ValueError(f"1 to {len(self.seconds)} examples were measured, not {examples}")
        return self.seconds[examples - 1]


@dataclass(frozen=True)
class Worker:
    """Who computes on a part of the batch.

    Args:
        times: seconds of so many examples.
        cap: the most examples that its memory holds; None is no limit, but that of what was measured.
        send_seconds: that it needs to send its gradient, once it is finished.
    """

    times: FlatThenStraight | Measured
    cap: int | None = None
    send_seconds: float = 0.0

    def __post_init__(self) -> None:
        require_seconds("send_seconds", self.send_seconds)
        if self.cap is not None:
            require_count("cap", self.cap, least=1)

    def seconds(self, examples: int) -> float:
        """Until what it computes on so many examples is sent."""
        return self.times(examples) + self.send_seconds

    def most(self, examples: int) -> int:
        """How many of so many it can hold."""
        measured = len(self.times.seconds) if isinstance(self.times, Measured) else examples
        return min(examples, measured, examples if self.cap is None else self.cap)


@dataclass(frozen=True)
class SharedBatch:
    """What is asked: how a batch is divided.

    Args:
        workers: who there is.
        example_count: of the whole batch.
    """

    workers: tuple[Worker, ...]
    example_count: int

    def __post_init__(self) -> None:
        require_count("example_count", self.example_count, least=1)
        if not self.workers:
            raise ValueError(f"a batch of {self.example_count} needs a worker, got none")


def plan(question: SharedBatch) -> Plan:
    """Batches of the least time of the slowest worker, and weights that make their mean that of the whole batch.

    The parts are those of the first of the slowest workers, and add up to the objective.

    Raises:
        InfeasibleError: fewer examples than workers, or more than they can hold.
    """
    workers, count = question.workers, question.example_count
    batches = _split(workers, count)
    caps = [worker.most(count) for worker in workers]
    slowest, objective = _slowest(workers, batches)
    spare = sum(examples_within(worker.seconds, objective, cap) for worker, cap in zip(workers, caps, strict=True))
    full = [place for place, cap in enumerate(caps) if batches[place] == cap < count]
    return Plan(
        planner="lb_bsp",
        choice={"batches": batches, "weights": [batch / count for batch in batches]},
        objective=objective,
        parts={
            "compute": workers[slowest].times(batches[slowest]),
            "send": workers[slowest].send_seconds,
        },
        binding=tuple(f"cap of worker {place}: {caps[place]} examples" for place in full if spare == count),
        remarks=_remarks(question, batches, spare - count),
    )


def _split(workers: Sequence[Worker], count: int) -> list[int]:
    caps = [worker.most(count) for worker in workers]
    if count < len(workers):
        raise InfeasibleError(f"example_count: {count} examples, and each of {len(workers)} workers needs one")
    if sum(caps) < count:
        raise InfeasibleError(f"caps: {caps} let the workers hold {sum(caps)} of {count} examples")
    return level_split([worker.seconds for worker in workers], count, caps)


def _slowest(workers: Sequence[Worker], batches: Sequence[int]) -> tuple[int, float]:
    """Who is finished last, the first of them, and when."""
    ends = [worker.seconds(batch) for worker, batch in zip(workers, batches, strict=True)]
    return ends.index(max(ends)), max(ends)


def _remarks(question: SharedBatch, batches: Sequence[int], spare_count: int) -> tuple[str, ...]:
    workers, count = question.workers, question.example_count
    slowest, objective = _slowest(workers, batches)
    found = []
    if spare_count:
        found.append(f"up to {count + spare_count} examples would take no longer")
    equal = level_split([float] * len(workers), count, [worker.most(count) for worker in workers])
    found.append(f"equal batches take {_slowest(workers, equal)[1]:.4g} s")
    others = [worker for place, worker in enumerate(workers) if place != slowest]
    if others and batches[slowest] == 1 and sum(worker.most(count) for worker in others) >= count:
        _, without = _slowest(others, _split(others, count))
        if without < objective:
            found.append(f"without worker {slowest}, which has one example, it takes {without:.4g} s")
    return tuple(found)
