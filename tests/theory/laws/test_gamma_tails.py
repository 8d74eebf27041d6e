from __future__ import annotations

import math

import mpmath
import pytest
import sympy

from sparsync.theory.language.quantiles import LEVEL
from sparsync.theory.language.symbols import shape
from sparsync.theory.laws import formulas, gamma_tails
from sparsync.theory.laws.gamma_tails import STATEMENTS, density_excess, upper_mass, value_at_infinity

DENSITIES = [1e-6, 0.001, 0.1, 0.5, 0.999]


@pytest.mark.parametrize("order", [0.25, 0.5, 1, 1.5, 6])
@pytest.mark.parametrize("density", DENSITIES)
def test_gamma_keeps_an_energy_between_the_bounds(order: float, density: float) -> None:
    """δ is 1 − ε in floats: 2⁻⁵² of 1 is lost."""
    kept = 1 - formulas.STATEMENTS["gamma_law"].evaluate(kappa=density, shape=order)
    lower, upper = (
        STATEMENTS[f"gamma_gain_{side}"].evaluate(kappa=density, shape=order) for side in ("lower", "upper")
    )
    assert lower - 2**-52 <= kept <= upper + 2**-52


@pytest.mark.parametrize("label", STATEMENTS)
def test_the_laplace_gain_by_hand(label: str) -> None:
    """κ = e⁻³ has ℓ = 3: δ = κ(9 + 6 + 2)/2; gamma with shape 1 is Laplace."""
    numbers = {} if label == "laplace_gain" else {"shape": 1}
    assert STATEMENTS[label].evaluate(kappa=math.exp(-3), **numbers) == pytest.approx(8.5 * math.exp(-3), rel=1e-14)


def test_the_gain_in_the_level_by_hand() -> None:
    """Shape 2: κ = (1 + q)e^(−q), at q = 5 the bounds are κ(25 + 15 + 6 − 8)/6 and κ(25 + 15 + 6)/6; at 2 one is 1."""
    density = 6 * math.exp(-5)
    assert STATEMENTS["gamma_gain_lower"].evaluate(kappa=density, shape=2) == pytest.approx(density * 38 / 6, rel=1e-12)
    assert STATEMENTS["gamma_gain_upper"].evaluate(kappa=density, shape=2) == pytest.approx(density * 46 / 6, rel=1e-12)
    assert STATEMENTS["gamma_gain_upper"].evaluate(kappa=3 * math.exp(-2), shape=2) == 1


@pytest.mark.parametrize("order", [0.5, 3])
def test_the_gain_is_like_the_squared_logarithm(order: float) -> None:
    """q = ℓ + (a−1) ln ℓ + O(1), so the quotient is 1 + 2(a−1) ln ℓ/ℓ + O(1/ℓ), with about a + 3 in place of O(1)."""
    quotients = [
        STATEMENTS["gamma_gain_lower"].evaluate(kappa=math.exp(-log), shape=order)
        * math.exp(log)
        * order
        * (order + 1)
        / log**2
        for log in (20.0, 100.0, 600.0)
    ]
    distances = [abs(quotient - 1) for quotient in quotients]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 2 * abs(order - 1) * math.log(600) / 600 + (order + 3) / 600


@pytest.mark.parametrize(
    ("label", "numbers"), [("gamma_gain_lower", {"kappa": 0, "shape": 1}), ("laplace_gain", {"kappa": 2})]
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize("order", ["0.5", "1", "4"])
def test_the_excess_has_the_sign_of_one_minus_the_shape(order: str) -> None:
    values = [density_excess(sympy.Rational(order)).subs(LEVEL, level).evalf(30) for level in (sympy.Rational(1, 8), 3)]
    assert [mpmath.sign(1 - mpmath.mpf(order))] * 2 == [
        0 if abs(value) < 1e-25 else sympy.sign(value) for value in values
    ]


def test_a_limit_that_is_not_zero_is_noticed() -> None:
    assert value_at_infinity(density_excess(shape)) == 0
    assert value_at_infinity(1 + upper_mass(shape)) == 1


def test_a_wrong_correction_is_neither_bound() -> None:
    bound = STATEMENTS["gamma_gain_lower"].bound
    sides = {"small_shape": sympy.Integer(0), "large_shape": 1 - shape}
    assert gamma_tails._cases(bound, **sides) == sympy.true
    assert gamma_tails._cases(2 * bound, **sides) == sympy.false
    assert gamma_tails._surplus(sympy.Integer(0), gamma_tails._scaled_excess()) != sympy.true
