"""How much is sent while backward still computes? Intervals of a watched step, as shares and as a Chrome trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sparsync.experiments.hooks.watching import WatchedStep

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Timeline:
    """One step on one rank, in seconds of a clock that all processes of a machine share.

    Args:
        step_begin: before forward.
        backward_begin: before backward.
        step_end: after the optimiser.
        watched: what the hook did.
    """

    step_begin: float
    backward_begin: float
    step_end: float
    watched: WatchedStep

    @property
    def backward(self) -> Interval:
        """Until the gradients of the last bucket are there; what follows in `Tensor.backward` is waiting for ranks."""
        return self.backward_begin, max(self.watched.ready, default=self.backward_begin)

    def communications(self) -> list[Interval]:
        """When each exchange was under way: from when its buffer was handed over until all ranks' had arrived.

        Where another rank is late, that is waiting.
        """
        passages = [passage.intervals() for passage in self.watched.passages]
        return [(began, ended) for found in passages for phase, began, ended in found if phase == "communicate"]


def communication_seconds(timeline: Timeline) -> float:
    """For how long at least one exchange was under way."""
    return _length(_union(timeline.communications()))


def overlapped_seconds(timeline: Timeline) -> float:
    """For how long of that backward still computed."""
    first, last = timeline.backward
    within = [(max(first, began), min(last, ended)) for began, ended in timeline.communications()]
    return _length(_union([(began, ended) for began, ended in within if began < ended]))


def _union(intervals: Sequence[Interval]) -> list[Interval]:
    """Intervals that do not overlap and cover the same times."""
    found: list[Interval] = []
    for began, ended in sorted(intervals):
        if found and began <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], ended))
        else:
            found.append((began, ended))
    return found


def _length(intervals: Sequence[Interval]) -> float:
    return sum(ended - began for began, ended in intervals)


def spans(timeline: Timeline) -> list[tuple[str, str, float, float]]:
    """What was done when: a phase, the buckets that it was of ("" where it was of the step), its begin and its end."""
    backward_begin, backward_end = timeline.backward
    found = [
        ("forward", "", timeline.step_begin, backward_begin),
        ("backward", "", backward_begin, backward_end),
        ("waiting, then the optimiser", "", backward_end, timeline.step_end),
    ]
    for passage in timeline.watched.passages:
        buckets = ", ".join(map(str, passage.buckets))
        found += [(phase, buckets, began, ended) for phase, began, ended in passage.intervals()]
    return found


def trace_events(timeline: Timeline, *, rank: int, origin: float) -> list[dict[str, Any]]:
    """Events of Chrome's trace format: a rank is a process; forward and backward, the hook, and each exchange a thread.

    Args:
        timeline: of one step.
        rank: of the process.
        origin: the time that is 0.
    """
    found = [
        (f"{phase} {buckets}".strip(), _lane(phase, buckets), began, ended)
        for phase, buckets, began, ended in spans(timeline)
    ]
    lanes = sorted({lane for _, lane, _, _ in found}, key=lambda lane: (lane != "step", lane))
    names = [
        {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}},
        *(
            {"ph": "M", "name": "thread_name", "pid": rank, "tid": lanes.index(lane), "args": {"name": lane}}
            for lane in lanes
        ),
    ]
    return names + [
        {
            "ph": "X",
            "name": name,
            "cat": lane,
            "pid": rank,
            "tid": lanes.index(lane),
            "ts": 1e6 * (began - origin),
            "dur": 1e6 * (ended - began),
        }
        for name, lane, began, ended in found
    ]


def _lane(phase: str, buckets: str) -> str:
    if not buckets:
        return "step"
    if phase == "communicate":
        return f"communication of bucket {buckets}"
    return f"hook, {'after arrival' if phase == 'unpack' else 'in backward'}"
