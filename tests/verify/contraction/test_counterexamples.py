from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import t
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.counterexamples import (
    COUNTEREXAMPLES,
    Counterexample,
    below_line_extremal,
    is_bell_shaped_about_its_mean,
    is_below_line_in_cells,
    is_below_zero_based_line,
    is_convex,
    is_sorted,
    is_symmetric_about_zero,
    on_the_line,
    profile_cells,
    squares_of,
)
from sparsync.verify.contraction.margins import MARGINS, exact_bound


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_every_counterexample_obeys_its_wording_and_exceeds_the_bound(name: str) -> None:
    case = COUNTEREXAMPLES[name]
    assert is_sorted(case.squares)
    assert case.obeys(case.squares)
    assert case.ratio > case.claimed
    assert case.refutes()


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_the_claimed_bound_is_the_statement_s(name: str) -> None:
    case = COUNTEREXAMPLES[name]
    assert case.claimed == exact_bound("square_convex", dimension=len(case.squares), count=case.count)


@pytest.mark.parametrize("name", COUNTEREXAMPLES)
def test_no_counterexample_touches_the_statement_as_we_state_it(name: str) -> None:
    case = COUNTEREXAMPLES[name]
    with pytest.raises(ValueError, match="square_convex"):
        MARGINS["square_convex"](case.squares, case.count)
    assert MARGINS["top_k"](case.squares, case.count) >= 0


@pytest.mark.parametrize(
    ("name", "ratio", "claimed"),
    [
        ("two_coordinates", Fraction(1, 3), Fraction(1, 4)),
        ("on_the_line", Fraction(28, 55), Fraction(49, 100)),
        ("one_then_flat", Fraction(5, 19), Fraction(1, 4)),
        ("constant", Fraction(7, 10), Fraction(49, 100)),
        ("capped_line_profile", Fraction(1, 3), Fraction(1, 4)),
        ("below_line_extremal", Fraction(5, 9), Fraction(49, 100)),
    ],
)
def test_both_sides_equal_hand_computed_fractions(name: str, ratio: Fraction, claimed: Fraction) -> None:
    assert (COUNTEREXAMPLES[name].ratio, COUNTEREXAMPLES[name].claimed) == (ratio, claimed)


def test_an_example_within_the_bound_or_outside_the_wording_refutes_nothing() -> None:
    steep = Counterexample("squares convex in rank", is_convex, lambda: squares_of(3, 1), 1)
    concave = Counterexample("squares convex in rank", is_convex, lambda: squares_of(3, 3, 1), 1)
    unsorted = Counterexample("squares convex in rank", is_convex, lambda: squares_of(1, 2), 1)
    assert not steep.refutes()
    assert concave.ratio > concave.claimed
    assert not concave.refutes()
    assert not unsorted.refutes()


@pytest.mark.parametrize("dimension", [2, 3, 10, 57])
def test_on_the_line_the_ratio_is_the_discrete_bound_at_every_count(dimension: int) -> None:
    cases = [Counterexample("", is_convex, lambda: on_the_line(dimension), count) for count in range(1, dimension)]
    assert all(case.refutes() for case in cases)
    assert [case.ratio for case in cases] == [
        exact_bound("square_convex_discrete", dimension=dimension, count=case.count) for case in cases
    ]


def test_the_capped_profile_has_the_same_ratio_in_every_number_of_cells() -> None:
    square = sympy.Min(sympy.Rational(1, 2), 1 - t)
    assert profile_cells(square, 2) == (Fraction(1, 4), Fraction(1, 8))
    assert profile_cells(square, 4) == COUNTEREXAMPLES["capped_line_profile"].squares
    assert sum(profile_cells(square, 6)[3:]) == Fraction(1, 8)


def test_a_profile_on_the_line_meets_the_continuous_bound_with_equality() -> None:
    cells = profile_cells(1 - t, 10)
    assert is_below_line_in_cells(cells)
    assert MARGINS["square_convex"](cells, 3) == 0
    assert STATEMENTS["square_convex"].evaluate(k=3, d=10) == 0.49


def test_the_wordings_reject_what_violates_them() -> None:
    assert not is_below_zero_based_line(squares_of(3, 3, 1))
    assert not is_convex(squares_of(3, 3, 1))
    assert not is_below_line_in_cells((Fraction(1, 2), Fraction(1, 4)))
    assert not is_bell_shaped_about_its_mean(squares_of(9, 9, 7, 5, 5))
    assert not is_bell_shaped_about_its_mean(squares_of(9, 7, 7))
    assert not is_symmetric_about_zero(squares_of(3, 2, 2))


def test_an_irrational_magnitude_is_refused() -> None:
    with pytest.raises(ValueError, match="got the square 2"):
        is_bell_shaped_about_its_mean((Fraction(2), Fraction(1)))


def test_impossible_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="got 1"):
        on_the_line(1)
    with pytest.raises(ValueError, match="got 0"):
        below_line_extremal(10, 0)
