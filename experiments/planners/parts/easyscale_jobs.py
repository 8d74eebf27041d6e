"""Which job gets a device? One after the other, each to the job that gains most; and the best division, for any gains.

Devices are of one type, so that a job's throughput depends on how many it has. Where the gain of a job's next device is
never above that of its last one, no division has a larger sum than the greedy one (statement `marginal_gains`). Logical
workers are whole, and four of them gain nothing from a third device but twice as much from a fourth: then it may be
smaller, and `best_division` is needed.

Source: the setting is that of Li et al. 2022 (EasyScale), which was not read; its scheduler is said to be greedy. That
rule is classical (Gross 1956, not read); the rest is ours.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.easyscale import DeviceType, Job, plan
from sparsync.experiments.planners.plan import InfeasibleError


def throughputs(logical_count: int, device: DeviceType) -> list[float]:
    """Steps of logical workers per second that a job does with 0, 1, … devices; 0 where they cannot host all.

    Args:
        logical_count: of the job.
        device: of which type devices are, and how many there are.
    """
    found = []
    for count in range(device.device_count + 1):
        own = DeviceType(count, device.capability, device.cap)
        try:
            found.append(logical_count / plan(Job(logical_count, (own,))).objective)
        except InfeasibleError:
            found.append(0.0)
    return found


def gains_fall(throughput: Sequence[float]) -> bool:
    """Whether no device gains a job more than the one before it."""
    gains = [more - less for less, more in pairwise(throughput)]
    return all(later <= earlier for earlier, later in pairwise(gains))


def greedy_division(throughputs_of: Sequence[Sequence[float]], device_count: int) -> list[int]:
    """How many devices each job gets if one after the other goes where it gains most, to the first of equals.

    Args:
        throughputs_of: of each job, with 0, 1, … devices, up to all of them.
        device_count: how many are given.

    Raises:
        ValueError: a job's throughput is not known for as many.
    """
    _require_known(throughputs_of, device_count)
    division = [0] * len(throughputs_of)
    if not device_count:
        return division
    heap = [(own[0] - own[1], job) for job, own in enumerate(throughputs_of)]
    heapq.heapify(heap)
    for given in range(1, device_count + 1):
        _, job = heap[0]
        division[job] += 1
        if given < device_count:
            own = throughputs_of[job][division[job] : division[job] + 2]
            heapq.heapreplace(heap, (own[0] - own[1], job))
    return division


def best_division(throughputs_of: Sequence[Sequence[float]], device_count: int) -> list[int]:
    """A division of the largest sum of throughputs, in O(jobs · devices²): job by job, for each number of devices left.

    Args:
        throughputs_of: of each job, with 0, 1, … devices, up to all of them; in any order.
        device_count: how many may be given; what gains nothing may be left.

    Raises:
        ValueError: a job's throughput is not known for as many.
    """
    _require_known(throughputs_of, device_count)
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())] * (device_count + 1)
    for own in throughputs_of:
        best = [
            max(
                ((best[count - taken][0] + own[taken], (*best[count - taken][1], taken)) for taken in range(count + 1)),
                key=lambda found: found[0],
            )
            for count in range(device_count + 1)
        ]
    return list(best[device_count][1])


def total(throughputs_of: Sequence[Sequence[float]], division: Sequence[int]) -> float:
    """Σ of the throughputs that jobs have with their devices."""
    return sum((own[count] for own, count in zip(throughputs_of, division, strict=True)), start=0.0)


def _require_known(throughputs_of: Sequence[Sequence[float]], device_count: int) -> None:
    require_count("device_count", device_count, least=0)
    for job, own in enumerate(throughputs_of):
        if len(own) <= device_count:
            raise ValueError(f"job {job} has {len(own)} throughputs, for fewer than {device_count} devices")
    if not throughputs_of:
        raise ValueError(f"{device_count} devices are for no job")
