import math
from fractions import Fraction

import pytest

from sparsync.theory.contraction import ladder
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.shapes import gini_index, is_below_power
from sparsync.verify.contraction.weights import is_star_shaped, odd, tail_ratio

PAIRS = [(count, dimension) for dimension in range(1, 9) for count in range(1, dimension + 1)]
CONTRACTION = {Fraction(2): "square_convex_discrete", Fraction(1): "bell_shaped_discrete"}


@pytest.mark.parametrize(
    ("shape", "expected"), [(2, Fraction(1, 4)), (1, Fraction(1, 8)), (Fraction(2, 3), Fraction(1, 16))]
)
def test_half_the_coordinates_leave_a_power_of_one_half(shape: Fraction, expected: Fraction) -> None:
    assert STATEMENTS["exponent"].fraction(kappa=Fraction(1, 2), p=shape) == expected


@pytest.mark.parametrize("density", [0.001, 0.3, 0.75])
@pytest.mark.parametrize("shape", [1e-3, 0.7, 3.0, 1e12])
def test_real_exponents_agree_with_floating_point(density: float, shape: float) -> None:
    value = STATEMENTS["exponent"].evaluate(kappa=density, p=shape)
    assert value == pytest.approx((1 - density) ** (1 + 2 / shape), rel=1e-12)


def test_sending_everything_leaves_nothing() -> None:
    assert STATEMENTS["exponent"].evaluate(kappa=1, p=0.7) == 0.0
    assert STATEMENTS["exponent_discrete"].evaluate(d=7, k=7, p=0.7) == 0.0


@pytest.mark.parametrize("density", [0.001, 0.01, 0.1, 0.5])
def test_the_laplace_law_is_below_the_cubic_bound(density: float) -> None:
    level = math.log(1 / density)
    ratio = 1 - density * (level**2 + 2 * level + 2) / 2
    assert ratio < STATEMENTS["exponent"].evaluate(kappa=density, p=1)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("exponent", {"kappa": 1.1, "p": 2}),
        ("exponent", {"kappa": 0, "p": 2}),
        ("exponent", {"kappa": 0.5, "p": 0}),
        ("exponent_discrete", {"d": 4, "k": 5, "p": 2}),
        ("exponent_discrete", {"d": 4, "k": 2.0, "p": 2}),
        ("exponent_discrete", {"d": 4, "k": 2, "p": -1}),
        ("lorenz", {"d": 4, "q": 0.5}),
        ("lorenz", {"d": 0, "q": 2}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(("count", "dimension"), PAIRS)
@pytest.mark.parametrize("shape", CONTRACTION)
def test_the_two_discrete_bounds_of_the_contraction_family_are_special_cases(
    count: int, dimension: int, shape: Fraction
) -> None:
    assert STATEMENTS["exponent_discrete"].fraction(d=dimension, k=count, p=shape) == ladder.STATEMENTS[
        CONTRACTION[shape]
    ].fraction(d=dimension, k=count)


def test_cubes_by_hand() -> None:
    assert STATEMENTS["exponent_discrete"].fraction(d=2, k=1, p=Fraction(2, 3)) == Fraction(1, 9)
    assert STATEMENTS["exponent_discrete"].fraction(d=3, k=1, p=Fraction(2, 3)) == Fraction(1, 4)


@pytest.mark.parametrize("shape", [0.3, 3.0, 11.0])
@pytest.mark.parametrize(("count", "dimension"), [(1, 2), (2, 4), (5, 40), (30, 200)])
def test_irrational_weights_agree_with_floating_point(shape: float, count: int, dimension: int) -> None:
    powers = [rank ** (2 / shape) for rank in range(1, dimension + 1)]
    value = STATEMENTS["exponent_discrete"].evaluate(d=dimension, k=count, p=shape)
    assert value == pytest.approx(sum(powers[: dimension - count]) / sum(powers), rel=1e-12)


@pytest.mark.parametrize(("rate", "count"), [(Fraction(1, 10**10), 3), (Fraction(1, 3), 1), (2, 3)])
def test_weights_as_steep_as_the_vector_is_long_fall_geometrically(rate: Fraction | int, count: int) -> None:
    """With 2/p = cd the weight of rank i is e^(−ci) of the first: Top-k leaves e^(−ck)."""
    value = STATEMENTS["exponent_discrete"].evaluate(d=10**70, k=count, p=Fraction(2, 10**70) / rate)
    assert value == pytest.approx(math.exp(-float(rate) * count), rel=1e-15)


@pytest.mark.parametrize("shape", [0.25, 0.7, 2, 3, 20])
@pytest.mark.parametrize("dimension", [10, 1000, 10**7])
def test_the_finite_bound_exceeds_its_limit_by_less_than_the_enclosure_allows(shape: float, dimension: int) -> None:
    count = dimension // 10
    finite = STATEMENTS["exponent_discrete"].evaluate(d=dimension, k=count, p=shape)
    limit = STATEMENTS["exponent"].evaluate(kappa=Fraction(1, 10), p=shape)
    power = 2 / shape
    assert 0 < finite - limit < (power + 1) / dimension * 0.9**power


def test_the_bound_of_the_profile_fails_for_a_line_that_ends_one_past_the_last_rank() -> None:
    squares = (2, 1)
    assert tail_ratio(squares, 1) == STATEMENTS["exponent_discrete"].fraction(d=2, k=1, p=2) == Fraction(1, 3)
    assert tail_ratio(squares, 1) > STATEMENTS["exponent"].fraction(kappa=Fraction(1, 2), p=2)


def test_a_lorenz_curve_below_a_power_does_not_make_a_vector_star_shaped() -> None:
    squares = tuple(Fraction(square) for square in (10, 1, 1))
    assert is_below_power(squares, 2)
    assert not is_star_shaped(squares, odd(3))


@pytest.mark.parametrize(
    ("dimension", "power", "expected"),
    [(10, 2, Fraction(33, 100)), (10, 3, Fraction(99, 200)), (1, 4, Fraction(0)), (6, 1, Fraction(0))],
)
def test_gini_bounds_by_hand(dimension: int, power: int, expected: Fraction) -> None:
    assert STATEMENTS["lorenz"].fraction(d=dimension, q=power) == expected


@pytest.mark.parametrize("power", [1, 2, 3, 5])
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_the_increments_of_a_power_attain_the_gini_bound(power: int, dimension: int) -> None:
    increments = tuple(Fraction(rest**power - (rest - 1) ** power) for rest in range(dimension, 0, -1))
    assert gini_index(increments) == STATEMENTS["lorenz"].fraction(d=dimension, q=power)


@pytest.mark.parametrize("power", [1.5, 2.0, 2.5, 4.505])
def test_the_gini_bound_of_many_coordinates_is_that_of_the_power_curve(power: float) -> None:
    value = STATEMENTS["lorenz"].evaluate(d=10**6, q=power)
    assert value == pytest.approx((power - 1) / (power + 1), abs=1e-11)
