"""Stale synchronous parallel: who is more than s steps ahead of the slowest waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count_or_infinity
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class Ssp(Policy):
    """Reports are applied when they arrive, weight 1/n; who is more than s applied reports ahead of the slowest waits.

    Args:
        staleness: s ≥ 0, whole; 0 is a barrier, infinity never waits for others.

    Source: Ho et al. 2013.
    """

    staleness: float = 3

    gate_opens_on: ClassVar[Wake] = "least_progress"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_count_or_infinity("staleness", self.staleness, least=0)

    def gate(self, worker: int) -> bool:
        """Its own report is applied, and the slowest is at most s behind."""
        view = self.view
        return view.is_settled(worker) and view.progress[worker] - view.least_progress <= self.staleness

    def guarantee(self) -> Guarantee:
        """Just after a step a worker is at most s + 1 ahead."""
        return Guarantee(gap=self.staleness + 1, deferral=0)
