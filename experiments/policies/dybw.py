"""Dynamic backup workers: peers average with those neighbours that have finished, and leave out the slow ones."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from sparsync.experiments.engine.effects import KEEP, Alarm, Effect, Mix, Pull
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import View
from sparsync.experiments.planners.mixing import Edge, full_rows, metropolis_weights


@dataclass(eq=False)
class DynamicBackupWorkers(Policy):
    """Finished neighbours mix as soon as they include two whose edge of a spanning path is unused in this epoch.

    The path runs through the workers alive, by number; an epoch ends when all its edges are used, so that the graphs of
    an epoch together are connected. Weights are `metropolis_weights` of the edges between finished workers. Slower
    neighbours are that mix's backup workers, and a finished worker without finished neighbours waits on. Who finishes
    together mixes together. Nothing is sent to a server.

    Args:
        graph: which workers alive are neighbours: each the next and the first the last, or all of them.
        together_seconds: how long a mix that could begin waits for more; 0 is for those who finish at that very time.

    Source: Xiong, Yan, Singh, Li 2021: waiting for the fastest neighbours only. Their rule for epochs and their weights
    are recalled, not read; an epoch that survives changes of membership, and the choice of graphs, are ours.
    """

    graph: Literal["ring", "complete"] = "ring"
    together_seconds: float = 0.0

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False
    is_decentralised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.graph not in ("ring", "complete"):
            raise ValueError(f"graph must be 'ring' or 'complete', got {self.graph!r}")
        if not 0 <= self.together_seconds < math.inf:
            raise ValueError(f"together_seconds must be at least 0 and finite, got {self.together_seconds}")

    def attach(self, view: View) -> Iterable[Effect]:
        """The first epoch begins."""
        self._mixed: set[int] = set()
        self._used: set[Edge] = set()
        """of the path that was there before the last change of membership, or at the last mix if that is later"""
        self._has_mixed = False
        """since that change"""
        self._active: set[Edge] = set()
        """between finished workers"""
        self._is_due = False
        """a mix will begin"""
        self._read_members(view)
        return super().attach(view)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """One more has finished."""
        self._mixed.discard(worker)
        joined = [
            (min(worker, other), max(worker, other)) for other in self._neighbours(worker) if self._is_finished(other)
        ]
        self._active.update(joined)
        return self._begin(joined)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """The path may lead past one that is gone."""
        self._mixed.discard(worker)
        if self._has_mixed:
            self._used = self._path - self._unused
        self._read_members(self.view)
        finished = {other for other in self._alive if self._is_finished(other)}
        self._active = {
            (one, other) for one in finished for other in finished.intersection(self._neighbours(one)) if one < other
        }
        return self._begin(self._active)

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """All who have finished by now mix, if there are some still."""
        del key
        self._is_due = False
        return self._mix() if self._active else ()

    def gate(self, worker: int) -> bool:
        """It has mixed since its step, or has nobody to mix with."""
        return worker in self._mixed or self.view.alive_count == 1

    def refresh(self, worker: int) -> Pull:
        """Its own model."""
        del worker
        return KEEP

    def _read_members(self, view: View) -> None:
        self._alive = sorted(view.alive)
        self._path = set(pairwise(self._alive))
        self._unused = self._path - self._used
        """in this epoch; if none, the next one begins with the next mix"""
        self._has_mixed = False

    def _is_finished(self, worker: int) -> bool:
        return worker in self.view.waiting and worker not in self._mixed

    def _neighbours(self, worker: int) -> Iterable[int]:
        alive = self._alive
        if self.graph == "complete":
            return (other for other in alive if other != worker)
        place = bisect_left(alive, worker)
        return {alive[place - 1], alive[(place + 1) % len(alive)]} - {worker}

    def _begin(self, edges: Iterable[Edge]) -> Iterable[Effect]:
        """A mix soon, if one of the edges is unused in this epoch."""
        unused = self._unused or self._path
        if self._is_due or not any(edge in unused for edge in edges):
            return ()
        self._is_due = True
        return (Alarm(self.view.now + self.together_seconds, "mix", is_last=True),)

    def _mix(self) -> Iterable[Effect]:
        """All finished workers that have finished neighbours."""
        self._unused = self._unused or set(self._path)
        self._unused -= self._active
        self._has_mixed = True
        members = tuple(sorted({end for edge in self._active for end in edge}))
        self._mixed.update(members)
        rows = full_rows(members, metropolis_weights(members, self._active))
        self._active = set()
        return (Mix(members, rows),)
