"""Families of selections a second time: how many there are, and unions by hand."""

from __future__ import annotations

from math import comb

from sparsync.verify.learning.selected_exchanges import (
    bytes_margin,
    exchange_bytes,
    families,
    largest_margin,
    least_margin,
    random_margin,
    safe_margin,
    shapes,
    union,
)

APART, ALIKE = [frozenset({0}), frozenset({1})], [frozenset({1}), frozenset({1})]


def test_all_families_are_listed() -> None:
    for clients, dimension, count in shapes():
        assert sum(1 for _ in families(clients, dimension, count)) == comb(dimension, count) ** clients
    assert (3, 5, 2) in shapes()


def test_unions_and_bytes_by_hand() -> None:
    assert union(APART) == {0, 1}
    assert [largest_margin(3, APART), least_margin(3, APART)] == [0, 1]
    assert [largest_margin(3, ALIKE), least_margin(3, ALIKE)] == [1, 0]
    # Two pairs up, two of the union down to each.
    assert exchange_bytes(APART, 4, 4) == 2 * 8 + 2 * 2 * 8
    assert bytes_margin(3, APART, 2, 4, 4) == 0
    assert bytes_margin(3, ALIKE, 1, 4, 4) == 2 * 8
    assert random_margin(2, 3, 1) == safe_margin(3, 4, 4) == 0
