"""Butterflies a second time: loads by hand, shares by events, and margins that see what is off."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost import butterflies
from sparsync.verify.cost.butterflies import (
    butterfly_margin,
    divisions,
    hagenbach_margin,
    hagenbach_parts,
    latest,
    levelled,
    loads,
    saturated,
    saturation_margin,
    scattered_margin,
)

HALF, WHOLE = Fraction(1, 2), Fraction(1)


def test_loads_by_hand() -> None:
    """The first averages half and the others a quarter each: 1 + (3 − 2)w."""
    shares = [HALF, HALF / 2, HALF / 2]
    assert loads(shares, WHOLE, WHOLE) == [(1 + share, 1 + share) for share in shares]
    # Gradients of a tenth: the first sends 1/20 of its own, and two means of half.
    assert loads(shares, Fraction(1, 10), WHOLE)[0] == (1 + Fraction(1, 20), HALF + Fraction(1, 10))


def test_clients_are_not_counted() -> None:
    assert latest([2, None], [WHOLE, Fraction(0)]) == HALF
    assert latest([1, None, None], [WHOLE, Fraction(0), Fraction(0)]) == 2


def test_shares_grow_by_events() -> None:
    assert levelled([1, 1, 1000], 3) == [0, 0, 1]
    assert levelled([2, 2, 3], 3) == [Fraction(1, 7), Fraction(1, 7), Fraction(5, 7)]
    assert levelled([5, 1], 2) == [HALF, HALF]


def test_all_divisions_are_there_once() -> None:
    assert sorted(divisions(2, 2)) == [(0, 2), (1, 1), (2, 0)]
    assert len(set(divisions(6, 4))) == len(list(divisions(6, 4))) == 84


def test_values_go_where_the_quotient_is_largest() -> None:
    assert hagenbach_parts([Fraction(6, 10), Fraction(4, 10)], 5) == [3, 2]
    assert hagenbach_parts([HALF, HALF], 1) == [1, 0]


def test_entries_that_cost_less_than_values_never_travel_whole() -> None:
    assert saturated(2, 24, 18, WHOLE) == (Fraction(3, 4) + 1) / 2
    assert saturated(2, 24, 18, HALF) == (Fraction(3, 4) + 1) / 4
    assert saturated(2, 24, 18, 2 * WHOLE) == 1


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert butterfly_margin([2, 2, 3], 0) == hagenbach_margin([3, 3, 3], 0, 1) == 0
    assert scattered_margin([1, 4], Fraction(1, 10), Fraction(0)) == saturation_margin(3, 12, 2, WHOLE) == 0
    monkeypatch.setattr(butterflies, "loads", lambda shares, *_: [(WHOLE, WHOLE) for _ in shares])
    assert butterfly_margin([2, 2, 3], 0) < 0
    assert scattered_margin([1, 4], Fraction(1, 10), Fraction(0)) < 0
    assert saturation_margin(3, 12, 2, WHOLE) < 0
    monkeypatch.setattr(butterflies, "loads", lambda shares, *_: [(3 * WHOLE, WHOLE) for _ in shares])
    assert hagenbach_margin([3, 3, 3], 0, 1) < 0
