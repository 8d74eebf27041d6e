from dataclasses import replace
from fractions import Fraction

import numpy
import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.sample_moments import (
    CHECKS,
    SEED,
    SPIKE_LAWS,
    Spikes,
    gaussian_deviations,
    gaussian_simulation,
    implied_squared_slope,
    root_variance_integral,
    spike_margin,
    squared_slope,
    vector_ratio,
)
from sparsync.verify.tools.outcome import Profile

SMALL = Profile(dimensions=(2,), examples_count=50)
HALF = Fraction(1, 2)


def test_a_law_of_spikes_by_hand() -> None:
    law = Spikes(size=4, chance=Fraction(1, 8), height=Fraction(4))
    # Mean 3/2 and mean square 7/8 + 25/8 = 4; one spike leaves 3 of 8; the law leaves 3/4 of 1 out of 3/2 at κ = 1/4.
    assert law.kurtosis() == Fraction(16, 9)
    assert law.single_deviation() == HALF - Fraction(3, 8)
    # 4 · (1/8) · (7/8)^3 = 0.335 is at least 0.3125.
    assert law.single_chance() == Fraction(5, 16)


@pytest.mark.parametrize(("size", "chance"), [(4, HALF), (5, Fraction(1, 8))])
def test_frequent_spikes_and_sizes_that_are_no_square_are_refused(size: int, chance: Fraction) -> None:
    with pytest.raises(ValueError, match="square size"):
        Spikes(size=size, chance=chance, height=Fraction(1)).single_deviation()


def test_rare_spikes_nearly_attain_the_bound() -> None:
    margins = [spike_margin(law) for law in SPIKE_LAWS]
    assert 0 <= min(margins) < Fraction(1, 64)


def test_the_integral_of_the_standard_deviation_of_the_distribution_function() -> None:
    # 2.2010605, by quadrature in another precision and another variable.
    value = root_variance_integral()
    assert abs(float(value.mid()) - 2.2010605248480995) < 1e-10
    assert float(value.rad()) < 1e-10


def test_the_ratio_of_a_vector_by_hand() -> None:
    assert vector_ratio((1, 3, 2), 1) == Fraction(5, 14)


def test_the_slope_between_orthogonal_vectors_by_hand() -> None:
    # (1, 1) and (1, 0): ratios 1/2 and 0, and the sine of 45° squared is 1/2.
    assert squared_slope((1, 1), (1, 0), 1) == HALF
    assert squared_slope((1, 2), (2, 4), 1) == 0


def test_almost_equal_coordinates_have_almost_the_largest_slope() -> None:
    assert Fraction(99, 100) < squared_slope((64, 63), (64, 62), 1) < 1


def test_the_slope_is_read_from_the_bound() -> None:
    assert implied_squared_slope() == pytest.approx(1.0, abs=1e-15)


def test_one_gaussian_deviation_by_hand() -> None:
    found = gaussian_deviations(numpy.random.default_rng(SEED), 1, 1)
    # At k = d = 1 nothing is left, of the sample and of the law.
    assert found.tolist() == [0.0]


def test_the_bound_is_loose_by_less_than_eight() -> None:
    detail = gaussian_simulation(SMALL).detail
    assert 3 < float(str(detail["bound_over_mean"])) < 5
    factors = detail["bound_over_quantile"]
    assert isinstance(factors, list)
    assert all(4 < factor < 8 for factor in factors)


@pytest.mark.parametrize(
    ("label", "grade", "factor"),
    [
        ("moment_sample_ratio", "rational", sympy.Rational(15, 16)),
        ("gaussian_sample_ratio", "ball", sympy.Rational(15, 16)),
        ("gaussian_sample_ratio", "property", sympy.Rational(15, 16)),
        ("gaussian_sample_ratio", "simulated", sympy.Rational(1, 8)),
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
