import math
from fractions import Fraction

import mpmath
import numpy
import pytest

from sparsync.verify.outcome import Profile
from sparsync.verify.properties import search_margin
from sparsync.verify.sample_checks import (
    BOUNDED_LAWS,
    SAMPLE_SIZE,
    SEED,
    deviations,
    distribution_distance,
    failure_frequency,
    implied_distance_squared,
    law_ratio,
    sample_margin,
    sample_members,
    sample_simulation,
    share_probability,
)

HALF = Fraction(1, 2)


def test_the_ratio_of_a_law_by_hand() -> None:
    # Squares 0, 1, 2 with masses 1/4, 1/2, 1/4: mean 1; the smallest half of the mass holds 1/4.
    assert law_ratio((Fraction(1, 4), HALF, Fraction(1, 4)), HALF) == Fraction(1, 4)
    assert law_ratio((Fraction(1), Fraction(0)), HALF) == 0


def test_the_ratio_of_an_atom_is_linear() -> None:
    assert law_ratio((Fraction(0), Fraction(1)), Fraction(1, 3)) == Fraction(2, 3)


def test_the_distance_of_two_laws_is_the_largest_difference_of_their_sums() -> None:
    assert distribution_distance((HALF, Fraction(0), HALF), (Fraction(0), HALF, HALF)) == HALF


def test_the_distance_is_read_from_the_statement_exactly() -> None:
    assert implied_distance_squared(deviation=Fraction(1, 3), mean_square=HALF) == Fraction(1, 64)


def test_a_coin_needs_nearly_all_of_its_distance() -> None:
    # Masses 1/2 and 1/2 against 51/100: the deviation is 1/51 at κ = 1/2, the distance 1/100.
    margin = sample_margin((HALF, HALF), (Fraction(49, 100), Fraction(51, 100)), 2)
    assert 0 <= margin < Fraction(1, 20)


def test_the_search_comes_near_the_bound() -> None:
    found = search_margin(sample_margin, sample_members(), max_examples=300)
    assert 0 <= found.smallest_margin < Fraction(1, 10)


def test_the_uniform_law_has_the_cubic_ratio() -> None:
    generator = numpy.random.default_rng(SEED)
    squares = numpy.sort(BOUNDED_LAWS["uniform"][0](generator, (1, 100_000)))[0]
    ratio = squares[:70_000].sum() / squares.sum()
    assert ratio == pytest.approx(float(BOUNDED_LAWS["uniform"][2](numpy.array(0.3))), abs=0.01)


def test_deviations_are_those_of_sorted_sums() -> None:
    found = deviations("coin", 3)
    squares = BOUNDED_LAWS["coin"][0](numpy.random.default_rng(SEED), (3, SAMPLE_SIZE))
    ones = squares.sum(axis=1)
    counts = numpy.arange(1, SAMPLE_SIZE + 1)
    expected = [
        max(abs(max(0.0, 1 - count / total) - max(0.0, 1 - 2 * count / SAMPLE_SIZE)) for count in counts)
        for total in ones
    ]
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_number_of_samples_is_limited() -> None:
    assert sample_simulation(Profile(dimensions=(2,), examples_count=10)).detail["samples_count"] == 200


@pytest.mark.parametrize(
    ("dimension", "level", "expected"), [(2, 0.75, 1 / 3), (3, 5 / 9, math.sqrt(5) - 2), (5, 1.5, 1.0)]
)
def test_integrated_probabilities_agree_with_closed_forms(dimension: int, level: float, expected: float) -> None:
    value, error = share_probability(dimension, mpmath.mpf(level))
    assert float(value) == pytest.approx(expected, abs=1e-12)
    assert float(error) < 1e-10


@pytest.mark.parametrize(("dimension", "level"), [(1, 0.75), (2, 0.4)])
def test_a_level_that_two_shares_can_reach_is_refused(dimension: int, level: float) -> None:
    with pytest.raises(ValueError, match="needs dimension"):
        share_probability(dimension, mpmath.mpf(level))


@pytest.mark.parametrize(("dimension", "smallest", "largest"), [(5, 0.07, 0.09), (10, 0.003, 0.009), (20, 0.0, 0.001)])
def test_failures_become_rare_with_the_dimension(dimension: int, smallest: float, largest: float) -> None:
    frequency = failure_frequency(numpy.random.default_rng(SEED), 20_000, dimension=dimension, power=2)
    assert smallest <= frequency <= largest
