"""ADSP: nobody waits for others, and all commit equally often."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.effects import KEEP, PULL, Alarm, Effect, Plan, Pull, Send
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import View
from sparsync.experiments.planners.commit_search import CommitSearch
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Adsp(Policy):
    """A worker commits what it has learned after period/commits − (seconds its last commit took) of training.

    It trains on its own model meanwhile, and reads the shared one with each commit. Weights are 1/n.

    Args:
        period: seconds, Γ.
        commits: of each worker in a period; infinity commits every step. With a target the number first tried.
        least_seconds: of training between commits.
        target_loss: None leaves `commits` as it is; else the number is searched for, from the second period on, by
            the mean of the losses that workers measured last.
        search_seconds: from the end of a search to the next.

    Source: Hu, Wang, Wu 2020, as their programs have it: Γ = 60, least 10 and 1000 seconds.
    """

    period: float = 20.0
    commits: float = 4.0
    least_seconds: float = 0.0
    target_loss: float | None = None
    search_seconds: float = 1000.0

    gate_opens_on: ClassVar[Wake] = "own_message"

    def __post_init__(self) -> None:
        for name in ("period", "commits", "search_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.period == math.inf:
            raise ValueError("period must be finite, got inf")
        if not 0 <= self.least_seconds < math.inf:
            raise ValueError(f"least_seconds must be at least 0 and finite, got {self.least_seconds}")
        if self.target_loss is not None and not (math.isfinite(self.target_loss) and self.commits < math.inf):
            raise ValueError(f"a search needs finite numbers, got commits {self.commits} and target {self.target_loss}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Everybody begins with the shared model."""
        super().attach(view)
        self.commit_rate = self.commits
        self.search: CommitSearch | None = None
        self._has_shared = [True] * view.worker_count
        self._began_at = [0.0] * view.worker_count
        self._is_alarmed = False
        return self._first_alarm()

    def plan(self, worker: int) -> Plan:
        """Training begins anew when the shared model is there."""
        if self._has_shared[worker]:
            self._began_at[worker] = self.view.now
        return super().plan(worker)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """Is it time to commit?"""
        view = self.view
        trained = view.now - self._began_at[worker]
        usual = self.period / self.commit_rate - view.round_trip[worker]
        self._has_shared[worker] = trained >= max(self.least_seconds, usual)
        return (Send(worker),) if self._has_shared[worker] else ()

    def refresh(self, worker: int) -> Pull:
        """The shared model after a commit, else its own."""
        return PULL if self._has_shared[worker] else KEEP

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """One that comes begins with the shared model."""
        self._has_shared[worker] = True
        return self._first_alarm()

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """Show the search, if there is something to see, the loss; twice a period, until it is finished."""
        del key
        view = self.view
        self._is_alarmed = bool(view.alive)
        if not view.alive:
            return ()
        losses = [view.statistics[worker].loss for worker in sorted(view.alive) if view.clock[worker]]
        if losses:
            if self.search is None or self.search.is_finished:
                self.search = CommitSearch(target_loss=self._target, commits=self.commit_rate)
            self.search.observe(view.now, sum_in_order(losses) / len(losses))
            self.commit_rate = self.search.commits
        pause = self.search_seconds if self.search and self.search.is_finished else self.period / 2
        return (Alarm(view.now + pause, "search"),) if pause < math.inf else ()

    def _first_alarm(self) -> Iterable[Effect]:
        if self.target_loss is None or self._is_alarmed or not self.view.alive:
            return ()
        self._target, self._is_alarmed = self.target_loss, True
        return (Alarm(self.view.now + self.period, "search"),)

    def guarantee(self) -> Guarantee:
        """A worker waits until its commit is applied; nothing is claimed of steps, only of commits."""
        return Guarantee(deferral=0)
