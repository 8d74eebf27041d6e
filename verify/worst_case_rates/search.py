"""Which quadratic Lyapunov function shrinks by the least factor? Bisection over the factor, a programme at each.

At a factor ρ the programme asks for the largest share σ of the measured form below a function V whose coefficients are
at most one in magnitude: ρV − V⁺ and V − σ·measured must be non-negative by the known inequalities. σ is positive iff
there is a function for ρ. (Taylor, Van Scoy and Lessard 2018; that bisection decides by σ is ours.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sparsync.verify.worst_case_rates.programmes import Line, Solution, SolverError
from sparsync.verify.worst_case_rates.questions import Search
from sparsync.verify.worst_case_rates.systems import lyapunov_system, lyapunov_terms

LEAST_SHARE = 1e-6
"""The σ from which on a function is found: a hundred times what the solver's rounding makes of zero."""
RESOLUTION = Fraction(1, 10**7)
"""The distance of the two factors at which bisection ends."""
GENERIC = Fraction(355, 452)
"""A factor at which no coefficient vanishes by chance."""
LARGEST = Fraction(64)
"""The largest factor that is tried."""


@dataclass(frozen=True)
class Found:
    """Where bisection ended.

    Args:
        factor: a factor at which there is a function.
        below: the largest at which none was found; None if all factors have one.
        share: σ at `factor`.
        rough: the solver called an answer inaccurate, so that only a proof says that there is a function.
    """

    factor: Fraction
    below: Fraction | None
    share: float
    rough: bool


def least_factor(
    question: Search, advance: Callable[[], None] = lambda: None, resolution: Fraction = RESOLUTION
) -> Found | None:
    """The least factor to within a resolution; None if there is none up to `LARGEST`.

    Args:
        question: the step.
        resolution: the distance of the two factors at which bisection ends.
        advance: is called after each programme.

    Raises:
        SolverError: a programme was not solved.
    """
    share_at = _shares(question)
    rough = False

    def share(factor: Fraction) -> float:
        nonlocal rough
        found = share_at(factor)
        rough |= math.isinf(found.tolerance)
        advance()
        return found.objective

    low, high = Fraction(0), Fraction(1)
    reached = share(high)
    while reached < LEAST_SHARE:
        if high == 1 and share(high + 4 * resolution) >= LEAST_SHARE:
            # A method that may stay where it is has the factor 1 itself, at which σ is all but zero.
            return Found(high + 4 * resolution, high, LEAST_SHARE, rough)
        low, high = high, 2 * high
        if high > LARGEST:
            return None
        reached = share(high)
    if low == 0:
        zero = share(low)
        if zero >= LEAST_SHARE:
            return Found(low, None, zero, rough)
    while high - low > resolution:
        middle = (low + high) / 2
        own = share(middle)
        if own >= LEAST_SHARE:
            high, reached = middle, own
        else:
            low = middle
    return Found(high, low, reached, rough)


def _shares(question: Search) -> Callable[[Fraction], Solution]:
    """The programme of σ as a function of the factor; it raises a SolverError that names the factor."""
    coefficients = tuple(lyapunov_terms(question)[0])
    names = [own.names for own in lyapunov_system(question, GENERIC, scaled=True).sums]
    line = Line(*(lyapunov_system(question, Fraction(end), scaled=True, names=names) for end in (0, 1)))

    def share(factor: Fraction) -> Solution:
        try:
            return line.greatest(float(factor), "share", coefficients)
        except SolverError as error:
            raise SolverError(f"at the factor {float(factor):.7g}, {error}", error.status) from error

    return share
