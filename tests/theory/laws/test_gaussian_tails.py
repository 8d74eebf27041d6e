from __future__ import annotations

import math

import pytest
import sympy

from sparsync.theory.language.quantiles import LEVEL
from sparsync.theory.laws import formulas, gaussian_tails
from sparsync.theory.laws.gaussian_tails import PEAK, STATEMENTS, TAIL, is_nonnegative

DENSITIES = [1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.999999]


def kept(density: float) -> float:
    return 1 - formulas.STATEMENTS["gaussian_law"].evaluate(kappa=density)


@pytest.mark.parametrize("density", [density for density in DENSITIES if density >= 1e-3])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [("gaussian_gain_lower", "gaussian_gain_upper"), ("gaussian_log_gain_lower", "gaussian_log_gain_upper")],
)
def test_the_energy_kept_lies_between_its_bounds(lower: str, upper: str, density: float) -> None:
    """δ from the law is 1 − ε in floats, so its last digits are lost: 2⁻⁵² of 1."""
    bounds = [STATEMENTS[label].evaluate(kappa=density) for label in (lower, upper)]
    assert bounds[0] <= kept(density) + 2**-52
    assert kept(density) <= bounds[1] + 2**-52


@pytest.mark.parametrize("density", DENSITIES)
def test_the_two_gains_in_the_level_differ_by_one_where_the_larger_is_a_share(density: float) -> None:
    upper, lower = (STATEMENTS[f"gaussian_gain_{side}"].evaluate(kappa=density) for side in ("upper", "lower"))
    assert upper == pytest.approx(min(1, lower + density), rel=1e-6)


def test_hand_computed_bounds_at_one_in_a_thousand() -> None:
    """z = 3.290527, z² = 10.827566; ln 1000 = 6.907755."""
    values = {label: STATEMENTS[label].evaluate(kappa=0.001) for label in STATEMENTS}
    assert values["gaussian_gain_lower"] == pytest.approx(0.011827566, rel=1e-7)
    assert values["gaussian_gain_upper"] == pytest.approx(0.012827566, rel=1e-7)
    assert values["gaussian_log_gain_lower"] == pytest.approx(0.001 + 0.006907755, rel=1e-7)
    assert values["gaussian_log_gain_upper"] == pytest.approx(0.001 + 0.013815511, rel=1e-7)


def test_everything_sent_is_everything_kept() -> None:
    values = [statement.evaluate(kappa=1) for statement in STATEMENTS.values()]
    assert values == [1, 1, 1, 1]


def test_the_gain_is_like_twice_the_logarithm() -> None:
    quotients = [
        STATEMENTS["gaussian_gain_lower"].evaluate(kappa=10.0**power) / (2 * math.log(10) * -power * 10.0**power)
        for power in (-10, -30, -100, -300)
    ]
    assert quotients == sorted(quotients)
    assert 0.98 < quotients[-1] < 1


@pytest.mark.parametrize("density", [0, 1.5, -0.1])
@pytest.mark.parametrize("label", STATEMENTS)
def test_densities_outside_the_unit_interval_are_refused(label: str, density: float) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(kappa=density)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (PEAK / (2 * LEVEL) - TAIL, PEAK / LEVEL - TAIL),
        (TAIL - PEAK / LEVEL, TAIL - PEAK * LEVEL / (1 + LEVEL**2)),
        (PEAK / LEVEL - TAIL + 1, PEAK / LEVEL - TAIL),
    ],
)
def test_a_wrong_mills_bound_does_not_fall_to_zero(wrong: sympy.Expr, right: sympy.Expr) -> None:
    assert gaussian_tails._decreases_to_zero(right) == sympy.true
    assert gaussian_tails._decreases_to_zero(wrong) == sympy.false


@pytest.mark.parametrize("factor", [1, 2])
def test_a_wrong_offset_of_the_slope_is_noticed(factor: int) -> None:
    right = {1: LEVEL**2, 2: (1 + LEVEL**2) / 2}
    assert sympy.simplify(gaussian_tails._log_slope(factor, right[factor])) == 0
    assert sympy.simplify(gaussian_tails._log_slope(factor, right[3 - factor])) != 0


def test_signs_are_decided_by_assumptions_only() -> None:
    assert is_nonnegative(LEVEL**2 + 1) == sympy.true
    assert is_nonnegative(LEVEL - 1) == sympy.false
