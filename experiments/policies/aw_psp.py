"""Availability-weighted probabilistic synchronous parallel: wait for those who are likely to be there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Effect
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.planners.sampling import inclusion_probabilities, systematic_sample
from sparsync.experiments.policies.psp import Pssp

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
        require_count("window", self.window, least=1)
        if not 0 < self.return_probability <= 1:
            raise ValueError(f"return_probability must lie in (0, 1], got {self.return_probability}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nobody was looked at."""
        workers = range(view.worker_count)
        self._looks = [deque[tuple[bool, bool]](maxlen=self.window) for _ in workers]
        """there, and nothing under way; of those who look as they did at all of them, no further ones are kept"""
        self._restless = set(workers)
        """who need not look so"""
        self._predictions = [self.return_probability for _ in workers]
        self._look_count = 0
        self._drawn_at = [0 for _ in workers]
        return super().attach(view)

    def draw(self, worker: int) -> tuple[int, ...]:
        """A sample of the others alive, by the sampler."""
        view, others = self.view, self._alive.copy()
        if worker in view.alive:
            others.remove(worker)
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
        return inclusion_probabilities([self._predictions[other] for other in others], self.sample)

    def prediction(self, worker: int) -> float:
        """How likely the worker is available at the next look."""
        return self._predictions[worker]

    def on_step(self, worker: int) -> Iterable[Effect]:
        """Something of it is under way now."""
        self._restless.add(worker)
        return super().on_step(worker)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """Nothing of it is under way any more."""
        self._restless.add(message.worker)
        return super().on_arrive(message)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """It was there, or is."""
        self._restless.add(worker)
        return super().on_membership(worker)

    def _look(self) -> None:
        """At all, as those who are not restless look as they did."""
        view = self.view
        self._look_count += 1
        for worker in list(self._restless):
            looks, now = self._looks[worker], (worker in view.alive, view.is_settled(worker))
            looks.append(now)
            there, idle = (sum(flags) / len(looks) for flags in zip(*looks, strict=True))
            self._predictions[worker] = there * idle + (1 - there * idle) * self.return_probability
            if looks.count(now) == self.window:
                self._restless.remove(worker)

    def _score(self, worker: int) -> float:
        return self._predictions[worker] * (self._look_count - self._drawn_at[worker])
