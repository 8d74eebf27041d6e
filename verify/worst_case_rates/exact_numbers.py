"""How does a number of a user's file become a rational? As it is written: 0.1 is 1/10, not the binary number beside it.

A method computes with `Number`, so that mu / smoothness is exact although both were given as whole numbers. What is
irrational, as a square root, is a float there, and again the decimal that Python prints. Ours.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any


class MethodError(ValueError):
    """What a user's method asks for cannot be done; the message names it."""


class Number(Fraction):
    """A fraction whose sums, products and quotients stay exact, and that counts where it is whole (`range(n)`)."""

    __slots__ = ()

    def __index__(self) -> int:
        if self.denominator != 1:
            raise TypeError(f"{self} is no whole number")
        return self.numerator


def _kept(name: str) -> Callable[..., Any]:
    operation = getattr(Fraction, name)

    def keep(*numbers_: Any) -> Any:
        found = operation(*numbers_)
        return Number(found) if type(found) is Fraction else found

    keep.__name__ = name
    return keep


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "mod", "rmod", "pow"):
    setattr(Number, f"__{_name}__", _kept(f"__{_name}__"))
for _name in ("neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", _kept(f"__{_name}__"))


def number(value: object, what: str) -> Number:
    """The rational that a number, or a text such as "1/10" or "1e-3", says.

    Raises:
        MethodError: it says none; `what` names it.
    """
    if isinstance(value, bool):
        raise MethodError(f"{what} must be a number, got {value!r}")
    try:
        if isinstance(value, str | Fraction | int):
            return Number(value)
        if isinstance(value, numbers.Rational):
            return Number(int(value.numerator), int(value.denominator))
        real = float(value)  # type: ignore[arg-type]  # what is no number raises a TypeError
        if math.isfinite(real):
            return Number(repr(real))
    except (TypeError, ValueError, ZeroDivisionError):
        pass
    raise MethodError(f"{what} must be a finite number, got {value!r}")


def text(value: Fraction) -> str:
    """A rational as p/q, as certificates have it."""
    return f"{value.numerator}/{value.denominator}"


def plain(value: Fraction) -> str:
    """A rational as a person writes it: 3, 1/3, or 0.123456 where the fraction would be long."""
    if value.denominator == 1:
        return str(value.numerator)
    return str(Fraction(value)) if value.denominator <= 1000 else f"{float(value):.10g}"
