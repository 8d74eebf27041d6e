"""Probabilistic synchronous parallel: a worker waits for a random few of the others instead of all."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count, require_count_or_infinity
from sparsync.experiments.engine.effects import Alarm, Effect, Send
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import View
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Pssp(Policy):
    """SSP among a sample: a worker starts if nobody in its sample is more than s applied reports behind. Weights 1/n.

    The sample is drawn when the worker arrives at the barrier, of the others alive, and held. Drawn anew at every look
    it soon misses all laggards, and the barrier is none. With m laggards among the other n − 1, a sample of β misses
    them with probability C(n−1−m, β)/C(n−1, β); no bound on a lead holds for β < n − 1.

    Args:
        sample: β from 0 to n − 1, others that are looked at, or all while fewer are there; 0 is ASP, n − 1 is SSP.
        staleness: s ≥ 0, whole or infinity.
        redraw_seconds: a worker that still waits draws a new sample after every so many seconds.

    Source: Wang, Catterall, Mortier 2017; when the sample is drawn is ours.
    """

    sample: int = 2
    staleness: float = 3
    redraw_seconds: float = math.inf

    def __post_init__(self) -> None:
        require_count("sample", self.sample, least=0)
        require_count_or_infinity("staleness", self.staleness, least=0)
        if not self.redraw_seconds > 0:
            raise ValueError(f"redraw_seconds must be positive, got {self.redraw_seconds}")

    gate_opens_on: ClassVar[Wake] = "watched_progress"

    def attach(self, view: View) -> Iterable[Effect]:
        """Nobody has a sample.

        Raises:
            ValueError: a sample is to be larger than the number of others.
        """
        if self.sample >= view.worker_count:
            raise ValueError(f"sample must be at most {view.worker_count - 1}, the number of others, got {self.sample}")
        self._samples: list[tuple[int, ...]] = [()] * view.worker_count
        self._alive = sorted(view.alive)
        return super().attach(view)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """Samples are of those alive."""
        del worker
        self._alive = sorted(self.view.alive)
        return ()

    def draw(self, worker: int) -> tuple[int, ...]:
        """A sample of the others, each subset equally likely."""
        alive = self._alive
        place, count = bisect_left(alive, worker), len(alive) - 1
        drawn = self.view.random.sample(range(count), min(self.sample, count))
        return tuple(alive[other + (other >= place)] for other in drawn)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """It reports, and draws whom it will wait for."""
        yield Send(worker)
        yield from self._drawn(worker)

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """Another sample for one that still waits after the same step."""
        assert isinstance(key, tuple)
        worker, clock = key
        return self._drawn(worker) if worker in self.view.waiting and self.view.clock[worker] == clock else ()

    def gate(self, worker: int) -> bool:
        """Its own report is applied, and nobody in the sample who is still there is more than s behind."""
        return self.view.is_settled(worker) and not self.watched(worker)

    def watched(self, worker: int) -> tuple[int, ...]:
        """One of its sample that is too far behind, if there is one: until that reports, the gate stays closed."""
        view = self.view
        least = view.progress[worker] - self.staleness
        for other in self._samples[worker]:
            if view.progress[other] < least and other in view.alive:
                return (other,)
        return ()

    def guarantee(self) -> Guarantee:
        """No bound on anybody's lead."""
        return Guarantee(deferral=0)

    def _drawn(self, worker: int) -> Iterable[Effect]:
        self._samples[worker] = self.draw(worker)
        if math.isinf(self.redraw_seconds):
            return ()
        return (Alarm(self.view.now + self.redraw_seconds, (worker, self.view.clock[worker])),)


@dataclass(eq=False)
class Pbsp(Pssp):
    """A barrier among a sample: `Pssp` with staleness 0, and its other arguments and weights.

    Source: Wang, Catterall, Mortier 2017.
    """

    staleness: float = field(default=0, init=False)
