from __future__ import annotations

import math

import pytest
import sympy

from sparsync.theory.language.powers import RealPower
from sparsync.theory.language.symbols import kappa
from sparsync.theory.language.symbols import shape as shape_symbol
from sparsync.theory.laws import formulas, weibull_tails
from sparsync.theory.laws.weibull_tails import HEAVY, LIGHT, STATEMENTS

DENSITIES = [1e-12, 0.001, 0.1, 0.5, 0.999, 1]


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize(
    ("prefix", "shape"),
    [
        *(("weibull_gain", shape) for shape in (0.125, 0.5, 1, 1.5, 2)),
        *(("weibull_light_gain", shape) for shape in (2, 3, 16)),
    ],
)
def test_weibull_keeps_an_energy_between_the_bounds(prefix: str, shape: float, density: float) -> None:
    """δ is 1 − ε in floats: 2⁻⁵² of 1 is lost."""
    kept = 1 - formulas.STATEMENTS["weibull_law"].evaluate(kappa=density, shape=shape)
    lower, upper = (STATEMENTS[f"{prefix}_{side}"].evaluate(kappa=density, shape=shape) for side in ("lower", "upper"))
    assert lower - 2**-52 <= kept <= upper + 2**-52


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_bound_is_attained_at_shape_two_and_where_all_is_sent(label: str) -> None:
    """Shape 2: δ = κ(1 + ℓ)."""
    assert STATEMENTS[label].evaluate(kappa=0.01, shape=2) == pytest.approx(0.01 * (1 - math.log(0.01)), rel=1e-15)
    assert STATEMENTS[label].evaluate(kappa=1, shape=2) == 1


def test_laplace_lies_between_two_squares() -> None:
    """Shape 1: δ = κ(1 + ℓ + ℓ²/2) against κ(1 + ℓ²/2) and κ(1 + ℓ/√2)²."""
    log = -math.log(0.01)
    assert STATEMENTS["weibull_gain_lower"].evaluate(kappa=0.01, shape=1) == pytest.approx(0.01 * (1 + log**2 / 2))
    upper = STATEMENTS["weibull_gain_upper"].evaluate(kappa=0.01, shape=1)
    assert upper == pytest.approx(0.01 * (1 + log / math.sqrt(2)) ** 2)


@pytest.mark.parametrize("shape", [0.5, 1.5, 4])
def test_the_bounds_meet_for_small_densities(shape: float) -> None:
    """Their quotient is 1 + O(1/ℓ^min(1, p)), p = 2/a."""
    prefix = "weibull_gain" if shape <= 2 else "weibull_light_gain"
    quotients = [
        STATEMENTS[f"{prefix}_upper"].evaluate(kappa=density, shape=shape)
        / STATEMENTS[f"{prefix}_lower"].evaluate(kappa=density, shape=shape)
        for density in (1e-30, 1e-100, 1e-300)
    ]
    assert quotients == sorted(quotients, reverse=True)
    assert 1 < quotients[-1] < 1.04


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("weibull_gain_lower", {"kappa": 0.5, "shape": 2.5}),
        ("weibull_gain_upper", {"kappa": 0.5, "shape": 2.5}),
        ("weibull_light_gain_lower", {"kappa": 0.5, "shape": 1.5}),
        ("weibull_light_gain_upper", {"kappa": 0.5, "shape": 1.5}),
        ("weibull_gain_lower", {"kappa": 0, "shape": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


def test_the_two_comparisons_turn_at_shape_two_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power below 1 is not accepted for heavy tails, nor one above 1 for light ones."""
    assert weibull_tails._sum_turns(HEAVY) == weibull_tails._linear_turns(HEAVY) == sympy.true
    assert weibull_tails._sum_turns(LIGHT) == weibull_tails._linear_turns(LIGHT) == sympy.true
    monkeypatch.setattr(weibull_tails, "HEAVY", LIGHT)
    assert weibull_tails._sum_turns(LIGHT) == weibull_tails._linear_turns(LIGHT) == sympy.false


def test_a_wrong_constant_fails_at_an_end() -> None:
    bound = weibull_tails._linear_bound()
    assert STATEMENTS["weibull_gain_upper"].bound == sympy.Min(1, bound)
    assert weibull_tails._ends(bound) == sympy.true
    assert weibull_tails._ends(2 * bound) == sympy.false
    assert sympy.simplify(weibull_tails._sum_slope(2 * STATEMENTS["weibull_gain_lower"].bound)) != 0


@pytest.mark.parametrize("factor", [sympy.Rational(1, 2), sympy.Integer(2)])
def test_another_scale_of_the_linear_function_has_another_slope(
    factor: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is 1 at κ = 1 whatever the scale is: only the slope tells."""
    assert sympy.simplify(weibull_tails._linear_slope()) == 0
    root = RealPower(factor * sympy.gamma(1 + 2 / shape_symbol), shape_symbol / 2)
    wrong = kappa * RealPower(1 - sympy.log(kappa) / root, 2 / shape_symbol)
    assert weibull_tails._ends(wrong) == sympy.true
    monkeypatch.setattr(weibull_tails, "_linear_bound", lambda: wrong)
    assert sympy.simplify(weibull_tails._linear_slope()) != 0
