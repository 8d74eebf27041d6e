"""Which inequalities between whole laws, and which failures of a rung, are proved by ball arithmetic? Ours.

Everything is written in the level z of the Gaussian, so that only erf, exp and log appear. Near z = 0 (κ near 1) both
sides vanish like a power of z; there they are divided by it, using P(|u| ≤ z)/z and ε/z³, which are entire. The level
`LARGEST_LEVEL` is κ = 5.6e-10. The failures of a rung are roots, enclosed by a change of sign.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import sympy
from flint import arb, ctx

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.symbols import kappa
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.ball_expressions import ball_value
from sparsync.verify.tools.balls import PRECISION_BITS, Positivity, exact_ball
from sparsync.verify.tools.minima import alternatives
from sparsync.verify.tools.outcome import Outcome, Profile

LARGEST_LEVEL = Fraction(31, 5)
"""Covers end here."""
SMALL_LEVEL = Fraction(1)
"""Below this level the sides are divided by their common power of z."""
SMALL = ((Fraction(0), SMALL_LEVEL),)
LARGE = ((SMALL_LEVEL, LARGEST_LEVEL),)
FIRST_LEVEL = Fraction(1, 2**8)
"""Covers of the bounds as the statements have them begin here: towards z = 0 they need ever more boxes."""

THRESHOLD_DENSITIES = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10), Fraction(3, 10), Fraction(1, 2))
"""Values of κ for which the failure of a rung is enclosed."""
RUNGS = (2, 3)
"""Exponents p of the rungs (1 − κ)^p that fail for a large mean."""
LARGEST_MEAN = Fraction(16)
"""Every rung of `RUNGS` has failed here."""
ENCLOSURE_WIDTH = Fraction(1, 2**24)
"""Of the means reported."""
LEVEL_WIDTH = Fraction(1, 2**64)
"""Of the levels z behind them: ε then has an error far below the change of ε over an enclosure."""


def peak(z: arb) -> arb:
    """2φ(z)."""
    return (2 / arb.pi()).sqrt() * (-z * z / 2).exp()


def mass(z: arb) -> arb:
    """P(|N(0, 1)| ≤ z)."""
    return (z / arb(2).sqrt()).erf()


def share(z: arb) -> arb:
    """κ = P(|N(0, 1)| > z)."""
    return (z / arb(2).sqrt()).erfc()


def mass_over_level(z: arb) -> arb:
    """P(|N(0, 1)| ≤ z)/z, entire in z."""
    half = arb(1) / 2
    return (2 / arb.pi()).sqrt() * (-z * z / 2).hypgeom_1f1(half, 3 * half)


def ratio_over_cube(z: arb) -> arb:
    """ε(z)/z³ for the Gaussian, entire in z."""
    half = arb(1) / 2
    return (2 / arb.pi()).sqrt() / 3 * (-z * z / 2).hypgeom_1f1(3 * half, 5 * half)


def cubic_minus_gaussian(z: arb, *, exponent: int = 3) -> arb:
    """(1 − κ)^p − ε."""
    return mass(z) ** exponent - (mass(z) - z * peak(z))


def cubic_minus_gaussian_over_cube(z: arb, *, exponent: int = 3) -> arb:
    """((1 − κ)^p − ε)/z³, for p ≥ 3."""
    return mass_over_level(z) ** exponent * z ** (exponent - 3) - ratio_over_cube(z)


def gaussian_minus_laplace(z: arb, *, curvature: Fraction = Fraction(1, 2)) -> arb:
    """κ(1 + ℓ + ℓ²/2) − (κ + 2zφ), the energy that Top-k keeps of a Laplace vector beyond a Gaussian one."""
    log = -share(z).log()
    return share(z) * (log + exact_ball(curvature) * log * log) - z * peak(z)


def gaussian_minus_laplace_over_cube(z: arb, *, factor: int = 1) -> arb:
    """(ε_Gaussian − factor·ε_Laplace)/z³, where ε_Laplace = P(3, ℓ) = (ℓ³/6) 1F1(3; 4; −ℓ)."""
    ratio = mass_over_level(z) * mean_reciprocal(mass(z))
    log = z * ratio
    return ratio_over_cube(z) - factor * ratio**3 / 6 * (-log).hypgeom_1f1(arb(3), arb(4))


def mean_reciprocal(x: arb) -> arb:
    """−ln(1 − x)/x, the mean of 1/(1 − xt) over t in (0, 1): increasing in x, and 1 at 0."""
    return _increasing(x, lambda point: -(1 - point).log() / point, at_zero=arb(1))


def mean_remainder(x: arb) -> arb:
    """(−ln(1 − x) − x)/x², the sum of x^n/(n + 2): increasing in x, and 1/2 at 0."""
    return _increasing(x, lambda point: (-(1 - point).log() - point) / (point * point), at_zero=arb(1) / 2)


def gain_above_square(z: arb) -> arb:
    """(δ/κ − (1 + z²)) κ/z = 2φ − zκ."""
    return peak(z) - z * share(z)


def gain_below_square(z: arb) -> arb:
    """((2 + z²) − δ/κ) κ = (1 + z²)κ − 2zφ."""
    return (1 + z * z) * share(z) - z * peak(z)


def gain_above_log_over_square(z: arb, *, factor: int = 1) -> arb:
    """(2zφ − factor·κℓ)/z², finite at 0 for factor 1; from 2zφ = P − ε and ℓ = P + P² s(P), where P = 1 − κ."""
    below, slope = mass(z), mass_over_level(z)
    linear = 0 if factor == 1 else (1 - factor) * slope / z
    remainder = mean_remainder(z * slope)
    return linear - z * ratio_over_cube(z) + factor * slope**2 * (1 - remainder + below * remainder)


def gain_below_log_over_level(z: arb, *, factor: int = 2) -> arb:
    """(factor·κℓ − 2zφ)/z."""
    below = z * mass_over_level(z)
    return factor * (1 - below) * mass_over_level(z) * mean_reciprocal(below) - peak(z)


RUNG_CLAIMS = (
    Positivity(
        "Gaussian ≤ (1 − κ)³ for κ near 1",
        cubic_minus_gaussian_over_cube,
        SMALL,
        lambda z: cubic_minus_gaussian_over_cube(z, exponent=4),
    ),
    Positivity(
        "Gaussian ≤ (1 − κ)³ for κ ≥ 6e-10", cubic_minus_gaussian, LARGE, lambda z: cubic_minus_gaussian(z, exponent=5)
    ),
)
LAPLACE_CLAIMS = (
    Positivity(
        "Laplace ≤ Gaussian for κ near 1",
        gaussian_minus_laplace_over_cube,
        SMALL,
        lambda z: gaussian_minus_laplace_over_cube(z, factor=4),
    ),
    Positivity(
        "Laplace ≤ Gaussian for κ ≥ 6e-10",
        gaussian_minus_laplace,
        LARGE,
        lambda z: gaussian_minus_laplace(z, curvature=Fraction(0)),
    ),
)
NEAR_ONE_CLAIMS: dict[str, Positivity] = {
    "gaussian_gain_lower": Positivity("δ ≥ κ(1 + z²)", gain_above_square, SMALL, lambda z: -gain_below_square(z)),
    "gaussian_gain_upper": Positivity("δ ≤ κ(2 + z²)", gain_below_square, SMALL, lambda z: -gain_above_square(z)),
    "gaussian_log_gain_lower": Positivity(
        "δ ≥ κ(1 + ℓ)",
        gain_above_log_over_square,
        SMALL,
        lambda z: gain_above_log_over_square(z, factor=2),
    ),
    "gaussian_log_gain_upper": Positivity(
        "δ ≤ κ(1 + 2ℓ)",
        gain_below_log_over_level,
        SMALL,
        lambda z: gain_below_log_over_level(z, factor=1),
    ),
}
"""The bounds on the energy sent for κ near 1, each difference divided by the power of z with which it vanishes."""


def gain_claims(label: str) -> tuple[Positivity, ...]:
    """A bound on the energy sent of a Gaussian, as the statement has it, on all levels from `FIRST_LEVEL` on.

    A bound that is the smaller of two is two claims. That a share is at most 1 is none: it is 1 at z = 0.
    The twin claims an eighth too much: more than what a bound that is weaker by a sixteenth leaves.
    """
    statement = STATEMENTS[label]
    sign = 1 if isinstance(statement.relation, sympy.GreaterThan) else -1

    def room(z: arb, *, bound: sympy.Expr, factor: Fraction) -> arb:
        stated: arb = ball_value(bound, {kappa: share(z), NormalQuantile(kappa): z})
        return sign * (share(z) + z * peak(z) - exact_ball(factor) * stated)

    box = ((FIRST_LEVEL, LARGEST_LEVEL),)
    wrong = 1 + Fraction(sign, 8)
    claims = (
        Positivity(
            f"{statement.relation.lhs} {statement.relation.rel_op} {bound}",
            partial(room, bound=bound, factor=Fraction(1)),
            box,
            partial(room, bound=bound, factor=wrong),
        )
        for bound in alternatives(statement.bound)
        if not (bound.is_Rational and bound >= 1)
    )
    return (*claims, NEAR_ONE_CLAIMS[label])


@dataclass(frozen=True)
class Threshold:
    """The mean |μ|/σ from which N(μ, σ²) breaks the rung (1 − κ)^p lies strictly between the two ends."""

    density: Fraction
    exponent: int
    lower: Fraction
    upper: Fraction


def threshold(density: Fraction, exponent: int) -> Threshold:
    """Enclose the mean at which ε = (1 − κ)^p, by bisection on signs that balls decide.

    The statement `shifted_gaussian_slope` says that ε increases with the mean, so there is one root only.

    Raises:
        ArithmeticError: a sign is not decided, or ε − (1 − κ)^p does not change sign on [0, LARGEST_MEAN].
    """
    with ctx.workprec(PRECISION_BITS):
        lower, upper = Fraction(0), LARGEST_MEAN
        if rung_breaks(lower, density, exponent) or not rung_breaks(upper, density, exponent):
            raise ArithmeticError(f"no change of sign for κ = {density}, p = {exponent} up to the mean {upper}")
        while upper - lower > ENCLOSURE_WIDTH:
            middle = (lower + upper) / 2
            if rung_breaks(middle, density, exponent):
                upper = middle
            else:
                lower = middle
    return Threshold(density=density, exponent=exponent, lower=lower, upper=upper)


def rung_breaks(mean: Fraction, density: Fraction, exponent: int) -> bool:
    """True iff ε > (1 − κ)^p for N(m, 1), false iff ε < (1 − κ)^p.

    Raises:
        ArithmeticError: the ball of the difference contains zero.
    """
    level, centre = shifted_level(mean, density), exact_ball(mean)
    above, below = ((-((level - side) ** 2) / 2).exp() for side in (centre, -centre))
    surplus = ((level + centre) * above + (level - centre) * below) / ((2 * arb.pi()).sqrt() * (1 + centre**2))
    kept = 1 - exact_ball(density)
    difference = kept - surplus - kept**exponent
    if not (difference > 0 or difference < 0):
        raise ArithmeticError(f"undecided at the mean {mean} for κ = {density}, p = {exponent}: {difference}")
    return bool(difference > 0)


def shifted_level(mean: Fraction, density: Fraction) -> arb:
    """A ball around the z with P(|N(m, 1)| > z) = κ, by bisection on signs that balls decide."""
    centre, target = exact_ball(mean), exact_ball(density)
    # A third keeps the midpoints away from m itself, where the tail is so near 1/2 that no ball decides its sign.
    lower, upper = Fraction(0), mean + 32 + Fraction(1, 3)
    while upper - lower > LEVEL_WIDTH:
        middle = (lower + upper) / 2
        point = exact_ball(middle)
        tail = (((point - centre) / arb(2).sqrt()).erfc() + ((point + centre) / arb(2).sqrt()).erfc()) / 2
        if tail > target:
            lower = middle
        elif tail < target:
            upper = middle
        else:
            break
    return exact_ball(lower).union(exact_ball(upper))


def threshold_check(_profile: Profile) -> Outcome:
    """`ball`: every failure of a rung is enclosed, and the statement's values lie on both sides of it accordingly."""
    found = [threshold(density, exponent) for density in THRESHOLD_DENSITIES for exponent in RUNGS]
    agreeing = [_agrees(each) for each in found]
    detail = {
        "enclosures_count": len(found),
        "enclosures": [[str(each.density), each.exponent, *_decimals(each)] for each in found],
    }
    return Outcome(earned=all(agreeing), detail=detail)


def _decimals(found: Threshold) -> tuple[str, str]:
    """The ends in seven decimals, rounded outwards."""
    lower, upper = math.floor(found.lower * 10**7), math.ceil(found.upper * 10**7)
    return f"{lower / 10**7:.7f}", f"{upper / 10**7:.7f}"


def _agrees(found: Threshold) -> bool:
    statement, rung = STATEMENTS["shifted_gaussian_law"], (1 - found.density) ** found.exponent
    values = (statement.evaluate(kappa=found.density, mean=mean) for mean in (found.lower, found.upper))
    lower, upper = (Fraction(value) for value in values)
    return lower < rung < upper


def _increasing(x: arb, function: Callable[[arb], arb], *, at_zero: arb) -> arb:
    """The values of an increasing function on the part of the ball with x ≥ 0, from its two ends."""
    first, last = x.lower(), x.upper()
    start = function(first) if first > 0 else at_zero
    return start.union(function(last)) if last > 0 else start
