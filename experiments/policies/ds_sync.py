"""Divide and shuffle: workers average in small groups, and other groups next time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import KEEP, Effect, Mix, Pull
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import View


@dataclass(eq=False)
class DsSync(Policy):
    """After each step the workers of one row of a grid average their models, next time those of one column.

    Worker w stands in row ⌊w/m⌋ and column w mod m. On a full grid W_row·W_col = J: two steps spread everything to
    everybody. A group waits for its members and for nobody else. One that joins counts its rounds from the least of the
    others; groups consist of those alive. Weights are 1/(members of the group). Nothing is sent to a server.

    Args:
        group_size: m from 1 to n, workers in a row; None is the least m with m² ≥ n.

    Source: Wang, Zhang, Yang, Chen, Tan 2022: disjoint groups that change. Their public code alternates two partitions
    of four workers, which are rows and columns here; larger grids are ours. It averages just before a step is added,
    this just after.
    """

    group_size: int | None = None

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False
    is_decentralised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.group_size is not None:
            require_count("group_size", self.group_size, least=1)

    def attach(self, view: View) -> Iterable[Effect]:
        """Rows come first.

        Raises:
            ValueError: a row is to be longer than there are workers.
        """
        self._row_length = self.group_size or math.isqrt(view.worker_count - 1) + 1
        if self._row_length > view.worker_count:
            raise ValueError(f"group_size must be at most {view.worker_count}, the workers, got {self._row_length}")
        workers = range(view.worker_count)
        self._rows = [workers[first : first + self._row_length] for first in workers[:: self._row_length]]
        self._columns = [workers[first :: self._row_length] for first in workers[: self._row_length]]
        self._rounds = [0] * view.worker_count
        self._mixed: set[int] = set()
        return super().attach(view)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """The worker may be the last of its group."""
        self._mixed.discard(worker)
        return self._mix(worker)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A group may have waited for one that is gone."""
        self._mixed.discard(worker)
        if worker in self.view.alive:
            others = [self._rounds[other] for other in self.view.alive if other != worker]
            self._rounds[worker] = min(others, default=self._rounds[worker])
        concerned = {*self._line(worker, 0), *self._line(worker, 1)} & self.view.waiting
        return [effect for waiting in sorted(concerned) for effect in self._mix(waiting)]

    def gate(self, worker: int) -> bool:
        """It has averaged since its step."""
        return worker in self._mixed

    def refresh(self, worker: int) -> Pull:
        """Its own model."""
        del worker
        return KEEP

    def _line(self, worker: int, round_number: int) -> range:
        """The worker's row or column."""
        row, column = divmod(worker, self._row_length)
        return self._columns[column] if round_number % 2 else self._rows[row]

    def _mix(self, worker: int) -> Iterable[Effect]:
        """The average of the worker's group, if all of it is there."""
        if worker in self._mixed:
            return ()
        round_number, view = self._rounds[worker], self.view
        line = [other for other in self._line(worker, round_number) if other in view.alive]
        group = tuple(other for other in line if self._rounds[other] <= round_number)
        if any(
            other not in view.waiting or other in self._mixed or self._rounds[other] < round_number for other in group
        ):
            return ()
        self._mixed.update(group)
        for other in group:
            self._rounds[other] += 1
        return (Mix(group, ((1 / len(group),) * len(group),) * len(group)),) if len(group) > 1 else ()
