"""What are n choose k, Γ(n) and x^n where they have too many digits? sympy functions that stay symbols until asked.

sympy multiplies all out, which takes minutes for 500,000 of a million. Ours.
"""

from __future__ import annotations

import mpmath
import sympy

GUARD_BITS = 60
"""Working bits beyond those asked for."""
LARGEST_EXACT_BITS = 10**6
"""A power is exact if it has at most so many binary digits."""
LARGEST_EXACT_CHOICE = 1000
"""The coefficient is exact where the smaller of k and n − k is at most this."""


class LongBinomial(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """C(n, k) for integers n ≥ 0 and k ≥ 0."""

    nargs = 2

    @classmethod
    def eval(cls, count: sympy.Expr, chosen: sympy.Expr) -> sympy.Expr | None:
        """Exact where few are chosen or left; 0 for k > n."""
        if not (count.is_Integer and chosen.is_Integer):
            return None
        return sympy.binomial(count, chosen) if min(chosen, count - chosen) <= LARGEST_EXACT_CHOICE else None

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        if not all(argument.is_Integer for argument in self.args):
            return None
        count, chosen = (int(argument) for argument in self.args)
        # ln n! is at most n times the length of n, and an error of the logarithm is one of the coefficient's digits.
        with mpmath.workprec(prec + GUARD_BITS + 2 * count.bit_length()):
            logarithms = [mpmath.loggamma(size + 1) for size in (count, chosen, count - chosen)]
            return sympy.Expr._from_mpmath(mpmath.exp(logarithms[0] - logarithms[1] - logarithms[2]), prec)


class LongGamma(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """Γ(x) for x > 0."""

    nargs = 1

    @classmethod
    def eval(cls, order: sympy.Expr) -> sympy.Expr | None:
        """As sympy has it where few factors are multiplied out."""
        return sympy.gamma(order) if order.is_number and order < LARGEST_EXACT_CHOICE else None

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        (order,) = self.args
        if not order.is_Rational:
            return None
        with mpmath.workprec(prec + GUARD_BITS + 2 * int(order).bit_length()):
            logarithm = mpmath.loggamma(mpmath.mpf(order.p) / order.q)
            return sympy.Expr._from_mpmath(mpmath.exp(logarithm), prec)


class LongPower(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """x^n for a real x and a real n."""

    nargs = 2

    @classmethod
    def eval(cls, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr | None:
        """As sympy has it, but for a rational to a large integer."""
        if not (base.is_number and exponent.is_number):
            return None
        if base.is_Rational and exponent.is_Integer and abs(base.p) != base.q and base.p:
            bits = max(abs(base.p).bit_length(), base.q.bit_length())
            return base**exponent if abs(exponent) * bits <= LARGEST_EXACT_BITS else None
        return base**exponent

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        base, exponent = self.args
        if not (base.is_Rational and exponent.is_Integer):
            return None
        # An error of the base is multiplied by the exponent.
        with mpmath.workprec(prec + GUARD_BITS + int(exponent).bit_length()):
            value = mpmath.power(mpmath.mpf(int(base.p)) / int(base.q), int(exponent))
            return sympy.Expr._from_mpmath(value, prec)


def kept_short(expression: sympy.Basic) -> sympy.Basic:
    """The same with every binomial coefficient, gamma function and power in symbols as one not multiplied out.

    Powers with the place in a sum stay: a long sum is found from derivatives of its terms.
    """
    places = {limits[0] for found in expression.atoms(sympy.Sum) for limits in found.limits}

    def grows(part: sympy.Basic) -> bool:
        return isinstance(part, sympy.Pow) and bool(part.exp.free_symbols) and not places & part.exp.free_symbols

    short = expression.replace(sympy.binomial, LongBinomial).replace(sympy.gamma, LongGamma)
    return short.replace(grows, lambda power: LongPower(*power.args))
