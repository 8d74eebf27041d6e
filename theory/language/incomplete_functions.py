"""The regularised incomplete gamma and beta functions of mpmath numbers, at any order that a law needs. Ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import mpmath
from mpmath.libmp import NoConvergence

SHORT_SERIES = 4
"""A series counts as short if it has so many terms per bit, or fewer."""
LARGEST_ORDER = 10**9
"""Above it the series of an incomplete gamma function are given up by mpmath, some after long."""
LARGEST_BETA_ORDER = 10**30
"""Likewise of an incomplete beta function, which takes seconds where both its order and its digits are many."""
LARGEST_TERM_COUNT = 10**6
"""Terms after which a series or a continued fraction is given up."""


def gamma(argument: mpmath.mpf) -> mpmath.mpf:
    """Γ(a) at the working precision."""
    return _remembered(mpmath.gamma, (argument,), mpmath.mp.prec)


@lru_cache(maxsize=256)
def _remembered(function: Callable[..., mpmath.mpf], arguments: tuple[mpmath.mpf, ...], bits: int) -> mpmath.mpf:
    """A search for a level asks for the same constants again and again."""
    with mpmath.workprec(bits):
        return function(*arguments)


def regularised_gamma(order: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """P(a, x) at the working precision; above the mean from its complement, where the series of P may not converge.

    Raises:
        NoConvergence: no series ends, or so large an order is not tried.
    """
    if level > order + 1:
        return 1 - gamma_tail(order, level)
    # Far below the mean the series is short at any order.
    if 2 * level > order:
        _require_small(order)
    return mpmath.gammainc(order, 0, level, regularized=True)


def gamma_tail(order: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """Q(a, x) = 1 − P(a, x) at the working precision, without cancellation where it is small.

    Raises:
        NoConvergence: see `regularised_gamma`.
    """
    _require_small(order)
    if level > order + 1:
        return mpmath.gammainc(order, level, mpmath.inf) / gamma(order)
    # Below the mean Q is at least a 32nd, or of that order times a small a: so many bits cancel.
    with mpmath.extraprec(5 + max(0, -mpmath.frexp(order)[1])):
        return 1 - mpmath.gammainc(order, 0, level, regularized=True)


def _require_small(order: mpmath.mpf) -> None:
    if order > LARGEST_ORDER:
        raise NoConvergence(f"an incomplete gamma function of order above {LARGEST_ORDER}")


def regularised_beta(first: mpmath.mpf, second: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """I_y(a, b) at the working precision, a few times as many operations as bits.

    Above the mean its series may be long: then from the complement, I_y(a, b) = 1 − I_(1−y)(b, a).

    Raises:
        NoConvergence: neither ends, or so large an order is not tried.
    """
    if max(first, second) > LARGEST_BETA_ORDER:
        raise NoConvergence(f"an incomplete beta function of order above {LARGEST_BETA_ORDER}")
    if level * (first + second + 2) > first + 1 and not _is_short(first, second, level):
        return 1 - _lower_beta(second, first, 1 - level) if level < 1 else mpmath.mpf(1)
    return _lower_beta(first, second, level)


def _lower_beta(first: mpmath.mpf, second: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    scale = level**first * (1 - level) ** second / (first * _remembered(mpmath.beta, (first, second), mpmath.mp.prec))
    return scale * (_beta_series if _is_short(first, second, level) else _beta_fraction)(first, second, level)


def _is_short(first: mpmath.mpf, second: mpmath.mpf, level: mpmath.mpf) -> bool:
    """Does `_beta_series` need few terms? They grow up to j₀, if that is positive, and twice as far they fall."""
    if level >= 1:
        return False
    largest = max((level * (first + second) - first - 1) / (1 - level), 0)
    quotient = max(level * (first + second + 2 * largest) / (first + 1 + 2 * largest), level)
    return bool(quotient < 1 and 2 * largest - mpmath.mp.prec / mpmath.log(quotient, 2) < SHORT_SERIES * mpmath.mp.prec)


def _beta_series(first: mpmath.mpf, second: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """2F1(a + b, 1; a + 1; y): positive terms, each y(a + b + j)/(a + 1 + j) times the one before (DLMF 8.17.8).

    The quotients fall or rise towards y, so that the rest is at most a geometric series of the larger of the two.
    """
    # In integers, units of 2^-bits: the sum is at least 1, and the bits beyond the precision hold what is rounded off.
    bits = mpmath.mp.prec + 2 * LARGEST_TERM_COUNT.bit_length()
    one = 1 << bits
    with mpmath.extraprec(bits):
        above, step, below = (int(mpmath.ldexp(part, bits)) for part in (level * (first + second), level, first + 1))
    total = term = one
    for _ in range(LARGEST_TERM_COUNT):
        term = term * above // below
        total += term
        falling = max(above, step * below >> bits)  # over `below`
        if falling < below and (term * falling) << mpmath.mp.prec <= total * (below - falling):
            return mpmath.ldexp(mpmath.mpf(total), -bits)
        above, below = above + step, below + one
    raise NoConvergence(f"no sum after {LARGEST_TERM_COUNT} terms")


def _beta_fraction(first: mpmath.mpf, second: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """The same by Lentz's method from 1/(1 + d_1/(1 + d_2/(1 + …))), which is fast below the mean (DLMF 8.17.22)."""
    value, above, below = mpmath.mpf(1), mpmath.mpf(1), mpmath.mpf(0)
    for rank in range(1, LARGEST_TERM_COUNT):
        half, place = rank // 2, first + rank
        if rank % 2:
            part = -(first + half) * (first + second + half) * level / ((place - 1) * place)
        else:
            part = half * (second - half) * level / ((place - 1) * place)
        above, below = 1 + part / above, 1 / (1 + part * below)
        value *= above * below
        if abs(above * below - 1) <= mpmath.eps:
            return 1 / value
    raise NoConvergence(f"no continued fraction after {LARGEST_TERM_COUNT} terms")
