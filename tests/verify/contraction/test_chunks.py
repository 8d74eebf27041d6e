"""Chunks cut and assigned by hand, and searches that reach the bounds where they are positive."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from sparsync.verify.contraction import chunk_assignments, chunk_orders, chunks
from sparsync.verify.tools.outcome import Profile
from sparsync.verify.tools.properties import Margin, Members, search_margin

ONE, ZERO = Fraction(1), Fraction(0)
SMALL = Profile(dimensions=(2, 3), examples_count=40)
FILES = (chunks, chunk_orders, chunk_assignments)


def test_the_library_cuts_and_rounds_as_by_hand() -> None:
    # Of 10 entries in chunks of 4, 5 are sent: 2 of the first 4, 2 of the next, 1 of the last 2.
    assert chunks.library_shapes(10, 5, 4) == [(4, 2), (4, 2), (2, 1)]
    assert chunks.library_shapes(10, 4, 4) == [(4, 1), (4, 2), (2, 1)]


def test_what_chunks_leave_by_hand() -> None:
    cut = (((Fraction(4), ONE), 1), ((Fraction(2), Fraction(3)), 1))
    assert chunks.chunk_ratio(cut) == Fraction(3, 10)
    assert chunks.chunk_margin(*cut) == Fraction(1, 2) - Fraction(3, 10)
    assert chunks.chunk_ratio((((ZERO,), 1),)) == 0


def test_neighbours_in_rank_are_the_worst_assignment_of_four() -> None:
    squares = (Fraction(4), Fraction(3), Fraction(2), ONE)
    ratios = [
        chunk_orders.assigned_ratio(squares, places, 2, 1) for places in ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))
    ]
    assert ratios == [Fraction(4, 10), Fraction(3, 10), Fraction(3, 10)]


@pytest.mark.parametrize("ones", range(7))
def test_a_mean_over_assignments_is_the_hypergeometric_one(ones: int) -> None:
    squares = chunk_assignments.ones_and_zeros(6, ones)
    for number, count in ((2, 1), (2, 2), (3, 1)):
        found = chunk_assignments.mean_excess(squares, number, count)
        assert found == chunk_assignments.enumerated_excess(squares, number, count)


def test_the_largest_mean_excess_by_hand() -> None:
    assert chunk_assignments.largest_mean_excess(2, 2, 1) == Fraction(1, 6)


@pytest.mark.parametrize(
    ("margin", "members"),
    [
        (chunks.chunk_margin, chunks.chunk_members),
        (chunks.rounding_margin, chunks.rounding_members),
        (chunk_orders.star_margin, chunk_orders.star_members),
        (chunk_orders.convex_margin, chunk_orders.convex_members),
        (chunk_assignments.mean_excess_margin, chunk_assignments.mean_excess_members),
    ],
)
def test_searches_reach_the_bounds(margin: Margin, members: Callable[[], Members]) -> None:
    assert search_margin(margin, members(), max_examples=60).smallest_margin == 0


@pytest.mark.parametrize(
    ("label", "grade"), [(label, grade) for file in FILES for label in file.CHECKS for grade in file.CHECKS[label]]
)
def test_every_grade_is_earned(label: str, grade: str) -> None:
    (check,) = (file.CHECKS[label][grade] for file in FILES if label in file.CHECKS)
    assert check(SMALL).earned
