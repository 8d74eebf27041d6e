"""What is a bound of a statement on a ball of its parameters? The sympy expression, evaluated in Arb.

Whole subexpressions may be given: a quantile is replaced by the level that it stands for, so that nothing is inverted.
The same walk gives balls and power series of balls. Ours; Arb: Johansson 2017, through python-flint.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy
from flint import arb

from sparsync.verify.tools.balls import exact_ball

Value = Any
"""An arb or an arb_series; python-flint's annotations do not relate the two."""
Known = Mapping[sympy.Expr, Value]
"""Subexpressions and their values."""


def ball_value(expression: sympy.Expr, known: Known) -> Value:
    """The expression where each known subexpression has its value.

    Raises:
        ValueError: a symbol without a value, or a function that is not translated.
    """
    if expression in known:
        return known[expression]
    if expression.is_Rational:
        return exact_ball(Fraction(int(expression.p), int(expression.q)))
    if expression is sympy.pi:
        return arb.pi()
    translation = next((_TRANSLATIONS[kind] for kind in _TRANSLATIONS if isinstance(expression, kind)), None)
    if translation is None:
        raise ValueError(f"no ball for {expression}")
    return translation(expression, known)


def _power(expression: sympy.Expr, known: Known) -> Value:
    """x^a: a product for an integer a, a power of the root for a half of one.

    Raises:
        ValueError: any other exponent.
    """
    base, exponent = expression.args
    if not (exponent.is_Rational and exponent.q in (1, 2)):
        raise ValueError(f"no ball for {expression}")
    value = ball_value(base, known)
    return (value if exponent.q == 1 else value.sqrt()) ** int(exponent.p)


def _function(name: str) -> Callable[[sympy.Expr, Known], Value]:
    """A function of one argument that Arb has under this name."""
    return lambda expression, known: getattr(ball_value(expression.args[0], known), name)()


_TRANSLATIONS: dict[type, Callable[[sympy.Expr, Known], Value]] = {
    sympy.Add: lambda expression, known: reduce(
        lambda left, right: left + right, (ball_value(part, known) for part in expression.args)
    ),
    sympy.Mul: lambda expression, known: reduce(
        lambda left, right: left * right, (ball_value(part, known) for part in expression.args)
    ),
    sympy.Pow: _power,
    sympy.exp: _function("exp"),
    sympy.log: _function("log"),
    sympy.erf: _function("erf"),
}
