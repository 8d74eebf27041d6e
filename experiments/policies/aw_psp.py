"""Availability-weighted probabilistic synchronous parallel: wait for those who are likely to be there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest
from typing import Literal

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Effect
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.planners.availability import GONE, IDLE, LOST, WAITED, Availability
from sparsync.experiments.planners.joint_failures import JointFailures
from sparsync.experiments.policies.psp import Pssp

Sampler = Literal["uniform", "availability", "freshness", "cover"]
SAMPLERS: tuple[Sampler, ...] = ("uniform", "availability", "freshness", "cover")


@dataclass(eq=False)
class AwPsp(Pssp):
    """`Pssp` whose samples prefer workers that were available at recent looks; other arguments and weights as there.

    Each drawing is a look at all workers. Of the last `window` looks, a is the share at which a worker was there times
    the share at which nothing of it was under way; it is expected back with probability b when it is not available, so
    the prediction is a + (1 − a) b, and b before the first look. Freshness is the number of looks since it was in a
    sample. "availability" includes workers with probabilities proportional to predictions, cut at 1; "freshness" takes
    the largest products of prediction and freshness; "cover" one after another, whoever has the most labels that none
    before has, then the freshest; "uniform" is `Pssp`. Of equals, the first by number.

    While a worker is gone, those neighbours whose failures are correlated with its own may be left out of all samples,
    which are smaller then if too few are left; see `JointFailures`.

    Prediction, window, b, freshness, product, cover, and the exclusion with its numbers are those of the released code;
    ours is what counts as available and as near, and sampling with exact probabilities, see `Availability.sample` on
    who is drawn together.

    Args:
        sampler: of `SAMPLERS`.
        window: looks.
        return_probability: b in (0, 1].
        excludes_correlated: leave out those whose failures are correlated with one that is gone.
        neighbours: of each worker, by number, that may be correlated with it.
        correlation: in (0, 1], of presences, or share of looks at which both are gone, from which on two are.
        labels: those of each worker's examples, in worker order; "cover" needs them.

    Source: Behfar, Mortier 2026, by their code.
    """

    sampler: Sampler = "availability"
    window: int = 5
    return_probability: float = 0.5
    excludes_correlated: bool = False
    neighbours: int = 4
    correlation: float = 0.35
    labels: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampler not in SAMPLERS:
            raise ValueError(f"unknown sampler {self.sampler!r}; known: {', '.join(SAMPLERS)}")
        require_count("window", self.window, least=1)
        require_count("neighbours", self.neighbours, least=0)
        for name in ("return_probability", "correlation"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in (0, 1], got {getattr(self, name)}")
        rows = self.labels if isinstance(self.labels, tuple | list) else (self.labels,)
        if not all(isinstance(row, tuple | list) for row in rows):
            raise ValueError(f"labels must be tuples, one for each worker, got {self.labels!r}")
        if self.sampler == "cover" and not self.labels:
            raise ValueError(f"the sampler 'cover' needs the labels of each worker, got {self.labels!r}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nobody was looked at.

        Raises:
            ValueError: see `Pssp.attach`; or labels are not those of so many workers.
        """
        count = view.worker_count
        if self.labels and len(self.labels) != count:
            raise ValueError(f"labels must be those of {count} workers, got {len(self.labels)}: {self.labels!r}")
        self._availability = Availability(count, self.window, self.return_probability)
        self._failures = JointFailures(count, self.neighbours, self.correlation)
        self._labels = [frozenset(own) for own in self.labels]
        self._changed = dict.fromkeys(range(count))
        """who may look otherwise than at the last look, in the order in which that happened"""
        self._drawn_at = [0] * count
        return super().attach(view)

    def draw(self, worker: int) -> tuple[int, ...]:
        """A sample of the others alive, by the sampler."""
        self._look()
        left_out = dict.fromkeys([worker, *(self._failures.suspects() if self.excludes_correlated else ())])
        if self.sampler == "availability":
            return tuple(self._availability.sample(self.sample, left_out, self.view.random))
        others = [other for other in self._alive if other not in left_out]
        if self.sampler == "uniform":
            return tuple(self.view.random.sample(others, min(self.sample, len(others))))
        drawn = self._covering(others) if self.sampler == "cover" else nlargest(self.sample, others, key=self._score)
        for other in drawn:
            self._drawn_at[other] = self._availability.look_count
        return tuple(drawn)

    def inclusion(self, worker: int) -> dict[int, float]:
        """For the others there at the last look, if none is left out, the probability to be in the worker's sample."""
        return self._availability.inclusion(self.sample, (worker,))

    def prediction(self, worker: int) -> float:
        """How likely the worker is available at the next look."""
        return self._availability.prediction(worker)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """Something of it is under way now."""
        self._changed[worker] = None
        return super().on_step(worker)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """Nothing of it is under way any more."""
        self._changed[message.worker] = None
        return super().on_arrive(message)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """It was there, or is."""
        self._changed[worker] = None
        return super().on_membership(worker)

    def _look(self) -> None:
        """At all, as those who did not change look as they did."""
        alive, sent, settled = self.view.alive, self.view.sent, self.view.settled
        seen = []
        for worker in self._changed:
            is_idle = sent[worker] == settled[worker]
            seen.append((worker, (IDLE if is_idle else WAITED) if worker in alive else (GONE if is_idle else LOST)))
        self._changed.clear()
        self._availability.look(seen)
        if self.excludes_correlated:
            self._failures.look((worker, status in (IDLE, WAITED)) for worker, status in seen)

    def _covering(self, others: list[int]) -> list[int]:
        """One after another: the most labels that are not covered, then the freshest, then the first."""
        covered: set[int] = set()
        drawn: list[int] = []
        while others and len(drawn) < self.sample:
            best = max(others, key=lambda other: (len(self._labels[other] - covered), -self._drawn_at[other]))
            others.remove(best)
            covered |= self._labels[best]
            drawn.append(best)
        return drawn

    def _score(self, worker: int) -> float:
        return self.prediction(worker) * (self._availability.look_count - self._drawn_at[worker])
