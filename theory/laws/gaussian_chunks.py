"""The share that chunks of Gaussian entries leave, as one symbol until a number is asked for. Ours."""

from __future__ import annotations

from typing import Any

import mpmath
import sympy

GUARD_BITS = 30
"""Working bits beyond those asked for."""


class GaussianChunkRatio(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """ε_b(k) = ∫_0^1 ε(t) t^(k−1)(1 − t)^(b−k−1)/B(k, b − k) dt with ε(t) = 1 − t − 2zφ(z), t = 2Φ(−z); 0 for k = b."""

    nargs = 2

    @classmethod
    def eval(cls, count: sympy.Expr, size: sympy.Expr) -> sympy.Expr | None:
        """Exact where all is sent, and for one of two."""
        if count == size:
            return sympy.Integer(0)
        if (count, size) == (1, 2):
            return sympy.Rational(1, 2) - 1 / sympy.pi
        return None

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        count, size = self.args
        if not (count.is_Integer and size.is_Integer and 0 < count < size):
            return None
        with mpmath.workprec(prec + GUARD_BITS):
            return sympy.Expr._from_mpmath(mean_ratio(int(count), int(size)), prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        count, size = (printer._print(argument) for argument in self.args)
        ratio = r"\left(1-t-2z\varphi(z)\right)"
        integral = (
            rf"\int_0^1{ratio}\frac{{t^{{{count}-1}}(1-t)^{{{size}-{count}-1}}}}{{B({count},{size}-{count})}}\,dt"
        )
        return rf"\left({integral}\right)^{{{exp}}}" if exp else integral


def mean_ratio(count: int, size: int) -> mpmath.mpf:
    """E ε(T) at the working precision, by the trapezoidal rule in ln z: it gains digits in proportion to the points.

    The integrand is analytic near the real line and falls at least exponentially on both sides. Steps are halved until
    two values agree in two thirds of the bits; the error of the second is then about the square of their difference.
    """
    step, before = mpmath.mpf(1) / 8, _trapezoids(count, size, mpmath.mpf(1) / 4)
    while True:
        value = _trapezoids(count, size, step)
        if abs(value - before) <= abs(value) * mpmath.mpf(2) ** -(2 * mpmath.mp.prec // 3):
            return value
        step, before = step / 2, value


def _trapezoids(count: int, size: int, step: mpmath.mpf) -> mpmath.mpf:
    """The rule with its points at the level of the mean density and at whole steps of ln z from there."""
    middle = mpmath.log(_level(mpmath.mpf(count) / size))
    logarithm = mpmath.loggamma(size) - mpmath.loggamma(count) - mpmath.loggamma(size - count)
    smallest = mpmath.mpf(2) ** -(mpmath.mp.prec + GUARD_BITS)
    total = mpmath.mpf(0)
    for side in (1, -1):
        place, term, last = middle + (step if side > 0 else 0), mpmath.mpf(1), mpmath.mpf(0)
        # Until the terms fall and are too small to be seen.
        while term > smallest * total or term > last:
            last, term = term, _term(mpmath.exp(place), count, size, logarithm)
            total, place = total + term, place + side * step
    return total * step


def _term(level: mpmath.mpf, count: int, size: int, logarithm: mpmath.mpf) -> mpmath.mpf:
    """ε(t) times the density of T, times 2zφ(z), at t = 2Φ(−z); `logarithm` is −ln B(k, b − k)."""
    share, mass = mpmath.erfc(level / mpmath.sqrt(2)), mpmath.erf(level / mpmath.sqrt(2))
    slope = 2 * level * mpmath.npdf(level)
    weight = mpmath.exp(logarithm + (count - 1) * mpmath.log(share) + (size - count - 1) * mpmath.log(mass))
    return (mass - slope) * weight * slope


def _level(share: mpmath.mpf) -> mpmath.mpf:
    """z with P(|N(0, 1)| > z) = share, to about 16 digits: the rule may begin anywhere."""
    with mpmath.workprec(53):
        return mpmath.sqrt(2) * mpmath.erfinv(1 - share)
