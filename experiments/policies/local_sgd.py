"""Local SGD: workers report every H steps and descend alone in between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import KEEP, PULL, Effect, Pull, Send
from sparsync.experiments.engine.view import View
from sparsync.experiments.policies.bsp import Bsp
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class LocalSgd(Bsp):
    """A round of BSP whose reports hold H steps each; weights are 1/(reports), so that models are averaged.

    Args:
        period: H ≥ 1, steps between reports; 1 is BSP.

    Source: Stich 2019.
    """

    period: int = 4

    def __post_init__(self) -> None:
        require_count("period", self.period, least=1)

    def attach(self, view: View) -> Iterable[Effect]:
        """Nobody has begun."""
        self._steps = [0] * view.worker_count
        return super().attach(view)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """Report at the end of a period."""
        self._steps[worker] = self._steps[worker] % self.period + 1
        return (Send(worker),) if self._steps[worker] == self.period else ()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """One that joins stands where the last of the others is in the period."""
        self._steps[worker] = min((self._begun(other) for other in self.view.alive if other != worker), default=0)
        return super().on_membership(worker)

    def refresh(self, worker: int) -> Pull:
        """The new model after a report, else the worker's own."""
        return PULL if self._steps[worker] == self.period else KEEP

    def _begun(self, worker: int) -> int:
        """Steps of the period that the worker has finished and gone on from."""
        return self._steps[worker] - 1 if worker in self.view.waiting else self._steps[worker] % self.period

    def guarantee(self) -> Guarantee:
        """A worker is at most one period ahead, and what is applied was read in the version before."""
        return Guarantee(gap=self.period, staleness=0, deferral=0)
