import math
from collections.abc import Callable

import mpmath
import pytest
import sympy

from sparsync.theory.contraction.small_dimensions import PLACE, OneShare, TwoShares, one_share, two_shares
from sparsync.theory.statements import STATEMENTS

FAILURE = STATEMENTS["small_dimension_failure"]


@pytest.mark.parametrize(
    ("dimension", "power", "expected"),
    [
        (2, 2, 1 / 3),
        (3, 2, math.sqrt(5) - 2),
        (2, 3, 1 - 4 / math.pi * math.asin(2**-1.5)),
        (3, 3, 3 * math.sqrt(19 / 27) - 2),
        (4, 2, 3 + (10.5 - 3 * math.sqrt(7) - 16 * math.asin(math.sqrt(7) / 4)) / math.pi),
    ],
)
def test_a_gaussian_vector_of_few_coordinates_fails_as_often_as_the_closed_forms_say(
    dimension: int, power: float, expected: float
) -> None:
    assert FAILURE.evaluate(d=dimension, q=power) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("dimension", "power"), [(2, 1), (2, 0.75), (3, 1)])
def test_a_bound_that_cannot_be_exceeded_is_exceeded_with_probability_exactly_zero(
    dimension: int, power: float
) -> None:
    # The largest of d shares is at least 1/d: the ratio is at most 1 − 1/d, and (1 − 1/2)^(3/4) is above 1/2.
    assert FAILURE.exact(d=dimension, q=power) == 0


def test_a_real_power_is_admitted() -> None:
    expected = 1 - 4 / math.pi * math.asin(2 ** (-1.7 / 2))
    assert FAILURE.evaluate(d=2, q=1.7) == pytest.approx(expected, abs=1e-14)


def test_the_probability_of_five_coordinates_is_known_to_all_digits() -> None:
    # Integrated over the split of five coordinates in two and three.
    assert FAILURE.evaluate(d=5, q=2) == pytest.approx(0.081422209133017726, abs=1e-16)


@pytest.mark.parametrize(
    ("function", "compiled", "dimension"),
    [
        (OneShare, one_share, 2),
        (OneShare, one_share, 3),
        (OneShare, one_share, 4),
        (TwoShares, two_shares, 3),
        (TwoShares, two_shares, 4),
    ],
)
@pytest.mark.parametrize("level", ["1/3", "2/5", "9/20"])
def test_closed_forms_agree_with_the_numbers_computed_without_them(
    function: sympy.Function, compiled: Callable[..., mpmath.mpf], dimension: int, level: str
) -> None:
    place = sympy.Rational(level)
    closed = function(sympy.Integer(dimension), place).evalf(25)
    with mpmath.workdps(25):
        assert abs(closed - compiled(mpmath.mpf(dimension), mpmath.mpf(place.p) / place.q)) < 1e-20


def test_two_shares_of_more_than_half_are_impossible() -> None:
    assert TwoShares(sympy.Integer(7), sympy.Rational(1, 2)) == 0
    assert OneShare(sympy.Integer(7), sympy.Integer(1)) == 0


@pytest.mark.parametrize("function", [OneShare, TwoShares])
def test_no_derivative_in_the_dimension_is_needed(function: sympy.Function) -> None:
    with pytest.raises(sympy.core.function.ArgumentIndexError):
        function(sympy.Symbol("n"), PLACE).fdiff(1)


@pytest.mark.parametrize(
    "numbers", [{"d": 1, "q": 2}, {"d": 6, "q": 2}, {"d": 2, "q": 0.5}, {"d": 3.0, "q": 2}, {"d": 4, "q": 1}]
)
def test_numbers_outside_the_domain_are_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="small_dimension_failure"):
        FAILURE.evaluate(**numbers)
