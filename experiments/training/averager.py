"""How workers meet: what a training loop asks of whoever averages, in one process or in many.

`collectives.py` and `slices.py` have those that there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from sparsync.experiments.averaging.envelope import ROW_LENGTH
from sparsync.experiments.averaging.messages import Average
from sparsync.kernels.payload import SparsePayload


class Averager(Protocol):
    """How the workers of this process meet all the others."""

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """One number per local worker in, one per worker of the whole run out, in rank order."""
        return [row[0] for row in self.gather_rows([[number] for number in numbers])]

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """One row of up to `ROW_LENGTH` numbers per local worker in, one per worker of the whole run out, likewise."""
        ...

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """One payload per local worker in, the mean over all workers of the run out."""
        ...

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """One vector per local worker in, the mean over all workers of the run out, added in rank order.

        It is for what is measured: whole vectors travel, and their bytes are nobody's.
        """
        ...


@dataclass(frozen=True, eq=False)
class Gathered:
    """The vectors of all workers.

    Args:
        vectors: [n] each, in rank order.
        sent_bytes: what all workers together handed to the exchange, headers included.
    """

    vectors: list[Tensor]
    sent_bytes: int


class VectorAverager(Averager, Protocol):
    """An averager that also hands round vectors as they are."""

    def gather_vectors(self, vectors: Sequence[Tensor]) -> Gathered:
        """One vector per local worker in, those of all workers of the run out; they are of one length and dtype."""
        ...


@runtime_checkable
class Noting(Protocol):
    """An averager that remembers something from call to call."""

    @property
    def knows_count(self) -> bool:
        """Whether what it remembers is of one number of workers, and nothing to others."""
        ...

    def state(self) -> dict[str, Tensor]:
        """That, by name, alike on all processes."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Remember what `state` returned instead; of as many workers, if it knows their number."""
        ...


def require_rows(rows: Sequence[Sequence[float]], count: int) -> Sequence[Sequence[float]]:
    """Refuse what is not a row for each local worker.

    Raises:
        ValueError: not so many rows, or rows that are not one to three numbers.
    """
    if len(rows) != count:
        raise ValueError(f"expected one for each of {count} local workers, got {len(rows)}")
    if wrong := [len(row) for row in rows if not 1 <= len(row) <= ROW_LENGTH]:
        raise ValueError(f"expected rows of 1 to {ROW_LENGTH} numbers, got one of {wrong[0]}")
    return rows


def ranks_unlike_the_first(value: object, averager: Averager, *, local_count: int = 1) -> list[int]:
    """The ranks whose value, as `repr` prints it, is not that of rank 0: asked on every rank, with the same answer.

    Args:
        value: that of this process.
        averager: how its workers meet the others.
        local_count: how many workers live in this process.
    """
    digest = hashlib.sha256(repr(value).encode()).digest()
    # 48 bits, so that the number passes through a float64 unchanged.
    numbers = averager.gather([float(int.from_bytes(digest[:6], "little"))] * local_count)
    return [rank for rank, number in enumerate(numbers) if number != numbers[0]]
