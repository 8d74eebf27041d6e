"""Shared batches otherwise: every split, and an integer program with the latest end as its epigraph."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from sparsync.experiments.planners.lb_bsp import FlatThenStraight, Measured, SharedBatch, Worker
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle


def drawn_times(numbers: random.Random, longest: int) -> FlatThenStraight | Measured:
    if numbers.random() < 0.3:
        return Measured(tuple(sorted(numbers.randint(0, 9) / 4 for _ in range(numbers.randint(1, longest)))))
    return FlatThenStraight(
        example_seconds=numbers.choice([0.1, 0.25, 0.3, 1.0]),
        fixed_seconds=numbers.choice([0.0, 0.5, 0.7]),
        flat_count=numbers.randint(0, longest // 2),
    )


def drawn(numbers: random.Random, *, most_workers: int, most_examples: int) -> SharedBatch:
    count = numbers.randint(1, most_workers)
    examples = numbers.randint(max(1, count - 1), most_examples)
    workers = tuple(
        Worker(
            drawn_times(numbers, examples),
            numbers.choice([None, numbers.randint(1, examples)]),
            numbers.choice([0.0, 0.4, 2.0]),
        )
        for _ in range(count)
    )
    return SharedBatch(workers, examples)


def every_split(total: int, caps: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not caps:
        yield from [()] if total == 0 else []
        return
    for first in range(1, min(caps[0], total) + 1):
        yield from ((first, *rest) for rest in every_split(total - first, caps[1:]))


def latest(question: SharedBatch, batches: Sequence[int]) -> float:
    return max(
        worker.times(batch) + worker.send_seconds for worker, batch in zip(question.workers, batches, strict=True)
    )


def least_of_all(question: SharedBatch) -> float | None:
    caps = [worker.most(question.example_count) for worker in question.workers]
    return min((latest(question, split) for split in every_split(question.example_count, caps)), default=None)


def by_program(question: SharedBatch) -> float | None:
    """A line is two half-planes, as it bends upwards; of a table one entry is chosen."""
    cvxpy: Any = import_module("cvxpy")

    end = cvxpy.Variable()
    constraints, total = [], cvxpy.Constant(0)
    for worker in question.workers:
        most = worker.most(question.example_count)
        times = worker.times
        if isinstance(times, Measured):
            chosen = cvxpy.Variable(most, boolean=True)
            batch = chosen @ list(range(1, most + 1))
            constraints += [chosen.sum() == 1, end >= chosen @ times.seconds[:most] + worker.send_seconds]
        else:
            batch = cvxpy.Variable(integer=True)
            constraints += [batch >= 1, batch <= most]
            for reached in (batch, times.flat_count):
                constraints.append(end >= times.fixed_seconds + times.example_seconds * reached + worker.send_seconds)
        total = total + batch
    program = cvxpy.Problem(cvxpy.Minimize(end), [*constraints, total == question.example_count])
    program.solve(solver=cvxpy.HIGHS)
    if program.status == cvxpy.INFEASIBLE:
        return None
    assert program.status == cvxpy.OPTIMAL, program.status
    return float(program.value)


def objective_of(question: SharedBatch, plan: Plan) -> float:
    batches = plan.choice["batches"]
    assert isinstance(batches, list)
    assert sum(batches) == question.example_count
    assert all(
        1 <= batch <= worker.most(question.example_count)
        for worker, batch in zip(question.workers, batches, strict=True)
    )
    return latest(question, batches)


def more(question: SharedBatch, numbers: random.Random) -> SharedBatch:
    """One worker has a larger cap, computes faster, or sends faster."""
    place = numbers.randrange(len(question.workers))
    worker = question.workers[place]
    better = [replace(worker, send_seconds=worker.send_seconds / 2)]
    if worker.cap is not None:
        better.append(replace(worker, cap=worker.cap + numbers.randint(1, 3)))
    if isinstance(worker.times, Measured):
        better.append(replace(worker, times=Measured(tuple(value / 2 for value in worker.times.seconds))))
    else:
        better.append(replace(worker, times=replace(worker.times, example_seconds=worker.times.example_seconds / 2)))
    workers = list(question.workers)
    workers[place] = numbers.choice(better)
    return replace(question, workers=tuple(workers))


ORACLE = Oracle(
    small=lambda numbers: drawn(numbers, most_workers=4, most_examples=9),
    brute=least_of_all,
    medium=lambda numbers: drawn(numbers, most_workers=5, most_examples=40),
    program=by_program,
    objective_of=objective_of,
    more=more,
)
"""What the planner `lb_bsp` is held to."""
