"""For which numbers does a statement just admit a run? Its assumptions, solved for the numbers in them. Ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isqrt

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.statements import STATEMENTS

Number = Fraction | float | int
_SCALE = 2**40

MEANINGS: tuple[tuple[str, str, Callable[[Number], Number]], ...] = (
    ("kept_back", "delta", lambda delta: 1 - delta),
    ("kept_back", "epsilon", lambda epsilon: epsilon),
    ("second_moment", "second_moment", lambda moment: moment),
    ("variance", "variance", lambda variance: variance),
    ("heterogeneity", "heterogeneity", lambda heterogeneity: heterogeneity),
    ("dissimilarity", "dissimilarity", lambda dissimilarity: dissimilarity),
)
"""The name of an assumption, the parameter in it, and what a run has of what is bounded, by this parameter."""


def admitting(label: str, numbers: Mapping[str, Number]) -> dict[str, Number]:
    """The numbers with which a statement just admits a run, from those that the run has.

    A run keeps back 1 − δ and has gradients of some second moment; where the statement assumes as much of a contraction
    with δ and of that moment, as it should, the numbers are those of the run. A statement that assumes less admits the
    run with other numbers, at which its bound must still hold.

    Args:
        label: of the statement.
        numbers: its parameters, as the run has them.

    Raises:
        ValueError: an assumption is not linear in its parameter.
    """
    assumed = {given.name: given.right for given in STATEMENTS[label].assumptions if isinstance(given, Given)}
    solved = dict(numbers)
    for name, parameter, meaning in MEANINGS:
        if name in assumed and parameter in numbers:
            solved[parameter] = _solved(assumed[name], parameter, meaning(numbers[parameter]))
    return solved


def bound_at(label: str, numbers: Mapping[str, Number]) -> Fraction:
    """The bound at the numbers with which the statement just admits a run; a float's value where it is irrational."""
    admitted = admitting(label, numbers)
    value = STATEMENTS[label].exact(**admitted)
    return _fraction(value) if value.is_Rational else Fraction(STATEMENTS[label].evaluate(**admitted))


def _solved(right: sympy.Expr, parameter: str, value: Number) -> Number:
    """The number at which an expression that is linear in its only parameter has this value."""
    symbols = [symbol for symbol in right.free_symbols if symbol.name == parameter]
    if right.free_symbols != set(symbols) or sympy.degree(right, symbols[0]) != 1:
        raise ValueError(f"{right} is not linear in {parameter} alone")
    at_zero, at_one = (_fraction(right.subs(symbols[0], number)) for number in (0, 1))
    return (value - at_zero) / (at_one - at_zero)


def substituted(right: sympy.Expr, numbers: Mapping[str, Fraction]) -> Fraction:
    """An expression at numbers, by the names of its symbols, where it is rational.

    Raises:
        ValueError: it is not.
    """
    value = right.subs({symbol: sympy.Rational(str(numbers[symbol.name])) for symbol in right.free_symbols})
    if not value.is_Rational:
        raise ValueError(f"{right} is irrational at {dict(numbers)}")
    return _fraction(value)


def rational_root(square: Fraction) -> Fraction:
    """√x where that is rational, else rounded down to a multiple of 2⁻⁴⁰."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else Fraction(isqrt(int(square * _SCALE**2)), _SCALE)


def _fraction(number: sympy.Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))
