"""What are x^a and 1^a + … + n^a for a real power a? Two sympy functions that stay one symbol until a number is asked.

sympy rewrites a rational to a rational power through its prime factors, which does not end for the binary fractions
that floats are, and writes a finite sum out term by term. Here numbers come at the precision asked for, in about a
thousand operations whatever n is; integer powers are exact. `rewrite` gives the plain power and the plain sum. Ours.
"""

from __future__ import annotations

from typing import Any

import mpmath
import sympy

from sparsync.theory.language.symbols import j

GUARD_BITS = 60
"""Working bits beyond those asked for: about a thousand roundings are lost, and as many bits again are in hand."""
LARGEST_EXACT_POWER = 1000
"""An integer power above this is left as a symbol, so that its digits are never written out."""
DIRECT_COUNT = 1000
"""Sums of at most so many terms are added up; longer ones end with the Euler–Maclaurin formula."""
CORRECTION_COUNT = 24
"""Number of Bernoulli terms in the Euler–Maclaurin formula."""


class RealPower(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """x^a for x ≥ 0 and a > 0; no number where x < 0."""

    nargs = 2

    @classmethod
    def eval(cls, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr | None:
        """0^a = 0 and 1^a = 1; exact for a rational to a positive integer of moderate size."""
        if base.is_number and base.is_negative:
            return sympy.nan
        if base in (sympy.S.Zero, sympy.S.One) and exponent.is_positive:
            return base
        small = exponent.is_Integer and 0 < exponent <= LARGEST_EXACT_POWER
        return base**exponent if base.is_Rational and small else None

    def _eval_rewrite_as_Pow(self, base: sympy.Expr, exponent: sympy.Expr, **_options: object) -> sympy.Expr:  # noqa: N802  # sympy's name
        return base**exponent

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        base, exponent = self.args
        if not (base.is_number and exponent.is_number):
            return None
        # An error of the base is multiplied by the exponent.
        working = prec + GUARD_BITS + int(sympy.ceiling(exponent)).bit_length()
        with mpmath.workprec(working):
            return _float(mpmath.power(base._to_mpmath(working), exponent._to_mpmath(working)), prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        base, exponent = self.args
        power = exponent if exp is None else exponent * sympy.Symbol(exp)
        return str(printer._print(sympy.Pow(base, power, evaluate=False)))


class PowerSum(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """S_a(n) = 1^a + 2^a + … + n^a for an integer n ≥ 0 and a real a ≥ −1."""

    nargs = 2

    @classmethod
    def eval(cls, count: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr | None:
        """Exact where n and a are integers of moderate size (Faulhaber), and for n = 0 and n = 1."""
        if count in (sympy.S.Zero, sympy.S.One):
            return count
        if not (count.is_Integer and exponent.is_Integer and -1 <= exponent <= LARGEST_EXACT_POWER):
            return None
        if count <= DIRECT_COUNT:
            return sympy.Add(*(sympy.Integer(rank) ** exponent for rank in range(1, int(count) + 1)))
        if exponent < 0:
            return None
        if exponent > DIRECT_COUNT // 10:
            return None
        degree = exponent + 1
        return (sympy.bernoulli(degree, count + 1) - sympy.bernoulli(degree, sympy.S.One)) / degree

    def _eval_rewrite_as_Sum(self, count: sympy.Expr, exponent: sympy.Expr, **_options: object) -> sympy.Expr:  # noqa: N802  # sympy's name
        return sympy.Sum(j**exponent, (j, 1, count))

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        count, exponent = self.args
        if not (count.is_Integer and exponent.is_number):
            return None
        # Neighbours among the ranks must differ, and an error of a rank is multiplied by the exponent.
        working = prec + GUARD_BITS + int(count).bit_length() + int(sympy.ceiling(exponent)).bit_length()
        with mpmath.workprec(working):
            return _float(power_sum(int(count), exponent._to_mpmath(working)), prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        count, exponent = self.args
        text = rf"\sum_{{j=1}}^{{{printer._print(count)}}} j^{{{printer._print(exponent)}}}"
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"


def power_sum(count: int, exponent: mpmath.mpf) -> mpmath.mpf:
    """1^a + … + n^a at mpmath's precision: added up to n₀, then Euler–Maclaurin from n₀ to n.

    With n₀ = max(1000, 4a) and R = 24 Bernoulli terms the remainder is at most 2ζ(2R)/(2π)^(2R) times the integral of
    |(x^a)^(2R)|. Where a ≥ 2R that derivative is at most (a/x)^(2R) x^a, which leaves less than 3·(8π)^(−48) < 10^(−66)
    of the sum; where a < 2R it is at most (2R)! x^(a−2R), which leaves less than 3·48!·(2000π)^(−48) < 10^(−120).

    Args:
        count: n ≥ 0.
        exponent: a ≥ −1; a long sum below 0 is found with Hurwitz's zeta function, at any precision.
    """
    start = max(DIRECT_COUNT, int(mpmath.ceil(4 * exponent)))
    if count <= start:
        return _added_up(count, exponent)
    if exponent < 0:
        return _falling_sum(count, exponent)
    first, last = mpmath.mpf(start), mpmath.mpf(count)
    area = (_power(last, exponent + 1) - _power(first, exponent + 1)) / (exponent + 1)
    total = _added_up(start, exponent) + area + (_power(last, exponent) - _power(first, exponent)) / 2
    falling = exponent
    for order in range(1, CORRECTION_COUNT + 1):
        odd = 2 * order - 1
        difference = _power(last, exponent - odd) - _power(first, exponent - odd)
        total += mpmath.bernoulli(2 * order) / mpmath.factorial(2 * order) * falling * difference
        falling *= (exponent - odd) * (exponent - odd - 1)
    return total


def _falling_sum(count: int, exponent: mpmath.mpf) -> mpmath.mpf:
    """H_n for a = −1, else ζ(−a) − ζ(−a, n + 1), both of which have a pole at −1."""
    if exponent == -1:
        return mpmath.harmonic(count)
    with mpmath.extraprec(max(0, -mpmath.frexp(1 + exponent)[1])):
        return mpmath.zeta(-exponent) - mpmath.zeta(-exponent, count + 1)


def _added_up(count: int, exponent: mpmath.mpf) -> mpmath.mpf:
    """The sum from its largest term down, until what is left cannot change it: terms fall like e^(−ia/n)."""
    total = mpmath.mpf(0)
    for rank in range(count, 0, -1):
        term = _power(mpmath.mpf(rank), exponent)
        total += term
        if rank * term <= total * mpmath.eps / 16:
            break
    return total


def _power(base: mpmath.mpf, exponent: mpmath.mpf) -> mpmath.mpf:
    """base^exponent through the logarithm: mpmath multiplies for every bit of an exponent that is an integer."""
    places = max(0, mpmath.frexp(exponent)[1]) + max(0, mpmath.frexp(mpmath.log(base))[1])
    with mpmath.extraprec(places):
        return mpmath.exp(exponent * mpmath.log(base))


def _float(value: mpmath.mpf, precision: int) -> sympy.Expr:
    return sympy.Float._new(value._mpf_, precision)
