"""Can the time of a step be predicted from what is computed, selected and sent? Fitted on half of the points.

A step takes (1 + w)(C + S) + c + T − min(ωC, (1 − 1/B)T) with T = αm + (ρ/R + γ)n: C seconds of computing and S of
selecting, both measured; m messages one after the other and n bytes sent by each worker, by the formulas of the
collectives, over a link of R bytes a second. α is the latency of a message; ρ is what goes over the link for each byte,
headers included; γ is what a byte takes beside the link. These are alike for all rates, so that others can be
predicted. w is how much longer the slowest rank takes than one, for which all wait, but for local steps, where none
does; c is what else a step takes on its road, and of a hook what each of its B buckets takes; ω is the share of
computing in which a hook can send, of B buckets all but the last. All are fitted by least squares of relative errors,
and none is negative. Which half they are fitted on is decided by a hash of the points' names. Source: Hockney 1994 for
αm + βn; Li et al. 2020 (arXiv 2006.15704) describe the overlap; the rest is ours.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, get_args

import numpy as np
from scipy.optimize import minimize_scalar, nnls

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.studies.links.cells import Road

_GRID = 20
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Point:
    """A measured step, and what is known of it beforehand.

    Args:
        name: of nothing else.
        mbit_per_second: of the link.
        compute_seconds: C.
        select_seconds: S.
        message_count: m.
        sent_bytes: n.
        step_seconds: as measured.
        bucket_count: B; 1 where nothing overlaps.
        road: by which it was trained; on "local" ranks do not wait for each other.

    Raises:
        ValueError: a time of a step that is not positive, no bucket, or anything else that is negative.
    """

    name: str
    mbit_per_second: float
    compute_seconds: float
    select_seconds: float
    message_count: float
    sent_bytes: float
    step_seconds: float
    bucket_count: int = 1
    road: Road = "loop"

    def __post_init__(self) -> None:
        for name in ("compute_seconds", "select_seconds", "message_count", "sent_bytes"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} of {self.name} must not be negative, got {getattr(self, name)}")
        if not 0 < self.step_seconds < math.inf:
            raise ValueError(f"step_seconds of {self.name} must be positive, got {self.step_seconds}")
        if self.bucket_count < 1:
            raise ValueError(f"bucket_count of {self.name} must be at least 1, got {self.bucket_count}")

    @property
    def local_seconds(self) -> float:
        """C + S."""
        return self.compute_seconds + self.select_seconds

    @property
    def waiting_seconds(self) -> float:
        """What w is a share of."""
        return 0.0 if self.road == "local" else self.local_seconds

    @property
    def road_counts(self) -> tuple[int, int, int, int]:
        """How often a step has what a loop, a hook, each of its buckets, and local steps take."""
        is_hook = self.road == "hook"
        return int(self.road == "loop"), int(is_hook), self.bucket_count if is_hook else 0, int(self.road == "local")

    @property
    def last_share(self) -> float:
        """1/B, of what is sent: it is sent when backward has ended."""
        return 1 / self.bucket_count


@dataclass(frozen=True)
class StepModel:
    """What was fitted.

    Args:
        latency_seconds: α.
        wire_share: ρ.
        seconds_per_byte: γ.
        waiting_share: w.
        hidden_share: ω.
        loop_seconds: c of a training loop.
        hook_seconds: c of a hook, but for
        bucket_seconds: of each bucket.
        outer_seconds: c of local steps.
    """

    latency_seconds: float
    wire_share: float
    seconds_per_byte: float
    waiting_share: float
    hidden_share: float
    loop_seconds: float = 0.0
    hook_seconds: float = 0.0
    bucket_seconds: float = 0.0
    outer_seconds: float = 0.0

    def link(self, mbit_per_second: float) -> Link:
        """α and β of links of a rate."""
        return Link(self.latency_seconds, self.wire_share * _link_seconds(mbit_per_second) + self.seconds_per_byte)

    def seconds(self, point: Point) -> float:
        """The predicted time of a step."""
        sending = self._sending(point)
        hidden = min(self.hidden_share * point.compute_seconds, (1 - point.last_share) * sending)
        beside = self.waiting_share * point.waiting_seconds + self._road_seconds(point)
        return point.local_seconds + beside + sending - hidden

    def is_hidden(self, point: Point) -> bool:
        """Whether all that can be is sent during backward."""
        return self.hidden_share * point.compute_seconds >= (1 - point.last_share) * self._sending(point)

    def error(self, point: Point) -> float:
        """Predicted over measured, less one."""
        return self.seconds(point) / point.step_seconds - 1

    def _road_seconds(self, point: Point) -> float:
        """What c is."""
        constants = (self.loop_seconds, self.hook_seconds, self.bucket_seconds, self.outer_seconds)
        return sum(constant * count for constant, count in zip(constants, point.road_counts, strict=True))

    def _sending(self, point: Point) -> float:
        link = self.link(point.mbit_per_second)
        return link.latency_seconds * point.message_count + link.seconds_per_byte * point.sent_bytes


def _link_seconds(mbit_per_second: float) -> float:
    """1/R, of a byte."""
    return 8e-6 / mbit_per_second


def halves(points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """The points whose names have the smaller digests, and the others; of an odd number the first half has one more.

    Raises:
        ValueError: two points have one name.
    """
    if len({point.name for point in points}) < len(points):
        raise ValueError("two points have one name")
    ordered = sorted(points, key=lambda point: hashlib.sha256(point.name.encode()).hexdigest())
    cut = (len(points) + 1) // 2
    return ordered[:cut], ordered[cut:]


def fitted(points: Sequence[Point]) -> StepModel:
    """The model of least squared relative errors; ω by search, and for each ω the others, which are then linear.

    Raises:
        ValueError: there are no points.
    """
    if not points:
        raise ValueError("a model of no points is undefined")

    def loss(hidden_share: float) -> float:
        return _loss(_with_share(points, hidden_share), points)

    best = min((place / _GRID for place in range(_GRID + 1)), key=loss)
    around = (max(0.0, best - 1 / _GRID), min(1.0, best + 1 / _GRID))
    found = float(minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-9}).x)
    return _with_share(points, min((best, found), key=loss))


def _with_share(points: Sequence[Point], hidden_share: float) -> StepModel:
    """The best model of a given ω found: which points are hidden decides the equations, and these decide that."""
    model = StepModel(0.0, 1.0, 0.0, 0.0, hidden_share)
    seen: list[StepModel] = []
    assigned: set[tuple[bool, ...]] = set()
    for _ in range(_MOST_ROUNDS):
        hidden = tuple(model.is_hidden(point) for point in points)
        if hidden in assigned:
            break
        assigned.add(hidden)
        model = _solved(points, hidden, hidden_share)
        seen.append(model)
    return min(seen, key=lambda each: _loss(each, points))


def _solved(points: Sequence[Point], hidden: Sequence[bool], hidden_share: float) -> StepModel:
    """Least squares of (1 + w)(C + S) + c + sT − h = t, divided by t, where (s, h) is (1/B, 0) or (1, ωC)."""
    rows, right = np.zeros((len(points), 8)), np.zeros(len(points))
    for row, (point, is_hidden) in enumerate(zip(points, hidden, strict=True)):
        share = point.last_share if is_hidden else 1.0
        sent = share * point.sent_bytes
        link_seconds = _link_seconds(point.mbit_per_second) * sent
        rows[row] = share * point.message_count, link_seconds, sent, point.waiting_seconds, *point.road_counts
        known = point.local_seconds - (0.0 if is_hidden else hidden_share * point.compute_seconds)
        right[row] = point.step_seconds - known
    weights = np.array([1 / point.step_seconds for point in points])
    # Columns of one length: seconds, messages and bytes differ by ten orders of magnitude.
    lengths = np.linalg.norm(rows * weights[:, None], axis=0)
    lengths[lengths == 0] = 1.0
    solution = nnls(rows * weights[:, None] / lengths, right * weights)[0] / lengths
    latency, wire, per_byte, waiting, *road_seconds = map(float, solution)
    return StepModel(latency, wire, per_byte, waiting, hidden_share, *road_seconds)


def _loss(model: StepModel, points: Sequence[Point]) -> float:
    return sum(model.error(point) ** 2 for point in points)


def judged(points: Sequence[Point]) -> dict[str, Any] | None:
    """The model of one half, and its errors on the other; None where there is no other.

    Returns:
        The fields of `StepModel`; the names of the points that were `fitted_on`; and of the others `errors` by name, as
        predicted over measured less one, with the mean, median and largest of their sizes, and the mean by road.

    Raises:
        ValueError: two points have one name.
    """
    first, second = halves(points)
    if not second:
        return None
    model = fitted(first)
    errors = {point.name: model.error(point) for point in second}
    sizes = [abs(error) for error in errors.values()]
    by_road = {road: [abs(errors[point.name]) for point in second if point.road == road] for road in get_args(Road)}
    return {
        **asdict(model),
        "fitted_on": sorted(point.name for point in first),
        "errors": errors,
        "mean_error": fmean(sizes),
        "mean_errors": {road: fmean(found) for road, found in by_road.items() if found},
        "median_error": median(sizes),
        "largest_error": max(sizes),
    }
