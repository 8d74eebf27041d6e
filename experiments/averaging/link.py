"""How long does a collective take on a link of latency α and β seconds per byte? Closed forms, by which "auto" chooses.

Every worker sends one message at a time and receives one meanwhile; a message of n bytes takes α + nβ (Hockney 1994).
P workers that all-gather n bytes each pass them round a ring, (P − 1)(α + nβ); an all-reduce is a reduce-scatter and an
all-gather of P parts, 2(P − 1)(α + nβ/P). The calculator of the theory has the same model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sparsync.experiments.averaging.header import HEADER_BYTES

_INDEX_BYTES, _NUMBER_BYTES = 4, 8


@dataclass(frozen=True)
class Link:
    """Between any two workers.

    Args:
        latency_seconds: α, of a message.
        seconds_per_byte: β.

    Raises:
        ValueError: one of them is negative or not finite.
    """

    latency_seconds: float
    seconds_per_byte: float

    def __post_init__(self) -> None:
        for name in ("latency_seconds", "seconds_per_byte"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a finite number that is not negative, got {value}")

    def all_gather_seconds(self, worker_count: int, size_bytes: float) -> float:
        """(P − 1)(α + nβ), where every worker has n bytes."""
        return (worker_count - 1) * (self.latency_seconds + size_bytes * self.seconds_per_byte)


NOMINAL_LINK = Link(latency_seconds=50e-6, seconds_per_byte=8e-10)
"""10 Gbit/s, and a latency as of TCP in one room: what a simulation takes, which has no link to measure."""


@dataclass(frozen=True)
class Load:
    """What is to be averaged.

    Args:
        worker_count: P.
        largest_count: the largest number of entries of a payload, k.
        total_count: the number of entries of all.
        dimension: d.
        value_bytes: v, of a value.
        rank_order: dense vectors are gathered and added in rank order.
    """

    worker_count: int
    largest_count: int
    total_count: int
    dimension: int
    value_bytes: int
    rank_order: bool = False


def sparse_seconds(link: Link, load: Load) -> float:
    """3(P − 1)α + (P − 1)(2h + k(v + 4))β: headers of h bytes are gathered, then entries, and headers again."""
    entries = load.largest_count * (load.value_bytes + _INDEX_BYTES)
    return headers_seconds(link, load) + link.all_gather_seconds(load.worker_count, entries)


def dense_seconds(link: Link, load: Load) -> float:
    """Headers, and 2(P − 1)(α + dvβ/P) for an all-reduce; (P − 1)(α + dvβ) in rank order."""
    size = load.dimension * load.value_bytes
    if load.rank_order:
        return headers_seconds(link, load) + link.all_gather_seconds(load.worker_count, size)
    return headers_seconds(link, load) + 2 * link.all_gather_seconds(load.worker_count, size / load.worker_count)


def balanced_seconds(link: Link, load: Load) -> float:
    """6(P − 1)α + (P − 1)(2h + 40 + (k + U)(v + 4)/P)β, where U is `expected_union`.

    Besides headers each worker sends 16 bytes of numbers and k/P entries to every other; then 24 bytes, and the U/P
    sums of each region are gathered. Regions are chosen too seldom to count.
    """
    entry, workers = load.value_bytes + _INDEX_BYTES, load.worker_count
    entries = (load.largest_count / workers * entry, expected_union(load) / workers * entry)
    sizes = (2 * _NUMBER_BYTES, 3 * _NUMBER_BYTES, *entries)
    return headers_seconds(link, load) + sum(link.all_gather_seconds(workers, size) for size in sizes)


def headers_seconds(link: Link, load: Load) -> float:
    """2(P − 1)(α + hβ): one header of h bytes begins an exchange, and one ends it."""
    return 2 * link.all_gather_seconds(load.worker_count, HEADER_BYTES)


def expected_union(load: Load) -> float:
    """U = d(1 − (1 − κ)^P), κ = M/(Pd) with M entries in all: of supports that workers draw independently.

    Gradients of one model agree more than that, so "balanced" is faster than predicted rather than slower.
    """
    density = load.total_count / (load.worker_count * load.dimension)
    if density >= 1:
        return load.dimension
    return -load.dimension * math.expm1(load.worker_count * math.log1p(-density))
