"""Availability-weighted probabilistic synchronous parallel: wait for those who are likely to be there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sparsync.experiments.engine.effects import Effect
from sparsync.experiments.engine.view import View
from sparsync.experiments.policies.psp import Pssp
from sparsync.experiments.policies.sampling import inclusion_probabilities, systematic_sample

Sampler = Literal["uniform", "availability", "freshness"]
SAMPLERS: tuple[Sampler, ...] = ("uniform", "availability", "freshness")


@dataclass(eq=False)
class AwPsp(Pssp):
    """`Pssp` whose samples prefer workers that were available at recent looks; other arguments and weights as there.

    Each drawing is a look at all workers. Of the last `window` looks, a is the share at which a worker was there times
    the share at which nothing of it was under way; it is expected back with probability b when it is not available, so
    the prediction is a + (1 − a) b, and b before the first look. Freshness is the number of looks since it was in a
    sample. "availability" includes workers with probabilities proportional to predictions, cut at 1; "freshness" takes
    the largest products of prediction and freshness; "uniform" is `Pssp`.

    Prediction, window, b, freshness and product are those of the released code; what counts as available is ours, as is
    sampling with exact probabilities. Its exclusion of correlated failures and its cover of class labels are left out.

    Args:
        sampler: of `SAMPLERS`.
        window: looks.
        return_probability: b in (0, 1].

    Source: Behfar, Mortier 2026, by their code.
    """

    sampler: Sampler = "availability"
    window: int = 5
    return_probability: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampler not in SAMPLERS:
            raise ValueError(f"unknown sampler {self.sampler!r}; known: {', '.join(SAMPLERS)}")
        if self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")
        if not 0 < self.return_probability <= 1:
            raise ValueError(f"return_probability must lie in (0, 1], got {self.return_probability}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nobody was looked at."""
        workers = range(view.worker_count)
        self._looks = [deque[tuple[bool, bool]](maxlen=self.window) for _ in workers]
        """there, and nothing under way"""
        self._look_count = 0
        self._drawn_at = [0 for _ in workers]
        return super().attach(view)

    def draw(self, worker: int) -> tuple[int, ...]:
        """A sample of the others alive, by the sampler."""
        view = self.view
        others = sorted(view.alive - {worker})
        self._look()
        if self.sampler == "uniform":
            drawn = super().draw(worker)
        elif self.sampler == "availability":
            # In random order, equal probabilities make every subset equally likely.
            view.random.shuffle(others)
            places = systematic_sample(self.inclusion(others), view.random.random())
            drawn = tuple(others[place] for place in places)
        else:
            drawn = tuple(sorted(others, key=self._score, reverse=True)[: self.sample])
        for other in drawn:
            self._drawn_at[other] = self._look_count
        return drawn

    def inclusion(self, others: Sequence[int]) -> list[float]:
        """Probabilities with which these are in a sample; their sum is its size."""
        return inclusion_probabilities([self.prediction(other) for other in others], self.sample)

    def prediction(self, worker: int) -> float:
        """How likely the worker is available at the next look."""
        looks = self._looks[worker]
        if not looks:
            return self.return_probability
        there = sum(is_there for is_there, _ in looks) / len(looks)
        idle = sum(is_idle for _, is_idle in looks) / len(looks)
        return there * idle + (1 - there * idle) * self.return_probability

    def _look(self) -> None:
        self._look_count += 1
        for worker, looks in enumerate(self._looks):
            looks.append((worker in self.view.alive, self.view.is_settled(worker)))

    def _score(self, worker: int) -> float:
        return self.prediction(worker) * (self._look_count - self._drawn_at[worker])
