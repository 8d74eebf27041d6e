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

    On a cluster of racks a worker's number is written in digits, those of its place in the rack first, then those of
    its rack. In each step workers average whose numbers differ in one digit, the next one each time: W_1·…·W_d = J for
    d digits, and only steps of digits of racks lead out of a rack.

    Args:
        group_size: m from 1 to n, workers in a row; None is the least m with m² ≥ n. With racks the most workers of a
            group, and None is no limit: two steps, of whole racks, and of all who have the same place.
        rack_size: workers of a rack, from worker 0 on; None leaves racks out of account.

    Source: Wang, Zhang, Yang, Chen, Tan 2022: disjoint groups that change. Their public code alternates two partitions
    of four workers, which are rows and columns here; larger grids are ours. It averages just before a step is added,
    this just after. That groups keep off narrow links is theirs, from the abstract; groups by digits are ours.
    """

    group_size: int | None = None
    rack_size: int | None = None

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False
    is_decentralised: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.group_size is not None:
            require_count("group_size", self.group_size, least=1)
        if self.rack_size is not None:
            require_count("rack_size", self.rack_size, least=1)

    def attach(self, view: View) -> Iterable[Effect]:
        """Rows, or racks, come first.

        Raises:
            ValueError: a row is to be longer than there are workers, racks would not be full, or a rack, or the number
                of racks, is no product of numbers of workers that a group may hold.
        """
        count = view.worker_count
        if self.group_size is not None and self.group_size > count:
            raise ValueError(f"group_size must be at most {count}, the workers, got {self.group_size}")
        self._lines = self._grid(count) if self.rack_size is None else self._digits(count, self.rack_size)
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
        concerned = {other for line in self._lines for other in line[worker]} & self.view.waiting
        return [effect for waiting in sorted(concerned) for effect in self._mix(waiting)]

    def gate(self, worker: int) -> bool:
        """It has averaged since its step."""
        return worker in self._mixed

    def refresh(self, worker: int) -> Pull:
        """Its own model."""
        del worker
        return KEEP

    def _line(self, worker: int, round_number: int) -> range:
        """The worker's group, were all alive."""
        return self._lines[round_number % len(self._lines)][worker]

    def _grid(self, worker_count: int) -> list[list[range]]:
        """Of each round, the group of each worker: its row, and its column."""
        length, workers = self.group_size or math.isqrt(worker_count - 1) + 1, range(worker_count)
        rows = [workers[worker - worker % length :][:length] for worker in workers]
        return [rows, [workers[worker % length :: length] for worker in workers]]

    def _digits(self, worker_count: int, rack_size: int) -> list[list[range]]:
        """Of each round, the group of each worker: those whose numbers differ from its own in one digit."""
        if worker_count % rack_size:
            raise ValueError(f"rack_size must divide {worker_count}, the workers, got {rack_size}")
        most, stride, rounds = self.group_size or worker_count, 1, list[list[range]]()
        for base in (*_factors(rack_size, most), *_factors(worker_count // rack_size, most)):
            firsts = (worker - worker // stride % base * stride for worker in range(worker_count))
            rounds.append([range(first, first + base * stride, stride) for first in firsts])
            stride *= base
        return rounds or self._grid(worker_count)

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


def _factors(number: int, most: int) -> list[int]:
    """Numbers from 2 to `most` whose product it is, each the largest that divides what is left.

    Raises:
        ValueError: there are none.
    """
    found, left = list[int](), number
    while left > 1:
        divisors = [factor for factor in range(2, min(left, most) + 1) if not left % factor]
        if not divisors:
            raise ValueError(
                f"group_size {most} is too small: {number} workers or racks are no product of such numbers"
            )
        found.append(divisors[-1])
        left //= divisors[-1]
    return found
