import math
from dataclasses import replace
from fractions import Fraction

import numpy
import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.samples import (
    BOUNDED_LAWS,
    CHECKS,
    SAMPLE_SIZE,
    SEED,
    deviations,
    distribution_distance,
    largest_deviation,
    largest_tail_area,
    law_margin,
    law_members,
    law_queries,
    law_ratio,
    sample_margin,
    sample_members,
    sample_simulation,
)
from sparsync.verify.tools.outcome import Profile
from sparsync.verify.tools.properties import search_margin
from sparsync.verify.tools.smt import decide

SMALL = Profile(dimensions=(2,), examples_count=100)
HALF, QUARTER, NONE = Fraction(1, 2), Fraction(1, 4), Fraction(0)


def test_the_ratio_of_a_law_by_hand() -> None:
    # Squares 0, 1, 2 with masses 1/4, 1/2, 1/4: mean 1; the smallest half of the mass holds 1/4.
    assert law_ratio((QUARTER, HALF, QUARTER), HALF) == QUARTER
    assert law_ratio((Fraction(1), NONE), HALF) == 0


def test_the_ratio_of_an_atom_is_linear() -> None:
    assert law_ratio((NONE, Fraction(1)), Fraction(1, 3)) == Fraction(2, 3)


def test_the_distance_of_two_laws_is_the_largest_difference_of_their_sums() -> None:
    assert distribution_distance((HALF, NONE, HALF), (NONE, HALF, HALF)) == HALF


def test_areas_of_opposite_sign_do_not_add_up() -> None:
    # F − G is 1/4 on [0, 1) and −1/4 on [1, 2): ∫|F − G| is 1/2, either part has the area 1/4.
    assert largest_tail_area((QUARTER, HALF, QUARTER), (NONE, Fraction(1), NONE)) == QUARTER


def test_the_largest_deviation_by_hand() -> None:
    # Coins with P(v = 1) = 1/2 and 1/4: at κ = 1/4 the ratios are 1/2 and 0.
    assert largest_deviation((HALF, HALF), (Fraction(3, 4), QUARTER)) == HALF


def test_two_coins_attain_the_distance() -> None:
    assert law_margin((HALF, HALF), (Fraction(3, 4), QUARTER)) == 0
    assert law_margin((Fraction(3, 4), QUARTER), (HALF, HALF)) > 0


def test_the_search_for_laws_attains_the_bound() -> None:
    assert search_margin(law_margin, law_members(), max_examples=100).smallest_margin == 0


def test_the_solvers_decide_both_directions() -> None:
    assert [decide(query) for query in law_queries()] == [True] * 4


def test_a_coin_needs_all_of_its_distance() -> None:
    # Masses 1/2 and 1/2 against 49/100 and 51/100: the deviation is 1/51 at κ = 1/2, the distance 1/100.
    assert sample_margin((HALF, HALF), (Fraction(49, 100), Fraction(51, 100)), 2) == 0


def test_a_margin_is_the_logarithm_of_the_bound_over_the_probability() -> None:
    # Squares 0, 1, 2: the sample is 1 twice, the law 0 or 2. Ratios at k = 1 are 1/2 and 0, the distance is 1/2,
    # so with v̄ = 1/2 the exponents are 2·2·(1/4)² = 1/4 and 2·2·(1/2)² = 1: min(1, 2e^(−1/4)) is 1.
    margin = sample_margin((NONE, Fraction(1), NONE), (HALF, NONE, HALF), 2)
    assert margin == pytest.approx(1 - math.log(2), abs=1e-15)


def test_the_search_for_samples_attains_the_bound() -> None:
    assert search_margin(sample_margin, sample_members(), max_examples=100).smallest_margin == 0


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


def test_coins_deviate_as_often_as_their_binomial_law_says() -> None:
    # More than x below p means fewer than (1 − x)pd ones, x above it more than pd/(1 − x).
    deviation = math.sqrt(math.log(4.0) / (2 * SAMPLE_SIZE)) / 0.5
    few, many = (1 - deviation) * SAMPLE_SIZE / 2, SAMPLE_SIZE / 2 / (1 - deviation)
    outside = sum(math.comb(SAMPLE_SIZE, ones) for ones in range(SAMPLE_SIZE + 1) if ones <= few or ones >= many)
    expected = outside / 2**SAMPLE_SIZE
    found = float(numpy.mean(deviations("coin", 4000) >= deviation))
    assert found == pytest.approx(expected, abs=5 * math.sqrt(expected / 4000))


def test_the_number_of_samples_is_limited() -> None:
    assert sample_simulation(Profile(dimensions=(2,), examples_count=10)).detail["samples_count"] == 200


@pytest.mark.parametrize(
    ("label", "grade", "factor"),
    [
        ("law_distance", "smt", sympy.Rational(15, 16)),
        ("law_distance", "property", sympy.Rational(15, 16)),
        ("sample_ratio", "property", sympy.Rational(15, 16)),
        ("sample_ratio", "simulated", sympy.Rational(1, 16)),
    ],
)
def test_a_smaller_bound_loses_the_grade(
    label: str, grade: str, factor: sympy.Rational, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = STATEMENTS[label]
    check = next(check for name, check in CHECKS[label].items() if name == grade)
    assert check(SMALL).earned
    wrong = sympy.Le(right.relation.lhs, factor * right.bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(right, relation=wrong))
    assert not check(SMALL).earned
