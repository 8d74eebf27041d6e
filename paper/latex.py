"""How do numbers and words from result files read in LaTeX? One small function per kind of value.

Each returns text that may stand in a sentence or in a formula; numbers ensure mathematics mode, so that a minus sign is
a minus sign. Used by `numbers.py`.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # These three are other signs in the default encoding of text.
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_MEGABYTE, _KILOBYTE = 1e6, 1e3


def escape(text: str) -> str:
    """Text in which no character has a meaning to LaTeX."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def decimal(value: float, digits: int) -> str:
    """A number with so many digits after the point: -0.25; a rounded zero has no sign.

    Raises:
        ValueError: not a finite number.
    """
    return mathematics(_rounded(value, digits))


def signed(value: float, digits: int) -> str:
    """A difference, its sign always shown unless it rounds to zero: +0.25.

    Raises:
        ValueError: not a finite number.
    """
    rounded = _rounded(value, digits)
    return mathematics(f"+{rounded}" if float(rounded) > 0 else rounded)


def percent(share: float, digits: int = 1) -> str:
    """A share of one as a percentage, without the sign: 0.805 is 80.5.

    Raises:
        ValueError: not a finite number.
    """
    return decimal(100 * share, digits)


def integer(value: int) -> str:
    """A whole number in groups of three digits, split by thin spaces; four digits stay together."""
    return mathematics(str(value) if abs(value) < 10_000 else f"{value:,}".replace(",", r"\,"))


def shortest(value: float) -> str:
    """A number as it was set: 0.1, not 0.10.

    Raises:
        ValueError: not a finite number.
    """
    if not isfinite(value):
        raise ValueError(f"a number must be finite, got {value}")
    return mathematics(f"{value:g}")


def scientific(value: float) -> str:
    """A number with three significant digits at most, and a power of ten: 2.56 · 10⁷.

    Raises:
        ValueError: not a finite number.
    """
    if not isfinite(value):
        raise ValueError(f"a number must be finite, got {value}")
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    power = f"10^{{{int(exponent)}}}"
    return mathematics(power if float(mantissa) == 1 else f"{float(mantissa):g}\\cdot {power}")


def size(byte_count: float) -> str:
    """A size in kB or MB (powers of ten) with three significant digits.

    Raises:
        ValueError: not a finite number.
    """
    if not isfinite(byte_count):
        raise ValueError(f"a size must be finite, got {byte_count}")
    unit, scale = ("MB", _MEGABYTE) if byte_count >= _MEGABYTE else ("kB", _KILOBYTE)
    scaled = byte_count / scale
    digits = max(0, 3 - len(str(int(scaled))))
    return f"{mathematics(f'{scaled:.{digits}f}')}\\,{unit}"


def fraction(text: str) -> str:
    """A rational number as written in the ledger, "5/9".

    Raises:
        ValueError: not a rational number.
    """
    value = Fraction(text)
    return mathematics(str(value))


def mathematics(formula: str) -> str:
    """A formula that brings its own mathematics mode where there is none."""
    return f"\\ensuremath{{{formula}}}"


def _rounded(value: float, digits: int) -> str:
    if not isfinite(value):
        raise ValueError(f"a number must be finite, got {value}")
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text
