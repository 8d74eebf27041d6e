"""Which digits of a number are right? It is found twice, with more and more digits, until both agree.

sympy's own search for digits ends where terms cancel within terms, as in (1 + a)/(1 − a) with a = √(1 − δ), and then
returns what it has. Ours.
"""

import sympy

DECIMAL_DIGITS = 40
"""Right digits of an irrational number before it is rounded to a float (17 digits)."""
GUARD_DIGITS = 10
"""Beyond those, in the first attempt; the second adds the digits that tell a number in the expression from others."""
ATTEMPTS_COUNT = 3
"""Each after the second has twice the digits; sympy may take minutes where these are not enough."""
NOTHING = sympy.Rational(1, 10**400)
"""Below this, far below the smallest float, a number counts as 0."""


def number(value: sympy.Expr) -> sympy.Expr:
    """The value itself if it is rational, else as a number of which 40 digits are right; 0 below 10⁻⁴⁰⁰.

    Args:
        value: an expression without symbols.

    Raises:
        ValueError: too many digits cancel.
    """
    if value.is_Rational:
        return value
    first = DECIMAL_DIGITS + GUARD_DIGITS
    second = first + GUARD_DIGITS + _length(value)
    found = _found(value, first)
    for attempt in range(ATTEMPTS_COUNT - 1):
        before, found = found, _found(value, second << attempt)
        if before is not None and found is not None and _agree(before, found):
            return found
    raise ValueError(f"{second << ATTEMPTS_COUNT - 2} digits are not enough")


def sign(value: sympy.Expr) -> int:
    """−1, 0 or 1; 0 also below 10⁻⁴⁰⁰.

    Raises:
        ValueError: see `number`.
    """
    found = number(value)
    return int(sympy.sign(found if found.is_Rational or abs(found) > NOTHING else 0))


def _found(value: sympy.Expr, digits: int) -> sympy.Expr | None:
    """So many digits as sympy sees it; None where a difference that is none yet is divided by."""
    try:
        found = sympy.N(value, digits, maxn=max(400, digits))
    except ZeroDivisionError:
        return None
    return found if found.is_Number or found is sympy.zoo else None


def _agree(one: sympy.Expr, other: sympy.Expr) -> bool:
    if not (one.is_finite and other.is_finite):
        return bool(one == other)
    if abs(one) < NOTHING and abs(other) < NOTHING:
        return True
    return bool(abs(one - other) <= abs(other) * sympy.Rational(1, 10**DECIMAL_DIGITS))


def _length(value: sympy.Expr) -> int:
    """Decimal digits of the longest numerator or denominator in an expression."""
    sizes = (max(abs(atom.p).bit_length(), atom.q.bit_length()) for atom in value.atoms(sympy.Rational))
    return max(sizes, default=0) * 3 // 10
