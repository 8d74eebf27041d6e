"""After which of its next steps should each worker wait, so that all end together? ZipLine and its two rivals.

Of the times at which each worker is expected to finish its next steps one is chosen for each; the latest chosen is the
barrier, and whoever finishes earlier waits. For a given barrier everybody's latest time up to it is best, so one sweep
over all times finds the optimum: for the spread, the smallest range that holds an element of each of n sorted lists.
Source: Zhao, Papagelis, An, Chen, Liu, Hu 2020; other objectives than the spread are ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from sparsync.experiments.engine.addition import sum_in_order

Objective = Literal["spread", "rate", "total"]
Times = Sequence[Sequence[float]]
"""Ascending expected times, by worker."""


class Meeting(NamedTuple):
    """One step of each worker to wait after.

    Args:
        cost: the objective.
        barrier: the latest chosen time.
        steps: by worker, from 1.
    """

    cost: float
    barrier: float
    steps: tuple[int, ...]


class Choice(NamedTuple):
    """What the objectives need to know of chosen times."""

    earliest: float
    barrier: float
    total: float
    worker_count: int
    begin: float


COSTS: dict[Objective, Callable[[Choice], float]] = {
    "spread": lambda choice: choice.barrier - choice.earliest,
    "rate": lambda choice: (choice.barrier - choice.earliest) / (choice.barrier - choice.begin),
    "total": lambda choice: choice.worker_count * choice.barrier - choice.total,
}
"""The longest wait, the longest wait per second of the superstep, or the sum of all waits."""


def zipline(times: Times, objective: Objective = "spread", *, begin: float = 0.0) -> Meeting:
    """The first barrier of least cost, in O(Rn log n) for n workers with R times each.

    Args:
        times: see `Times`.
        objective: a key of `COSTS`.
        begin: of the superstep, before the first time of some worker; only the rate looks at it.

    Raises:
        ValueError: a row is empty or not ascending, the objective is unknown, or the superstep begins too late.
    """
    cost = _checked(times, objective, begin)
    line = _merged(times)
    latest = [-1] * len(times)
    """place on the line of each worker's latest time so far"""
    best, meeting_place, left, missing, total = math.inf, -1, 0, len(times), 0.0
    for place, (time, worker) in enumerate(line):
        missing -= latest[worker] < 0
        total += time - (line[latest[worker]][0] if latest[worker] >= 0 else 0)
        latest[worker] = place
        if missing:
            continue
        while latest[line[left][1]] != left:
            left += 1
        here = cost(Choice(line[left][0], time, total, len(times), begin))
        if here < best:
            best, meeting_place = here, place
    steps = [0] * len(times)
    for _, worker in line[: meeting_place + 1]:
        steps[worker] += 1
    return Meeting(best, line[meeting_place][0], tuple(steps))


def printed_zipline(times: Times, *, is_guarded: bool = True) -> Meeting:
    """The least spread by the sweep as printed, O(Rn²): drop the earliest point, go on until its worker returns.

    Args:
        times: see `Times`.
        is_guarded: stop where the line ends and the dropped worker has not returned. The printed loop does not, and
            then measures a spread without that worker, which has 0 steps in the answer.
    """
    _checked(times, "spread", -math.inf)
    line = iter(_merged(times))
    steps, chosen = [0] * len(times), list[tuple[float, int]]()

    def pull_until(worker: int | None) -> bool:
        """Take points until this worker is chosen, or all are (None); false if the line ends before."""
        while not (len(chosen) == len(times) if worker is None else any(other == worker for _, other in chosen)):
            point = next(line, None)
            if point is None:
                return False
            chosen[:] = [old for old in chosen if old[1] != point[1]] + [point]
            steps[point[1]] += 1
        return True

    best, is_there = Meeting(math.inf, math.inf, ()), pull_until(None)
    while chosen and (is_there or not is_guarded):
        here = chosen[-1][0] - chosen[0][0]
        if here < best.cost:
            present = {worker for _, worker in chosen}
            named = tuple(count if worker in present else 0 for worker, count in enumerate(steps))
            best = Meeting(here, chosen[-1][0], named)
        if not is_there:
            break
        _, dropped = chosen.pop(0)
        is_there = pull_until(dropped)
    return best


def exhaustive(times: Times, objective: Objective = "spread", *, begin: float = 0.0) -> Meeting:
    """The least cost of all Rⁿ choices, then the earliest barrier.

    Raises:
        ValueError: see `zipline`.
    """
    cost = _checked(times, objective, begin)

    def meeting(steps: tuple[int, ...]) -> Meeting:
        chosen = [row[step - 1] for row, step in zip(times, steps, strict=True)]
        barrier = max(chosen)
        return Meeting(cost(Choice(min(chosen), barrier, sum_in_order(chosen), len(chosen), begin)), barrier, steps)

    choices = itertools.product(*(range(1, len(row) + 1) for row in times))
    return min(map(meeting, choices), key=lambda choice: choice[:2])


def _merged(times: Times) -> list[tuple[float, int]]:
    """All times with their workers, in ascending order."""
    # Python's sort finds ascending runs and merges them, as a heap of n rows would: O(Rn log n).
    return sorted((time, worker) for worker, row in enumerate(times) for time in row)


def _checked(times: Times, objective: Objective, begin: float) -> Callable[[Choice], float]:
    if objective not in COSTS:
        raise ValueError(f"unknown objective {objective!r}; known: {', '.join(COSTS)}")
    if not times or not all(times):
        raise ValueError(f"every worker needs at least one time, got {times}")
    for worker, row in enumerate(times):
        if list(row) != sorted(row):
            raise ValueError(f"times must ascend, got {list(row)} of worker {worker}")
    if not begin < max(row[0] for row in times):
        raise ValueError(f"a superstep cannot begin at {begin}, after every worker's first time")
    return COSTS[objective]
