from __future__ import annotations

import math

import pytest
import sympy

from sparsync.theory.language.quantiles import RegularisedBeta
from sparsync.theory.laws import formulas, heavy_tails
from sparsync.theory.laws.heavy_tails import SHARE, STATEMENTS

DENSITIES = [0.001, 0.1, 0.5, 0.999, 1]


@pytest.mark.parametrize("df", [2.0625, 3, 4, 30])
@pytest.mark.parametrize("density", DENSITIES)
def test_student_keeps_an_energy_between_the_bounds(df: float, density: float) -> None:
    """δ is 1 − ε in floats: 2⁻⁵² of 1 is lost."""
    kept = 1 - formulas.STATEMENTS["student_t_law"].evaluate(kappa=density, df=df)
    lower, upper = (STATEMENTS[f"student_t_tail_{side}"].evaluate(kappa=density, df=df) for side in ("lower", "upper"))
    assert lower - 2**-52 <= kept <= upper + 2**-52


def test_student_with_four_degrees_has_the_constant_by_hand() -> None:
    """B(2, 1/2) = 4/3, so C = 4(8/3)^(−1/2) = √6 and δ ≤ √(6κ)."""
    upper, lower = (STATEMENTS[f"student_t_tail_{side}"].evaluate(kappa=0.01, df=4) for side in ("upper", "lower"))
    assert upper == pytest.approx(math.sqrt(0.06), rel=1e-15)
    assert lower == pytest.approx(math.sqrt(0.06) * (1 - math.sqrt(0.01 * 8 / 3)), rel=1e-15)


def test_the_student_bounds_meet_for_small_densities() -> None:
    quotients = [
        STATEMENTS["student_t_tail_lower"].evaluate(kappa=density, df=5)
        / STATEMENTS["student_t_tail_upper"].evaluate(kappa=density, df=5)
        for density in (1e-3, 1e-6, 1e-12, 1e-100)
    ]
    assert quotients == sorted(quotients)
    assert quotients[-1] == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("student_t_tail_upper", {"kappa": 0.5, "df": 2}),
        ("student_t_tail_lower", {"kappa": 2, "df": 5}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


def test_binary_fractions_to_binary_fractions_are_computed_at_once() -> None:
    """Floats whose numerators have several small factors: a plain rational power would not end."""
    assert 0 < STATEMENTS["student_t_tail_upper"].evaluate(kappa=0.0123, df=5.37) < 1


@pytest.mark.parametrize("factor", [1, 2])
def test_a_tail_bound_with_a_wrong_constant_does_not_grow(factor: int) -> None:
    def surplus(order: sympy.Expr) -> sympy.Expr:
        bound = factor * SHARE**order / (order * heavy_tails._beta(order))
        return RegularisedBeta(order, sympy.Rational(1, 2), SHARE) - bound

    assert heavy_tails._grows(surplus) == (sympy.true if factor == 1 else sympy.false)
