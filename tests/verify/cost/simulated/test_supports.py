"""Supports have the sizes that were asked for: each worker's, each node's, and that of all."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.cost.simulated.schedules import Block, width
from sparsync.verify.cost.simulated.supports import even_parts, in_nodes, overlapping, with_values


def size(*supports: list[Block]) -> Fraction:
    """Coordinates that are in one of them."""
    return width([dict.fromkeys((block for support in supports for block in support), Fraction(0))])


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int, Fraction, Fraction, Fraction]:
    node_count, node_size = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    count = draw(st.fractions(Fraction(1, 4), 5, max_denominator=6))
    node_union = draw(st.fractions(count, node_size * count, max_denominator=12))
    union = draw(st.fractions(node_union, node_count * node_union, max_denominator=24))
    return node_count, node_size, count, node_union, union


@given(sizes())
def test_workers_nodes_and_all_select_as_many_as_was_said(case: tuple[int, int, Fraction, Fraction, Fraction]) -> None:
    node_count, node_size, count, node_union, union = case
    supports = in_nodes(node_count, node_size, count=count, node_union=node_union, union=union)
    assert [size(support) for support in supports] == [count] * (node_count * node_size)
    nodes = [supports[first : first + node_size] for first in range(0, len(supports), node_size)]
    assert [size(*node) for node in nodes] == [node_union] * node_count
    assert size(*supports) == union


def test_three_of_two_each_cover_four_as_arcs() -> None:
    supports = overlapping(3, Fraction(2), Fraction(4))
    # From 0, from 4/3 and from 8/3 round the end to 2/3.
    assert [[block.place for block in support] for support in supports] == [[0, 1, 2], [2, 3, 4], [0, 4, 5]]
    assert {block.width for support in supports for block in support} == {Fraction(2, 3)}


@pytest.mark.parametrize("union", [Fraction(1), Fraction(7)])
def test_what_cannot_be_covered_is_refused(union: Fraction) -> None:
    with pytest.raises(ValueError, match=f"3 of 2 coordinates each cannot select {union} together"):
        overlapping(3, Fraction(2), union)


def test_parts_are_even_and_values_are_drawn() -> None:
    parts = even_parts(3, Fraction(4))
    assert [size(part) for part in parts] == [Fraction(4, 3)] * 3
    one, other = (with_values(parts, random.Random(seed)) for seed in (1, 2))
    assert [set(store) for store in one] == [set(part) for part in parts]
    assert one != other
