from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from flint import arb, arb_series, ctx

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.symbols import kappa
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws.equations import EQUATIONS, equation_check, interval_count
from sparsync.verify.tools.ball_expressions import ball_value
from sparsync.verify.tools.balls import exact_ball
from sparsync.verify.tools.outcome import Profile

TINY = Profile(dimensions=(2,), examples_count=20)


@pytest.mark.parametrize("label", EQUATIONS)
def test_every_law_solves_its_equation(label: str) -> None:
    assert equation_check(TINY, label=label).earned


@pytest.mark.parametrize("label", EQUATIONS)
def test_a_law_wrong_by_a_relative_or_absolute_hundred_billionth_does_not(label: str) -> None:
    """10⁻¹¹ is far above the tolerance 2⁻⁵⁰ = 9·10⁻¹⁶; a constant is noticed at level 0 only."""
    small, bound = sympy.Rational(1, 10**11), STATEMENTS[label].bound
    assert interval_count(EQUATIONS[label], bound * (1 + small)) is None
    assert interval_count(EQUATIONS[label], bound + small) is None


def test_the_precision_and_the_length_of_series_are_left_as_they_were() -> None:
    before = ctx.cap, ctx.prec
    interval_count(EQUATIONS["uniform_law"], STATEMENTS["uniform_law"].bound)
    assert (ctx.cap, ctx.prec) == before


def test_a_bound_is_evaluated_on_balls_as_on_numbers() -> None:
    x, y = sympy.symbols("x y")
    expression = sympy.sqrt(2 / sympy.pi) * sympy.exp(-(x**2)) * sympy.log(y) / y - sympy.erf(x) + sympy.Rational(1, 3)
    numbers = {x: Fraction(3, 4), y: Fraction(5, 2)}
    value = ball_value(expression, {symbol: exact_ball(number) for symbol, number in numbers.items()})
    expected = expression.subs({x: sympy.Rational(3, 4), y: sympy.Rational(5, 2)}).evalf(30)
    assert value.contains(arb(str(expected))) or abs(value - arb(str(expected))) < 1e-13
    assert value.rad() < 1e-13


def test_whole_subexpressions_are_replaced_and_series_are_followed() -> None:
    level = arb_series([arb(2), arb(1)])
    square = ball_value(NormalQuantile(kappa) ** 2, {NormalQuantile(kappa): level})
    assert [square[power] for power in range(3)] == [4, 4, 1]


@pytest.mark.parametrize("expression", [kappa, sympy.gamma(sympy.Symbol("x")), kappa ** sympy.Rational(1, 3)], ids=str)
def test_what_has_no_ball_is_refused(expression: sympy.Expr) -> None:
    with pytest.raises(ValueError, match="no ball"):
        ball_value(expression, {})
