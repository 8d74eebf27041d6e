"""What does the trace of a run tell of lags? Looks at the barrier, and how far others are behind one that is released.

For policies that apply every report at once, without delay, so that reports and steps come to the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsync.verify.monitors.trace import Applied, Event, Released, Sent


class Look(NamedTuple):
    """A worker comes to the barrier.

    Args:
        laggards: others that are more than the staleness behind.
        passed: it is released before anything else happens.
    """

    laggards: int
    passed: bool


@dataclass(frozen=True)
class Readings:
    """What one run tells.

    Args:
        looks: the first look after every step.
        slowest: at each release, applied reports by which the slowest is behind the released worker.
        another: how often one of the others is 0, 1, … behind it; who is ahead counts as 0.
    """

    looks: list[Look]
    slowest: list[int]
    another: list[int]


def read_lags(trace: Iterable[Event], worker_count: int, staleness: int, *, begin: float = 0.0) -> Readings:
    """Lags and looks from the events of a time and later.

    Args:
        trace: of a run in which nobody comes or goes.
        worker_count: n.
        staleness: r; who is more behind is a laggard.
        begin: the time.
    """
    progress, sender = np.zeros(worker_count, dtype=int), dict[int, int]()
    looks, slowest, another = list[Look](), list[int](), np.zeros(1, dtype=int)
    looking, laggards, passed = -1, 0, False
    for event in trace:
        if looking >= 0 and not isinstance(event, Released):
            looks.append(Look(laggards, passed))
            looking = -1
        if isinstance(event, Sent):
            sender[event.message] = event.worker
        elif isinstance(event, Applied):
            (message,) = event.messages
            worker = sender.pop(message)
            progress[worker] += 1
            if event.time >= begin:
                laggards = int(np.count_nonzero(progress < progress[worker] - staleness))
                looking, passed = worker, False
        elif isinstance(event, Released) and event.time >= begin:
            passed = passed or event.worker == looking
            behind = np.maximum(progress[event.worker] - progress, 0)
            slowest.append(int(behind.max()))
            another = _sum(another, np.bincount(np.delete(behind, event.worker)))
    if looking >= 0:
        looks.append(Look(laggards, passed))
    return Readings(looks, slowest, another.tolist())


def _sum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The sum of two rows of counts, the shorter one continued by zeros."""
    total = np.zeros(max(len(first), len(second)), dtype=int)
    total[: len(first)] += first
    total[: len(second)] += second
    return total
