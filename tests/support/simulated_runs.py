"""Short runs on the grid, and what is read from their traces."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import KEEP, Effect, Mix, Pull
from sparsync.experiments.engine.horizon import Horizon, Kind
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.verify.monitors.trace import Event, Lost

CURVATURES = (1.0, 0.5, 2.0)


def make_vectors(worker_count: int, **options: Any) -> Vectors:
    problem = Quadratics(CURVATURES, worker_count=worker_count, spread=1.0, noise=0.1, block_count=3, seed=2)
    return Vectors(problem, Descent(is_on_grid=True, **options), worker_count=worker_count)


def run(policy: Policy, cluster: Cluster, horizon: Horizon, **options: Any) -> Simulation:
    simulation = Simulation(policy, cluster, horizon, **options)
    simulation.run()
    return simulation


def times(simulation: Simulation, kind: type[Event], worker: int | None = None) -> list[float]:
    found = [event for event in simulation.trace if isinstance(event, kind)]
    return [event.time for event in found if worker is None or getattr(event, "worker", None) == worker]


def kinds(simulation: Simulation, time: float) -> list[str]:
    return [type(event).__name__ for event in simulation.trace if event.time == time]


class LosesMessages(Simulation):
    """Who crashes takes its messages along that are on their way, as a process does that is killed."""

    def _depart(self, worker: int, reason: str) -> None:
        super()._depart(worker, reason)
        if reason != "crashed":
            return
        lost = [due for due in self._queue if due[1] is Kind.ARRIVAL and due[3].worker == worker]
        self._queue[:] = [due for due in self._queue if due not in lost]
        heapq.heapify(self._queue)
        self._due_count -= len(lost)
        for *_, message in sorted(lost):
            self._forget((message.uid,))
            self._note(Lost(self.view.now, message.uid))


@dataclass(eq=False)
class Gossip(Policy):
    """Everybody mixes with everybody after every step."""

    done: int = 0

    def on_step(self, worker: int) -> Iterable[Effect]:
        del worker
        if len(self.view.waiting) < self.view.alive_count:
            return ()
        self.done += 1
        members = tuple(sorted(self.view.waiting))
        return (Mix(members, ((1 / len(members),) * len(members),) * len(members)),)

    def gate(self, worker: int) -> bool:
        return self.done >= self.view.clock[worker]

    def refresh(self, worker: int) -> Pull:
        del worker
        return KEEP
