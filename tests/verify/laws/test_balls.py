"""The inequalities between laws in balls: covered, their twins refuted, and where the rungs fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from flint import arb, ctx

from sparsync.theory.language.symbols import mean
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws import balls
from sparsync.verify.laws.balls import (
    NEAR_ONE_CLAIMS,
    Threshold,
    gain_claims,
    mean_reciprocal,
    rung_breaks,
    shifted_level,
    threshold,
)
from sparsync.verify.tools.balls import (
    PRECISION_BITS,
    Positivity,
    ball,
    ball_check,
    cover_count,
    exact_ball,
    is_refuted,
)
from sparsync.verify.tools.outcome import Profile

TINY = Profile(dimensions=(2,), examples_count=20)
CLAIMS = [*balls.RUNG_CLAIMS, *balls.LAPLACE_CLAIMS, *balls.NEAR_ONE_CLAIMS.values()]


def make_wrong(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = STATEMENTS[label].relation
    wrong = relation.func(relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=wrong))


def gain_above_log(z: arb, *, factor: int = 1) -> arb:
    """δ − κ(1 + factor·ℓ) = 2zφ − factor·κℓ."""
    return z * balls.peak(z) + factor * balls.share(z) * balls.share(z).log()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.claim)
def test_every_inequality_is_covered_and_its_twin_refuted(claim: Positivity) -> None:
    assert cover_count(claim.function, claim.box) is not None
    assert is_refuted(claim.false_twin, claim.box)


@pytest.mark.parametrize("level", [Fraction(1, 8), Fraction(1, 2), Fraction(1)])
def test_the_divided_forms_are_the_plain_ones_divided(level: Fraction) -> None:
    """The same point in both forms; the balls are 128 bits wide, of which z³ ≥ 2⁻⁹ costs nine."""
    z = exact_ball(level)
    pairs = (
        (balls.mass_over_level(z) * z, balls.mass(z)),
        (balls.ratio_over_cube(z) * z**3, balls.mass(z) - z * balls.peak(z)),
        (balls.cubic_minus_gaussian_over_cube(z) * z**3, balls.cubic_minus_gaussian(z)),
        (balls.gaussian_minus_laplace_over_cube(z) * z**3, balls.gaussian_minus_laplace(z)),
        (balls.gain_above_log_over_square(z) * z**2, gain_above_log(z)),
        (balls.gain_above_log_over_square(z, factor=2) * z**2, gain_above_log(z, factor=2)),
        (balls.gain_below_log_over_level(z) * z, -gain_above_log(z, factor=2)),
    )
    assert all(divided.overlaps(plain) and abs(divided - plain) < 1e-10 for divided, plain in pairs)


def test_the_mean_reciprocal_contains_its_values() -> None:
    whole = mean_reciprocal(ball(Fraction(0), Fraction(1, 2)))
    assert all(whole.contains(mean_reciprocal(exact_ball(Fraction(n, 8)))) for n in range(5))
    assert mean_reciprocal(exact_ball(Fraction(0))) == 1


@pytest.mark.parametrize(
    ("density", "exponent", "expected"),
    [
        (Fraction(1, 1000), 2, 7.93),
        (Fraction(1, 100), 2, 6.23),
        (Fraction(1, 10), 2, 4.25),
        (Fraction(3, 10), 2, 3.27),
        (Fraction(1, 2), 2, 2.84),
        (Fraction(1, 2), 3, 1.43),
    ],
)
def test_the_rungs_fail_from_the_known_means_on(density: Fraction, exponent: int, expected: float) -> None:
    found = threshold(density, exponent)
    assert 0 < found.upper - found.lower <= balls.ENCLOSURE_WIDTH
    assert round(float(found.lower), 2) == round(float(found.upper), 2) == expected


def test_the_classical_bound_never_fails_and_a_missing_root_is_an_error() -> None:
    assert not rung_breaks(Fraction(16), Fraction(1, 10), 1)
    with pytest.raises(ArithmeticError, match="no change of sign"):
        threshold(Fraction(1, 10), 1)


def test_a_shifted_level_is_enclosed_by_more_digits_than_a_float_has() -> None:
    with ctx.workprec(PRECISION_BITS):
        level = shifted_level(Fraction(5, 2), Fraction(1, 10))
    assert level.rad() < 1e-18
    assert float(level.mid()) == pytest.approx(2.5 + 1.2815515655, rel=1e-7)


def test_a_wrong_shifted_law_disagrees_with_the_enclosures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balls, "THRESHOLD_DENSITIES", (Fraction(1, 10),))
    assert balls.threshold_check(TINY).earned
    bound = STATEMENTS["shifted_gaussian_law"].bound
    make_wrong("shifted_gaussian_law", bound.subs(mean, mean + sympy.Rational(1, 1000)), monkeypatch)
    assert not balls.threshold_check(TINY).earned


def test_ends_are_rounded_outwards() -> None:
    found = Threshold(density=Fraction(1, 2), exponent=2, lower=Fraction(1, 3), upper=Fraction(2, 3))
    assert balls._decimals(found) == ("0.3333333", "0.6666667")


@pytest.mark.parametrize("factor", [sympy.Rational(15, 16), sympy.Rational(17, 16)])
@pytest.mark.parametrize("label", NEAR_ONE_CLAIMS)
def test_a_bound_that_claims_a_sixteenth_too_much_has_no_cover(
    label: str, factor: sympy.Rational, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a lower bound 17/16, of an upper bound 15/16; the other one is weaker and still covered."""
    lower = isinstance(STATEMENTS[label].relation, sympy.GreaterThan)
    make_wrong(label, STATEMENTS[label].bound * factor, monkeypatch)
    assert ball_check(*gain_claims(label))(TINY).earned is ((factor > 1) != lower)
