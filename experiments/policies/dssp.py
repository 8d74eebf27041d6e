"""Dynamic stale synchronous parallel: how far one may be ahead is decided anew, between two bounds, while training."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Effect
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors.guarantee import Guarantee

TIE = 2.0**-30
"""Of the sum of both intervals: distances that differ by less are equal, for a time is a sum of rounded durations."""
Reports = tuple[float, float]
"""Times of a worker's last report and of the one before it; of its beginning, where there is none."""


def extra_steps(fast: Reports, slow: Reports, largest: int) -> int:
    """How many steps more, at most `largest`, bring the fast worker's report closest to one of the slow worker's.

    Reports are expected at equal intervals: the fast worker's now and next ones, the slow worker's next ones.

    Source: Zhao, An, Liu, Chen 2019, synchronisation controller; of those that are equally close, see `TIE`, the first.
    """
    fast_interval, slow_interval = fast[0] - fast[1], slow[0] - slow[1]
    steps = range(largest + 1)
    waits = [(step + 1) * slow_interval for step in steps]

    def distance(extra: int) -> float:
        wait = fast[0] + extra * fast_interval - slow[0]
        place = bisect_left(waits, wait)
        return min(abs(wait - other) for other in waits[max(0, place - 1) : place + 1])

    distances = [distance(step) for step in steps]
    nearest = min(distances) + TIE * (fast_interval + slow_interval)
    return next(step for step in steps if distances[step] <= nearest)


@dataclass(eq=False)
class Dssp(Policy):
    """SSP with the lower bound, but the fastest worker may get a few steps more; reports have weight 1/n.

    A fastest worker that is more than `lower` ahead is let go as many times as `extra_steps` says, but never beyond
    `upper`; when these are used up and it still is too far ahead, it may be granted more. Just after a step a worker
    is at most max(lower + 1, upper) ahead. The printed server algorithm, `DsspPrinted`, does not keep its bound.

    Args:
        lower: s_L, steps ahead that are always allowed.
        upper: s_U ≥ s_L; with equality this is SSP.

    Source: Zhao, An, Liu, Chen 2019; that a grant counts all releases and ends at `upper` is ours.
    """

    lower: int = 3
    upper: int = 15

    gate_opens_on: ClassVar[Wake] = "least_progress"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_count("lower", self.lower, least=0)
        require_count("upper", self.upper, least=0)
        if self.lower > self.upper:
            raise ValueError(f"bounds must satisfy lower <= upper, got {self.lower} and {self.upper}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nobody has reported."""
        self._reports: list[Reports] = [(0.0, 0.0)] * view.worker_count
        self._granted = [0] * view.worker_count
        """releases, the next included, that do not depend on others"""
        self._least_progress, self._slowest = -1, 0
        """the least progress, and that nobody before this worker had just that, when it was looked for last"""
        return super().attach(view)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """Applied at once; uses up a granted release, and without any left asks for more."""
        yield from super().on_arrive(message)
        view, worker = self.view, message.worker
        if not view.is_awaited(message):
            return
        self._reports[worker] = (view.now, self._reports[worker][0])
        self._granted[worker] = max(0, self._granted[worker] - 1)
        lead = view.progress[worker] - view.least_progress
        if self._granted[worker] or lead <= self.lower:
            return
        if view.progress[worker] == view.most_progress:
            slow = self._reports[self._first_slowest()]
            extra = extra_steps(self._reports[worker], slow, self.upper - self.lower)
            self._granted[worker] = self.releases(extra, lead)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """Nothing is known of one that is new."""
        self._reports[worker], self._granted[worker] = (self.view.now, self.view.now), 0
        self._least_progress = -1
        return ()

    def _first_slowest(self) -> int:
        """The first of the slowest workers: none before the last one found falls back while nobody joins."""
        view = self.view
        if self._least_progress != view.least_progress:
            self._least_progress, self._slowest = view.least_progress, 0
        while self._slowest not in view.alive or view.progress[self._slowest] != view.least_progress:
            self._slowest += 1
        return self._slowest

    def releases(self, extra: int, lead: int) -> int:
        """How often a worker this far ahead is let go for a wish of so many steps."""
        return max(0, min(extra, self.upper - lead))

    def gate(self, worker: int) -> bool:
        """Its own report is applied, and it is near the slowest or has a grant."""
        view = self.view
        is_near = view.progress[worker] - view.least_progress <= self.lower
        return view.is_settled(worker) and (is_near or self._granted[worker] > 0)

    def guarantee(self) -> Guarantee:
        """Just after a step a worker is at most max(lower + 1, upper) ahead."""
        return Guarantee(gap=max(self.lower + 1, self.upper), deferral=0)


@dataclass(eq=False)
class DsspPrinted(Dssp):
    """DSSP by the letter of its server algorithm, which does not keep the bound that its regret theorem assumes.

    A grant of r lets the worker go r + 1 times: once at the grant, then r times more. Used up, it is asked for anew
    without a look at `upper`, so that constant speeds make a lead grow without end. With bounds 3 and 15 and two
    workers it comes to 667, 1394, 1740, 1901 and 1966 steps at speed ratios of 1.5, 3.3, 7.7, 20.3 and 60.1, by the
    time that the fast worker has made 2000. With bounds 0 and 1 and steps of 4 s and 1 s the fifth step breaks the
    bound. Arguments and weights are those of `Dssp`.

    Source: Zhao, An, Liu, Chen 2019, algorithm 1 read literally.
    """

    def releases(self, extra: int, lead: int) -> int:
        """One more than was wished for, however far ahead."""
        del lead
        return extra + 1 if extra else 0

    def guarantee(self) -> Guarantee:
        """That of SSP with the upper bound, as the theorem has it; the run need not keep it."""
        return Guarantee(gap=self.upper + 1, deferral=0)
