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
    sampling with exact probabilities, see `Availability.sample` on who is drawn together. Its exclusion of correlated
    failures and its cover of class labels are left out.

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
        self._availability = Availability(view.worker_count, self.window, self.return_probability)
        self._changed = dict.fromkeys(range(view.worker_count))
        """who may look otherwise than at the last look, in the order in which that happened"""
        self._drawn_at = [0] * view.worker_count
        return super().attach(view)

    def draw(self, worker: int) -> tuple[int, ...]:
        """A sample of the others alive, by the sampler."""
        self._look()
        if self.sampler == "uniform":
            return super().draw(worker)
        if self.sampler == "availability":
            return tuple(self._availability.sample(self.sample, (worker,), self.view.random))
        others = (other for other in self._alive if other != worker)
        drawn = tuple(nlargest(self.sample, others, key=self._score))
        for other in drawn:
            self._drawn_at[other] = self._availability.look_count
        return drawn

    def inclusion(self, worker: int) -> dict[int, float]:
        """For the others alive at the last look, the probability to be in the worker's sample; the sum is its size."""
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

    def _score(self, worker: int) -> float:
        return self.prediction(worker) * (self._availability.look_count - self._drawn_at[worker])
