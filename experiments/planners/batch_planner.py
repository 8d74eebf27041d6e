"""How are examples divided among workers so that all finish together? Four ways to minimise max_w seconds_w(batch_w).

Source: the problem is that of Chen, Weng, Wang, Li, Li 2020; the greedy rule is classical (Gross 1956).
"""

from __future__ import annotations

import heapq
import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence

from sparsync.experiments.engine.addition import sum_in_order

Seconds = Callable[[int], float]
"""Seconds that a worker takes for so many examples; it must not decrease."""


def proportional_split(paces: Sequence[float], total: float, caps: Sequence[float] | None = None) -> list[float]:
    """Batches total·v_w/Σv with v = 1/pace: pace·batch is total/Σv for everybody, the least possible maximum.

    Whoever would get more than it can hold gets that, and the others share the rest in the same way.

    Args:
        paces: seconds for one unit of batch, by worker.
        total: of all batches, in the same unit; not rounded.
        caps: the most that each worker can hold; None is no limit.

    Raises:
        ValueError: a pace is not positive, or the total negative, not finite, or more than they can hold.
    """
    if not paces or not all(pace > 0 for pace in paces):
        raise ValueError(f"paces must be there and positive, got {list(paces)}")
    if not 0 <= total < math.inf:
        raise ValueError(f"total must be finite and at least 0, got {total}")
    if caps is not None and sum_in_order(caps) < total:
        raise ValueError(f"{len(paces)} workers that hold at most {list(caps)} cannot share {total}")
    speeds = [1 / pace for pace in paces]
    split, free = [0.0] * len(paces), list(range(len(paces)))
    while free:
        common = sum_in_order(speeds[worker] for worker in free)
        for worker in free:
            split[worker] = total * speeds[worker] / common
        full = [] if caps is None else [worker for worker in free if split[worker] > caps[worker]]
        if caps is None or not full:
            return split
        for worker in full:
            split[worker] = caps[worker]
            total -= caps[worker]
        free = [worker for worker in free if worker not in full]
    return split


def heap_split(seconds: Sequence[Seconds], total: int, caps: Sequence[int] | None = None) -> list[int]:
    """A split of the least possible maximum, in O(total log n): each example goes where it is finished first.

    Everybody gets at least one. Giving worker w its next example raises its time to seconds_w(batch_w + 1); a split
    with a smaller maximum would have to give some worker more than this one does.

    Args:
        seconds: by worker.
        total: examples to divide.
        caps: the most that each worker can hold; None is no limit.

    Raises:
        ValueError: fewer examples than workers, or more than they can hold.
    """
    limits = _limits(len(seconds), total, caps)
    split = [1] * len(seconds)
    heap = [(seconds[worker](2), worker) for worker in range(len(seconds)) if limits[worker] > 1]
    heapq.heapify(heap)
    for _ in range(total - len(seconds)):
        worker = heap[0][1]
        split[worker] += 1
        if split[worker] < limits[worker]:
            heapq.heapreplace(heap, (seconds[worker](split[worker] + 1), worker))
        else:
            heapq.heappop(heap)
    return split


def level_split(seconds: Sequence[Seconds], total: int, caps: Sequence[int] | None = None) -> list[int]:
    """The split of `heap_split`, in O(n log total) for each of some 60 times that are tried, for many examples.

    Within t a worker does at least one example, and as many as it finishes by then. The least double t within which
    all are done is found by halving. What is finished before t is given; of what is finished at t the first workers get
    what they can, as the heap gives it.

    Args:
        seconds: by worker.
        total: examples to divide.
        caps: the most that each worker can hold; None is no limit.

    Raises:
        ValueError: fewer examples than workers, more than they can hold, or more than they do in any finite time.
    """
    limits = [min(limit, total) for limit in _limits(len(seconds), total, caps)]
    workers = list(zip(seconds, limits, strict=True))

    def done_within(level: float) -> list[int]:
        return [examples_within(key, level, limit) for key, limit in workers]

    # Those who would take for ever with all that they can hold may still do less.
    before, level = -1.0, min(max(key(limit) for key, limit in workers), sys.float_info.max)
    if sum(done_within(level)) < total:
        raise ValueError(f"{len(seconds)} workers are not done with {total} examples in any time that a double holds")
    while before < (middle := before + (level - before) / 2) < level:
        before, level = (before, middle) if sum(done_within(middle)) >= total else (middle, level)
    split = done_within(before)
    rest = total - sum(split)
    for worker, most in enumerate(done_within(level)):
        given = min(rest, most - split[worker])
        split[worker] += given
        rest -= given
    return split


def examples_within(seconds: Seconds, level: float, cap: int) -> int:
    """The most examples that a worker finishes within a time, at least one and at most what it can hold."""
    return max(1, bisect_right(range(1, cap + 1), level, key=seconds))


def climb_split(
    seconds: Sequence[Seconds], start: Sequence[int], *, step: int = 8, caps: Sequence[int] | None = None
) -> list[int]:
    """Move examples from the slowest worker to another while that one then finishes earlier; halve the move; repeat.

    The maximum never grows, and is the least possible in the end: where not even one example can be moved like this,
    a smaller maximum would need fewer examples on the slowest worker and more on one that they would make as slow.

    Args:
        seconds: by worker.
        start: a split to begin with, at least 1 each.
        step: examples of the first moves.
        caps: the most that each worker can hold; None is no limit.

    Raises:
        ValueError: the step is below 1, or the start is no split.
    """
    if step < 1:
        raise ValueError(f"step must be at least 1, got {step}")
    limits = _limits(len(seconds), sum(start), caps)
    split = list(start)
    if min(split) < 1 or any(batch > limit for batch, limit in zip(split, limits, strict=True)):
        raise ValueError(f"everybody needs at least 1 and at most {limits} examples, got {split}")
    workers = range(len(split))
    while step:
        slowest = max(workers, key=lambda worker: seconds[worker](split[worker]))
        candidates = [other for other in workers if other != slowest and split[other] + step <= limits[other]]
        later = {other: seconds[other](split[other] + step) for other in candidates}
        quickest = min(candidates, key=later.__getitem__, default=slowest)
        if split[slowest] > step and quickest != slowest and later[quickest] < seconds[slowest](split[slowest]):
            split[slowest] -= step
            split[quickest] += step
        else:
            step //= 2
    return split


def _limits(worker_count: int, total: int, caps: Sequence[int] | None) -> list[int]:
    limits = [total] * worker_count if caps is None else list(caps)
    if total < worker_count or sum(limits) < total or min(limits) < 1:
        raise ValueError(f"{worker_count} workers that hold at most {limits} cannot share {total} examples")
    return limits
