"""Dynamic backup workers: peers average with those neighbours that have finished, and leave out the slow ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import ClassVar, Literal

from sparsync.experiments.engine.effects import KEEP, Effect, Mix, Pull
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.view import View
from sparsync.experiments.policies.mixing import Edge, metropolis_weights


@dataclass(eq=False)
class DynamicBackupWorkers(Policy):
    """Finished neighbours mix as soon as they include two whose edge of a spanning path is unused in this epoch.

    The path runs through the workers alive, by number; an epoch ends when all its edges are used, so that the graphs of
    an epoch together are connected. Weights are `metropolis_weights` of the edges between finished workers. Slower
    neighbours are that mix's backup workers, and a finished worker without finished neighbours waits on. Nothing is
    sent to a server.

    Args:
        graph: which workers alive are neighbours: each the next and the first the last, or all of them.

    Source: Xiong, Yan, Singh, Li 2021: waiting for the fastest neighbours only. Their rule for epochs and their weights
    are recalled, not read; an epoch that survives changes of membership, and the choice of graphs, are ours.
    """

    graph: Literal["ring", "complete"] = "ring"

    is_decentralised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.graph not in ("ring", "complete"):
            raise ValueError(f"graph must be 'ring' or 'complete', got {self.graph!r}")

    def attach(self, view: View) -> Iterable[Effect]:
        """The first epoch begins."""
        self._used: set[Edge] = set()
        self._mixed: set[int] = set()
        return super().attach(view)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """One more has finished."""
        self._mixed.discard(worker)
        return self._mix()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """The path may lead past one that is gone."""
        self._mixed.discard(worker)
        return self._mix()

    def gate(self, worker: int) -> bool:
        """It has mixed since its step, or has nobody to mix with."""
        return worker in self._mixed or self.view.alive_count == 1

    def refresh(self, worker: int) -> Pull:
        """Its own model."""
        del worker
        return KEEP

    def _mix(self) -> Iterable[Effect]:
        alive = sorted(self.view.alive)
        path = set(pairwise(alive))
        finished = self.view.waiting - self._mixed
        active = [edge for edge in self._edges(alive) if finished.issuperset(edge)]
        unused = path - self._used or path
        new = unused.intersection(active)
        if not new:
            return ()
        self._used = path - unused | new
        members = tuple(sorted({end for edge in active for end in edge}))
        self._mixed.update(members)
        weights = metropolis_weights(members, active)
        return (Mix(members, tuple(tuple(float(weight) for weight in row) for row in weights)),)

    def _edges(self, alive: list[int]) -> set[Edge]:
        if self.graph == "complete":
            return set(combinations(alive, 2))
        return {*pairwise(alive), *([(alive[0], alive[-1])] if len(alive) > 2 else [])}
