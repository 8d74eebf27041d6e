"""A number is not taken for right before two precisions agree, however deep the terms lie that cancel."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
import sympy

from sparsync.theory.language import digits
from sparsync.theory.language.binomials import LARGEST_EXACT_CHOICE, LongGamma, kept_short
from sparsync.theory.language.digits import DECIMAL_DIGITS, number, sign
from sparsync.theory.statements import STATEMENTS


def ratio_near(delta: sympy.Rational) -> sympy.Expr:
    """a/(1 − a) at a = √(1 − δ): 2/δ but for the next terms."""
    root = sympy.sqrt(1 - delta)
    return root / (1 - root)


@pytest.mark.parametrize("power", [1, 20, 100, 150, 160, 200, 300])
def test_digits_that_cancel_within_a_term_are_found(power: int) -> None:
    delta = sympy.Rational(1, 10**power)
    with mpmath.workdps(2 * power + 100):
        root = mpmath.sqrt(1 - mpmath.mpf(10) ** -power)
        expected = root / (1 - root)
        found = number(ratio_near(delta))
        assert abs(mpmath.mpf(str(found)) / expected - 1) < mpmath.mpf(10) ** -DECIMAL_DIGITS


def test_a_logarithm_near_one_is_not_taken_for_zero() -> None:
    least = sympy.Rational(1, 10**90)
    assert float(number(sympy.log(1 - least)) / least) == -1.0
    # At few digits this divides by zero.
    assert float(number(least / sympy.log(1 + least))) == 1.0


@pytest.mark.parametrize("exact", [sympy.Integer(0), sympy.Rational(-7, 3), sympy.Integer(10**50)])
def test_a_rational_stays_as_it_is(exact: sympy.Rational) -> None:
    assert number(exact) is exact


def test_infinity_is_a_number_and_what_has_none_is_refused() -> None:
    assert number(sympy.oo) == sympy.oo
    with pytest.raises(ValueError, match="digits are not enough"):
        number(sympy.sqrt(-2) + sympy.pi)


def test_what_two_precisions_do_not_agree_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = iter(range(1, 10))
    monkeypatch.setattr(digits, "_found", lambda *_: sympy.Float(next(attempts)))
    with pytest.raises(ValueError, match="digits are not enough"):
        number(sympy.pi)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (sympy.pi - 3, 1),
        (3 - sympy.pi, -1),
        (sympy.Rational(-1, 10**500), -1),
        (sympy.exp(-(sympy.Integer(10) ** 5)) * sympy.pi, 0),
        (sympy.sqrt(5 + 2 * sympy.sqrt(6)) - sympy.sqrt(2) - sympy.sqrt(3), 0),
    ],
)
def test_signs_are_those_of_the_numbers_or_zero_below_every_float(value: sympy.Expr, expected: int) -> None:
    assert sign(value) == expected


@pytest.mark.parametrize("power", [25, 26, 30, 100, 300])
@pytest.mark.parametrize("label", ["descent_without_bounded_gradients", "stationary_gradient"])
def test_a_step_that_is_too_large_is_refused_for_the_smallest_share_sent(label: str, power: int) -> None:
    """The largest step is 2(1 − a)/(L(1 + a)), about δ/(2L); with terms that cancel it once seemed to be larger."""
    statement, share = STATEMENTS[label], Fraction(1, 10**power)
    others = {"T": 10, "gap": 1, "variance": 1, "second_moment": 1}
    arguments = {name: others[name] for name in others if name in {str(symbol) for symbol in statement.parameters}}
    with pytest.raises(ValueError, match=f"^{label}: .* < 1 is violated by"):
        statement.evaluate(delta=share, smoothness=share, step_size=1, **arguments)
    at_a_quarter = statement.evaluate(delta=share, smoothness=share / 4, step_size=1, **arguments)
    assert 0 < at_a_quarter < 1


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        # For small δ the noise costs ηLσ² and half of the step is left: (1/10 + ηL)/(1/2), ηL = δ/4.
        ("descent_without_bounded_gradients", {"T": 10, "gap": 1, "variance": 1}, 0.2),
        # M = A + √(B M) with A = 1/10, √B = ηLσ·2/δ = 1/2.
        ("nonconvex_rate_minkowski", {"T": 10, "gap": 1, "second_moment": 1}, ((0.5 + 0.65**0.5) / 2) ** 2),
    ],
)
@pytest.mark.parametrize("power", [20, 150, 160, 300])
def test_bounds_have_their_limits_for_the_smallest_shares_sent(
    label: str, numbers: dict[str, object], expected: float, power: int
) -> None:
    share = Fraction(1, 10**power)
    found = STATEMENTS[label].evaluate(delta=share, smoothness=share / 4, step_size=1, **numbers)
    assert found == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "order", [Fraction(1, 3), 5, Fraction(2 * LARGEST_EXACT_CHOICE - 1, 2), 10**6, Fraction(10**9 + 1, 2)]
)
def test_a_long_gamma_is_gamma(order: Fraction) -> None:
    exact = sympy.Rational(order)
    short = kept_short(sympy.gamma(sympy.Symbol("x"))).subs("x", exact)
    assert short.has(LongGamma) == (order >= LARGEST_EXACT_CHOICE)
    with mpmath.workdps(60):
        expected = mpmath.loggamma(mpmath.mpf(order.numerator) / order.denominator)
        assert abs(mpmath.log(mpmath.mpf(str(sympy.N(short, 50)))) / expected - 1) < mpmath.mpf(10) ** -40


def test_the_tail_of_students_law_does_not_multiply_gamma_functions_out() -> None:
    even, odd = (STATEMENTS["student_t_tail_upper"].evaluate(df=df, kappa=0.1) for df in (1e6, 1e6 + 0.5))
    assert even == pytest.approx(odd, rel=1e-6)
