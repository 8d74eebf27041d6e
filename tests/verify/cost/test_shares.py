"""Shared batches, placements and divisions a second time: by hand, and margins that see what is off."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost import shares
from sparsync.verify.cost.shares import (
    SLOW_AND_FAST,
    best_sum,
    flat_greedy_margin,
    flat_margin,
    gains_margin,
    greedy_sum,
    greedy_time,
    least_parts_time,
    placement_margin,
    wasted,
)

ONE, TWO = (Fraction(0), Fraction(1), Fraction(1)), (Fraction(3), Fraction(1, 2), Fraction(4))
"""A straight line, and one that is flat up to 4 examples, of 5 in all."""


def test_times_by_hand() -> None:
    # In 5 units the first does 5 and the second 4; then 3 a unit.
    assert least_parts_time([ONE, TWO], 9) == 5
    assert least_parts_time([ONE, TWO], 12) == 6
    assert greedy_time([ONE, TWO], 9) == 5
    assert greedy_time([ONE, TWO], 10) == Fraction(11, 2)
    assert greedy_time([ONE, TWO], 11) == 6


def test_a_flat_piece_of_no_example_is_shorter_than_the_first_one() -> None:
    """One example each: the slow one takes 8, and 2 + 2 − 1 examples over the rate of both are done before."""
    assert greedy_time(SLOW_AND_FAST, 2) == 8
    assert flat_greedy_margin(SLOW_AND_FAST, 2) == 0


def test_waste_by_hand() -> None:
    """Two devices of one step have two places each, one of four has five: in 2 units 12 steps, of which 8 are done."""
    assert wasted([(2, Fraction(1), 2), (1, Fraction(4), 5)], 8) == (Fraction(2), Fraction(12 - 8, 2))


def test_greedy_is_best_where_gains_fall_and_may_not_be_where_they_rise() -> None:
    assert greedy_sum([[3, 1], [2, 2]], 2) == best_sum([[3, 1], [2, 2]], 2) == 5
    assert (greedy_sum([[0, 9], [1, 1]], 2), best_sum([[0, 9], [1, 1]], 2)) == (2, 9)
    assert gains_margin([[0, 9], [1, 1]], 2) == -7


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [(2, Fraction(1), 2)]
    assert flat_margin([ONE, TWO], 12, (1, 1)) == placement_margin(devices, 3) == 0
    assert flat_greedy_margin([ONE, TWO], 12) >= 0
    monkeypatch.setattr(shares, "least_parts_time", lambda *_: Fraction(7))
    monkeypatch.setattr(shares, "wasted", lambda *_: (Fraction(2), Fraction(0)))
    assert flat_margin([ONE, TWO], 12, (1, 1)) == -Fraction(1, 5)
    assert flat_greedy_margin([ONE, TWO], 12) < 0
    assert placement_margin(devices, 3) == -Fraction(1, 2)
