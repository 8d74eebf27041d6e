"""Is a law's formula right at every level, not only where it was tried? Its differential equation, by power series.

In the level z the share left, ε, starts at 0 and has the slope z²f(z)/E[u²] for the density f of the magnitude. Both
sides are expanded in balls around the middle of an interval; the last coefficient, taken on the whole interval, bounds
what the expansion leaves out. So the difference is at most a stated number at every level of a range. Ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import sympy
from flint import arb, arb_series, ctx

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.symbols import kappa
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.ball_expressions import Known, Value, ball_value
from sparsync.verify.tools.balls import PRECISION_BITS, ball, exact_ball
from sparsync.verify.tools.outcome import Outcome, Profile

ORDER = 16
"""Order of the last coefficient of an expansion, which bounds the remainder."""
TOLERANCE = Fraction(1, 2**50)
"""Of ε at 0 and of the difference of the slopes; times the length of the range it bounds the difference of values."""
SMALLEST_INTERVAL = Fraction(1, 2**20)
"""An equation that does not hold on so short an interval is given up."""


@dataclass(frozen=True)
class LawEquation:
    """A law by its density, in the level z from 0 to an end.

    Args:
        share: κ at a level.
        slope: z²f(z)/E[u²] at a level.
        end: the last level.
        quantile: the expression in the bound that stands for the level, if there is one.
    """

    share: Callable[[Value], Value]
    slope: Callable[[Value], Value]
    end: Fraction
    quantile: sympy.Expr | None = None

    def known(self, level: Value) -> Known:
        """What the bound is made of, at a level."""
        shares: dict[sympy.Expr, Value] = {kappa: self.share(level)}
        return shares if self.quantile is None else {**shares, self.quantile: level}


EQUATIONS: dict[str, LawEquation] = {
    "gaussian_law": LawEquation(
        share=lambda z: 1 - (z / arb(2).sqrt()).erf(),
        slope=lambda z: z * z * (2 / arb.pi()).sqrt() * (-z * z / 2).exp(),
        end=Fraction(6),
        quantile=NormalQuantile(kappa),
    ),
    "laplace_law": LawEquation(share=lambda z: (-z).exp(), slope=lambda z: z * z * (-z).exp() / 2, end=Fraction(24)),
    "uniform_law": LawEquation(share=lambda z: 1 - z, slope=lambda z: 3 * z * z, end=Fraction(1)),
}
"""By the label of the law."""


def interval_count(equation: LawEquation, bound: sympy.Expr) -> int | None:
    """Number of intervals that prove |ε| ≤ TOLERANCE at 0 and |dε/dz − z²f/E[u²]| ≤ TOLERANCE up to the end, or None.

    None means that there is no proof down to the shortest interval.
    """
    # One term more than ORDER: a derivative loses one.
    cap, ctx.cap = ctx.cap, ORDER + 2
    try:
        with ctx.workprec(PRECISION_BITS):
            start = ball_value(bound, equation.known(exact_ball(Fraction(0))))
            if not abs(start) < exact_ball(TOLERANCE):
                return None
            return _intervals(lambda centre: _difference(equation, bound, centre), equation.end)
    finally:
        ctx.cap = cap


def _intervals(difference: Callable[[arb], list[arb]], end: Fraction) -> int | None:
    pending, proved = [(Fraction(0), end)], 0
    while pending:
        lower, upper = pending.pop()
        middle, radius = (lower + upper) / 2, exact_ball((upper - lower) / 2)
        expansion = difference(exact_ball(middle))[:ORDER]
        last = difference(ball(lower, upper))[ORDER]
        size = sum((abs(term) * radius**power for power, term in enumerate((*expansion, last))), arb(0))
        if size < exact_ball(TOLERANCE):
            proved += 1
            continue
        if upper - lower < SMALLEST_INTERVAL:
            return None
        pending += [(lower, middle), (middle, upper)]
    return proved


def _difference(equation: LawEquation, bound: sympy.Expr, centre: arb) -> list[arb]:
    """The coefficients of dε/dz − z²f/E[u²] around a centre, or on a ball of centres."""
    level = arb_series([centre, arb(1)])
    series = ball_value(bound, equation.known(level)).derivative() - equation.slope(level)
    return [series[power] for power in range(ORDER + 1)]


def equation_check(_profile: Profile, *, label: str) -> Outcome:
    """`ball`: the law's formula solves the law's equation, to the tolerance, at every level of the range."""
    equation = EQUATIONS[label]
    count = interval_count(equation, STATEMENTS[label].bound)
    detail = {"intervals_count": count or 0, "last_level": str(equation.end), "tolerance": str(TOLERANCE)}
    return Outcome(earned=count is not None, detail=detail)
