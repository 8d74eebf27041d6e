import math
from fractions import Fraction

import mpmath
import pytest
import sympy

from sparsync.theory.language.powers import PowerSum, RealPower, power_sum
from sparsync.theory.language.symbols import d, q

DIGITS = 40


def added_up(count: int, exponent: Fraction) -> mpmath.mpf:
    power = mpmath.mpf(exponent.numerator) / exponent.denominator
    return mpmath.fsum(mpmath.mpf(rank) ** power for rank in range(1, count + 1))


@pytest.mark.parametrize(
    "exponent", [Fraction(1, 100), Fraction(2, 3), Fraction(7, 2), Fraction(81, 2), Fraction(1001, 2)]
)
@pytest.mark.parametrize("count", [2, 999, 1000, 1001, 1500, 4000])
def test_the_sum_of_powers_agrees_with_adding_up(exponent: Fraction, count: int) -> None:
    value = sympy.N(PowerSum(count, sympy.Rational(exponent.numerator, exponent.denominator)), DIGITS)
    with mpmath.workdps(DIGITS + 20):
        assert abs(mpmath.mpf(value) / added_up(count, exponent) - 1) < mpmath.mpf(10) ** (1 - DIGITS)


@pytest.mark.parametrize("exponent", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 5, 1000, 1001, 3000])
def test_integer_powers_are_exact(exponent: int, count: int) -> None:
    assert PowerSum(count, exponent) == sum(rank**exponent for rank in range(1, count + 1))


def test_a_sum_over_ten_million_ranks_needs_no_ten_million_terms() -> None:
    value = float(sympy.N(PowerSum(10**7, sympy.Rational(1, 2)), DIGITS))
    assert value == pytest.approx(21081852648.72015252202851909789, rel=1e-15)
    assert PowerSum(10**7, 3) == (10**7 * (10**7 + 1) // 2) ** 2


@pytest.mark.parametrize("rate", [Fraction(1, 10**10), Fraction(1, 7), 1, 2, 300])
def test_exponents_in_proportion_to_a_long_sum_make_it_geometric(rate: Fraction | int) -> None:
    """(1 − i/n)^(cn) is e^(−ci) up to i²c/n, so that the sum is n^(cn)/(1 − e^(−c)): neighbours must not be rounded."""
    count = 10**70
    exponent = sympy.Rational(rate * count)
    quotient = sympy.N(PowerSum(count - 1, exponent) / PowerSum(count, exponent), DIGITS)
    with mpmath.workdps(DIGITS + 10):
        expected = mpmath.exp(-mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator)
        assert abs(mpmath.mpf(quotient) / expected - 1) < mpmath.mpf(10) ** (1 - DIGITS)


def test_the_formula_after_the_start_would_be_noticed_if_it_were_wrong() -> None:
    with mpmath.workdps(30):
        right = added_up(1200, Fraction(5, 2))
        assert abs(power_sum(1200, mpmath.mpf(5) / 2) / right - 1) < mpmath.mpf(10) ** -28
        assert abs(power_sum(1201, mpmath.mpf(5) / 2) / right - 1) > mpmath.mpf(10) ** -4


@pytest.mark.parametrize("exponent", [sympy.S.NegativeOne, sympy.Rational(-1, 2), sympy.Rational(-1, 3)])
@pytest.mark.parametrize("count", [7, 1000, 1001, 3000])
def test_sums_of_falling_terms_are_right_to_hundreds_of_digits(count: int, exponent: sympy.Rational) -> None:
    with mpmath.workdps(330):
        added = mpmath.fsum(mpmath.mpf(rank) ** (mpmath.mpf(exponent.p) / exponent.q) for rank in range(1, count + 1))
        found = mpmath.mpf(str(sympy.N(PowerSum(count, exponent), 320)))
        assert abs(found / added - 1) < mpmath.mpf(10) ** -318


@pytest.mark.parametrize("count", [10**6, 10**12, 10**300])
def test_a_harmonic_sum_of_any_length_takes_no_time(count: int) -> None:
    logarithm = math.log(count) + 0.5772156649015329
    assert float(sympy.N(PowerSum(count, sympy.S.NegativeOne), DIGITS)) == pytest.approx(logarithm, rel=1e-6)


@pytest.mark.parametrize(("base", "exponent"), [(0.3, 0.7), (0.7, 1 + 2 / 0.7), (0.999, 2000.5), (0.1, 1e-3)])
def test_binary_fractions_have_powers_at_once(base: float, exponent: float) -> None:
    power = RealPower(sympy.Rational(base), sympy.Rational(exponent))
    assert float(sympy.N(power, DIGITS)) == pytest.approx(base**exponent, rel=1e-12)


def test_ends_and_moderate_integers_are_exact() -> None:
    assert RealPower(0, sympy.Rational(1, 3)) == 0
    assert RealPower(1, sympy.pi) == 1
    assert RealPower(sympy.Rational(2, 3), 5) == sympy.Rational(32, 243)
    assert not RealPower(sympy.Rational(2, 3), 10**9).is_Rational


def test_a_power_too_small_for_a_float_is_zero() -> None:
    assert float(sympy.N(RealPower(sympy.Rational(1, 2), 10**300), DIGITS)) == 0.0
    assert math.isfinite(float(sympy.N(RealPower(sympy.Rational(1, 2), 1000), DIGITS)))


def test_both_print_as_what_they_are() -> None:
    assert sympy.latex(PowerSum(d, q)) == r"\sum_{j=1}^{d} j^{q}"
    assert sympy.latex(PowerSum(d, q) ** 2) == r"\left(\sum_{j=1}^{d} j^{q}\right)^{2}"
    assert sympy.latex(RealPower(d, q)) == "d^{q}"
    assert RealPower(d, q).rewrite(sympy.Pow) == d**q
    assert sympy.simplify(PowerSum(d, q).rewrite(sympy.Sum).subs(q, 1).doit() - d * (d + 1) / 2) == 0


def test_symbols_stay_symbols() -> None:
    assert PowerSum(d, q).evalf() == PowerSum(d, q)
    assert RealPower(d, q).evalf() == RealPower(d, q)
