"""Which number of a method makes its rate least? A bracketed search, which finds the best where there is one valley."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from scipy.optimize import minimize_scalar

from sparsync.verify.worst_case_rates.answers import Asked, rate_alone
from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.method_file import read_method

REACH = 4
"""The bracket is from the given number over this to the number times this."""
SHARE = 1e-5
"""Of the bracket, to within which the best number is found: a rate is flat there."""
DIGITS = 6
"""Significant digits of the best number."""
WORST = 1e6
"""What stands for no rate, which a search cannot compare."""


def best_number(
    text: str,
    changes: Mapping[str, str],
    name: str,
    asked: Asked,
    between: Sequence[Fraction] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Fraction:
    """The value of a number at which the rate is least, to `DIGITS` digits.

    Args:
        text: names the method's file.
        changes: numbers that are set.
        name: of the number that is sought.
        asked: the rate of what.
        between: the bracket.
        advance: is called after each value.

    Raises:
        MethodError: there is no such number, the bracket is none, or the method has no rate in it.
    """
    method = read_method(text, changes)
    if name not in method.numbers:
        raise MethodError(f"{method.name} has no number {name} to optimise; it has {', '.join(method.numbers)}")
    given = method.numbers[name]
    if between is None and given <= 0:
        raise MethodError(f"--optimise {name} needs --between LOW HIGH, because {name} is {given}")
    low, high = (given / REACH, given * REACH) if between is None else between
    if not low < high:
        raise MethodError(f"--between needs LOW < HIGH, got {low} and {high}")

    def rate(value: float) -> float:
        own = read_method(text, {**changes, name: repr(float(value))})
        found = min(rate_alone(own, asked), WORST)
        advance()
        return found

    width = float(high - low)
    found = minimize_scalar(rate, bounds=(float(low), float(high)), method="bounded", options={"xatol": SHARE * width})
    if found.fun >= WORST:
        raise MethodError(f"{method.name} has no rate for {name} between {float(low):g} and {float(high):g}")
    return Fraction(f"{found.x:.{DIGITS}g}")
