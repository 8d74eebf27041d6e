from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.laws import formulas, gaussian_tails, stretched_tails
from sparsync.theory.laws.stretched_tails import STATEMENTS

DENSITIES = [1e-12, 0.001, 0.1, 0.5, 0.999]
PREFIX = "generalised_gaussian"
BOUNDS = [
    (f"{PREFIX}_gain_lower", 1, (0.125, 0.75, 1, 1.5, 2)),
    (f"{PREFIX}_gain_upper", -1, (1, 1.25, 2)),
    (f"{PREFIX}_heavy_gain_upper", -1, (0.125, 0.5, 1)),
    (f"{PREFIX}_light_gain_lower", 1, (0.125, 1, 2, 3, 16)),
    (f"{PREFIX}_light_gain_upper", -1, (2, 3, 16)),
]


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize(
    ("label", "sign", "exponent"), [(label, sign, exponent) for label, sign, row in BOUNDS for exponent in row]
)
def test_the_energy_kept_is_on_the_right_side(label: str, sign: int, exponent: float, density: float) -> None:
    """δ is 1 − ε in floats: 2⁻⁵² of 1 is lost."""
    kept = 1 - formulas.STATEMENTS["generalised_gaussian_law"].evaluate(kappa=density, beta=exponent)
    assert sign * (kept - STATEMENTS[label].evaluate(kappa=density, beta=exponent)) >= -(2**-52)


@pytest.mark.parametrize("density", DENSITIES)
def test_exponent_two_gives_the_bounds_of_the_gaussian(density: float) -> None:
    """u = x√2 has a density proportional to e^(−u²/2): q = z²/2 and E[x²] = 1/2."""
    pairs = (
        ("generalised_gaussian_gain_lower", "gaussian_gain_lower"),
        ("generalised_gaussian_gain_upper", "gaussian_gain_upper"),
        ("generalised_gaussian_light_gain_upper", "gaussian_gain_upper"),
    )
    for ours, gaussian in pairs:
        expected = gaussian_tails.STATEMENTS[gaussian].evaluate(kappa=density)
        assert STATEMENTS[ours].evaluate(kappa=density, beta=2) == pytest.approx(expected, rel=1e-14)


def test_exponent_one_is_laplace_by_hand() -> None:
    """κ = e⁻³: the upper bound is the Laplace law, (9 + 6 + 2)/2; the heavy one is (1 + 3/√2)²."""
    density = math.exp(-3)
    upper = STATEMENTS["generalised_gaussian_gain_upper"].evaluate(kappa=density, beta=1)
    heavy = STATEMENTS["generalised_gaussian_heavy_gain_upper"].evaluate(kappa=density, beta=1)
    assert upper == pytest.approx(8.5 * density, rel=1e-14)
    assert heavy == pytest.approx((1 + 3 / math.sqrt(2)) ** 2 * density, rel=1e-14)


@pytest.mark.parametrize(
    ("exponent", "upper", "smallest"),
    [
        (0.5, "heavy_gain_upper", 1e-300),
        (1.5, "gain_upper", 1e-100),
        (4, "light_gain_upper", 1e-100),
    ],
)
def test_the_bounds_meet_for_small_densities(exponent: float, upper: str, smallest: float) -> None:
    lower = "light_gain_lower" if exponent > 2 else "gain_lower"
    quotients = [
        STATEMENTS[f"{PREFIX}_{upper}"].evaluate(kappa=density, beta=exponent)
        / STATEMENTS[f"{PREFIX}_{lower}"].evaluate(kappa=density, beta=exponent)
        for density in (1e-3, 1e-30, smallest)
    ]
    assert quotients == sorted(quotients, reverse=True)
    assert 1 < quotients[-1] < 1.04


def test_the_uniform_gain_is_exact() -> None:
    assert STATEMENTS["uniform_gain"].fraction(kappa=Fraction(1, 10)) == Fraction(271, 1000)
    assert STATEMENTS["uniform_gain"].fraction(kappa=1) == 1


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("generalised_gaussian_gain_lower", {"kappa": 0.5, "beta": 2.5}),
        ("generalised_gaussian_gain_upper", {"kappa": 0.5, "beta": 0.5}),
        ("generalised_gaussian_gain_upper", {"kappa": 0.5, "beta": 2.5}),
        ("generalised_gaussian_heavy_gain_upper", {"kappa": 0.5, "beta": 1.5}),
        ("generalised_gaussian_light_gain_lower", {"kappa": 1.5, "beta": 1.5}),
        ("generalised_gaussian_light_gain_upper", {"kappa": 0.5, "beta": 1.5}),
        ("generalised_gaussian_light_gain_upper", {"kappa": 1, "beta": 3}),
        ("uniform_gain", {"kappa": 0}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize("label", [label for label in STATEMENTS if label != "uniform_gain"])
def test_a_bound_with_another_constant_fails_a_step(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are made from E[u²]: with half of it every derivation must break."""
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(stretched_tails, "SECOND_MOMENT", stretched_tails.SECOND_MOMENT / 2)
    wrong = getattr(stretched_tails, label)()
    assert wrong.unproved_claims() != ()


def test_a_power_above_one_is_above_its_tangent() -> None:
    """What fails for β < 1 in the upper bound: the curvature of 1 − r(1 − v) − v^r is −r(r − 1)v^(r−2)."""
    share = sympy.Symbol("v", positive=True)
    assert sympy.diff(1 - 2 * (1 - share) - share**2, share, 2).is_negative
