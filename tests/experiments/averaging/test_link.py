"""The seconds of our collectives are the textbook ones with headers put in, and so are the bytes of nodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.averaging.link import (
    Link,
    Load,
    balanced_seconds,
    dense_seconds,
    expected_union,
    headers_seconds,
    sparse_seconds,
)
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.kernels.payload import SparsePayload
from sparsync.theory.statements import STATEMENTS

INDEX_BYTES = 4
ROUNDING = 1e-14
"""Relative: some sums and products of a few numbers."""
NUMBER_BYTES = 8


def gathered(link: Link, workers: int, size: float, *, count: int = 1) -> float:
    """The law of the ring all-gather, of pieces that are half value and half position, and are not added."""
    return STATEMENTS["ring_all_gather"].evaluate(
        n=workers,
        k=count,
        value_bytes=size / 2,
        index_bytes=size / 2,
        message_seconds=link.latency_seconds,
        byte_seconds=link.seconds_per_byte,
        merge_seconds=0,
    )


def law(label: str, link: Link, load: Load, **numbers: object) -> float:
    return STATEMENTS[label].evaluate(
        n=load.worker_count,
        value_bytes=load.value_bytes,
        message_seconds=link.latency_seconds,
        byte_seconds=link.seconds_per_byte,
        merge_seconds=0,
        **numbers,
    )


@st.composite
def links_and_loads(draw: st.DrawFn) -> tuple[Link, Load]:
    """Loads whose expected union is whole: everything is selected, or two workers select a half of an even number."""
    whole = draw(st.booleans())
    workers = draw(st.integers(1, 12)) if whole else 2
    dimension = draw(st.integers(1, 500)) * 4
    count = dimension if whole else dimension // 2
    link = Link(draw(st.integers(0, 100)) * 1e-6, draw(st.integers(1, 100)) * 1e-10)
    return link, Load(workers, count, workers * count, dimension, draw(st.sampled_from([2, 4, 8])))


@given(links_and_loads())
def test_headers_are_two_gathers(case: tuple[Link, Load]) -> None:
    link, load = case
    expected = 2 * gathered(link, load.worker_count, HEADER_BYTES)
    assert headers_seconds(link, load) == pytest.approx(expected, rel=ROUNDING)


@given(links_and_loads())
def test_sparse_is_headers_and_the_law_of_the_ring_all_gather(case: tuple[Link, Load]) -> None:
    link, load = case
    entries = law("ring_all_gather", link, load, k=load.largest_count, index_bytes=INDEX_BYTES)
    assert sparse_seconds(link, load) == pytest.approx(headers_seconds(link, load) + entries, rel=ROUNDING)


@given(links_and_loads())
def test_dense_is_headers_and_the_law_of_the_ring_all_reduce(case: tuple[Link, Load]) -> None:
    link, load = case
    values = law("ring_all_reduce", link, load, d=load.dimension)
    assert dense_seconds(link, load) == pytest.approx(headers_seconds(link, load) + values, rel=ROUNDING)


@given(links_and_loads())
def test_in_rank_order_dense_is_headers_and_an_all_gather_of_values(case: tuple[Link, Load]) -> None:
    link, load = case
    ordered = Load(load.worker_count, load.largest_count, load.total_count, load.dimension, load.value_bytes, True)
    values = gathered(link, load.worker_count, load.value_bytes, count=load.dimension)
    assert dense_seconds(link, ordered) == pytest.approx(headers_seconds(link, load) + values, rel=ROUNDING)


@given(links_and_loads())
def test_balanced_is_headers_numbers_and_the_law_of_owners(case: tuple[Link, Load]) -> None:
    link, load = case
    union = round(expected_union(load))
    assert expected_union(load) == pytest.approx(union, rel=ROUNDING)
    numbers = sum(gathered(link, load.worker_count, count * NUMBER_BYTES) for count in (2, 3))
    sums = law("balanced_all_reduce", link, load, k=load.largest_count, union_size=union, index_bytes=INDEX_BYTES)
    expected = headers_seconds(link, load) + numbers + sums
    assert balanced_seconds(link, load) == pytest.approx(expected, rel=ROUNDING)


def payload(places: list[int]) -> SparsePayload:
    return SparsePayload(torch.ones(len(places)), torch.tensor(places, dtype=torch.int32), 100)


def hierarchical_bytes(*, inner: int, outer: int, node_size: int, node_count: int, **sizes: int) -> float:
    """Seconds of the law where a byte takes as many inside nodes and between them as it says, and all else nothing."""
    tiny = 2.0**-40
    seconds = STATEMENTS["hierarchical_gather"].evaluate(
        node_workers=node_size,
        node_count=node_count,
        value_bytes=4,
        index_bytes=INDEX_BYTES,
        message_seconds=0,
        inner_message_seconds=0,
        byte_seconds=outer or tiny,
        inner_byte_seconds=inner or tiny,
        merge_seconds=0,
        **sizes,
    )
    return round(seconds)


@pytest.mark.parametrize(
    ("places", "sizes"),
    [
        ([[1, 2], [2, 3], [3, 4], [4, 5]], {"k": 2, "node_union_size": 3, "union_size": 5}),
        ([[1, 2], [1, 2], [3, 4], [3, 4]], {"k": 2, "node_union_size": 2, "union_size": 4}),
        ([[1], [2], [3], [4]], {"k": 1, "node_union_size": 2, "union_size": 4}),
    ],
    ids=["overlapping", "alike in nodes", "apart"],
)
def test_bytes_of_nodes_are_those_of_their_law(places: list[list[int]], sizes: dict[str, int]) -> None:
    average = LocalAverager("hierarchical", node_size=2).average([payload(some) for some in places])
    between = 2 * hierarchical_bytes(inner=0, outer=1, node_size=2, node_count=2, **sizes)
    inside = 2 * hierarchical_bytes(inner=1, outer=0, node_size=2, node_count=2, **sizes)
    said_between, said_inside = 2 * 2 * NUMBER_BYTES, 2 * 3 * NUMBER_BYTES
    outer = between + said_between + 4 * ENVELOPE_BYTES
    assert average.between_nodes_bytes == outer
    assert average.sent_bytes == outer + inside + said_inside


@pytest.mark.parametrize("seconds", [sparse_seconds, dense_seconds, balanced_seconds])
def test_without_others_nothing_takes_time(seconds: Callable[[Link, Load], float]) -> None:
    assert seconds(Link(1.0, 1.0), Load(1, 10, 10, 10, 4)) == 0
