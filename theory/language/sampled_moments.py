"""What is the mean of a power of 1 − q + q·N(1, σ²)/N(0, σ²)? A binomial sum, one symbol until it is evaluated.

sympy writes a short sum out term by term, and of a long one finds what the Euler–Maclaurin formula makes of it, which
is no number where a binomial coefficient is differentiated. Here each term comes from the one before. Ours.
"""

from __future__ import annotations

from typing import Any

import mpmath
import sympy

GUARD_BITS = 60
"""Working bits beyond those asked for and those that recurrences lose."""
LONGEST_POWER = 10_000
"""A larger power is refused: so many terms take about a second."""
TERM = sympy.Symbol("j", integer=True, nonnegative=True)
"""Index j of a term of the sum."""


class SampledMoment(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """Σ_{j≤α} C(α, j)(1 − q)^(α − j) q^j e^(j(j − 1)/(2σ²)) for an integer α ≥ 0, 0 ≤ q ≤ 1 and σ > 0."""

    nargs = 3

    def _eval_is_positive(self) -> bool:
        return True

    def _eval_rewrite_as_Sum(  # noqa: N802  # sympy's name
        self, power: sympy.Expr, share: sympy.Expr, noise: sympy.Expr, **_options: object
    ) -> sympy.Expr:
        chosen = sympy.binomial(power, TERM) * (1 - share) ** (power - TERM) * share**TERM
        return sympy.Sum(chosen * sympy.exp(TERM * (TERM - 1) / (2 * noise**2)), (TERM, 0, power))

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        power, share, noise = self.args
        if not (power.is_Integer and share.is_number and noise.is_number):
            return None
        if power > LONGEST_POWER and share != sympy.S.One:
            raise ValueError(f"a sum of {power + 1} terms with binomial coefficients is not added up")
        # The j-th term has j factors, the j-th of which is a power of j − 1 factors.
        working = prec + GUARD_BITS + 2 * int(power).bit_length()
        with mpmath.workprec(working):
            numbers = (number._to_mpmath(working, allow_ints=False) for number in (share, noise))
            value = sampled_moment(int(power), *numbers)
            return sympy.Expr._from_mpmath(value, prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = str(printer._print(self.rewrite(sympy.Sum)))
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"


def sampled_moment(power: int, share: mpmath.mpf, noise: mpmath.mpf) -> mpmath.mpf:
    """The sum at mpmath's precision.

    Args:
        power: α ≥ 0.
        share: q in [0, 1].
        noise: σ > 0.
    """
    if share == 1:
        return mpmath.exp(power * (power - 1) / (2 * noise**2))
    odds, growth, grown = share / (1 - share), mpmath.exp(1 / noise**2), mpmath.mpf(1)
    term = total = (1 - share) ** power
    for rank in range(power):
        term *= odds * grown * (power - rank) / (rank + 1)
        total += term
        grown *= growth
    return total
