"""How much of the energy of a Gaussian vector does Top-k send at small densities? Two-sided bounds for every density.

δ = 1 − ε is the share of the energy sent, and δ/κ the gain over k random coordinates, which send κ. Everything is
written in the level z; signs are decided after division by positive factors. The bounds on the Mills ratio, κ/(2φ(z)),
go back to Gordon 1941 and Birnbaum 1942 and are proved here. Heavier tails: `theory/laws/heavy_tails.py`.
"""

import sympy

from sparsync.theory.language.quantiles import LEVEL, NormalQuantile, meanings
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Kind, Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, kappa
from sparsync.theory.laws.magnitudes import (
    GAUSSIAN,
    HALF,
    share_step,
    standard_density,
)

DENSITY_DOMAIN = (sympy.Le(kappa, 1),)
"""0 < κ ≤ 1; the lower end comes with the symbol."""
LONG_VECTOR = r"the $d$ coordinates are independent and follow this law, $d\to\infty$ at $k/d=\kappa$"
"""The limit in which every statement about a law is meant."""

TAIL = 1 - GAUSSIAN.mass
"""κ as a function of z for the Gaussian."""
PEAK = 2 * standard_density(LEVEL)
"""2φ(z), the density of |N(0, 1)|."""


def gaussian_gain_lower() -> Statement:
    """δ ≥ κ(1 + z²) with z = Φ⁻¹(1 − κ/2), for N(0, σ²); equality at κ = 1.

    Source: ours, from the upper bound of Gordon 1941 on the Mills ratio.
    """
    z = NormalQuantile(kappa)
    bound = kappa * (1 + z**2)
    surplus = LEVEL**2 * (PEAK / LEVEL - TAIL)
    return gain_statement(
        "gaussian_gain_lower",
        "Gaussian: the gain is at least 1 + z²",
        sympy.Ge(delta, bound, evaluate=False),
        derivation=(
            *mills_upper_steps(),
            Step("δ = κ(1 + z²) + z²(2φ/z − κ)", lambda: _kept(bound, surplus), concludes=bound),
        ),
    )


def gaussian_gain_upper() -> Statement:
    """δ ≤ min(1, κ(2 + z²)) with z = Φ⁻¹(1 − κ/2), for N(0, σ²).

    Source: ours, from the lower bound of Gordon 1941 on the Mills ratio.
    """
    z = NormalQuantile(kappa)
    bound = kappa * (2 + z**2)
    surplus = -(1 + LEVEL**2) * (TAIL - PEAK * LEVEL / (1 + LEVEL**2))
    return gain_statement(
        "gaussian_gain_upper",
        "Gaussian: the gain is at most 2 + z²",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        derivation=(
            *mills_lower_steps(),
            Step("δ = κ(2 + z²) − (1 + z²)(κ − 2φz/(1 + z²))", lambda: _kept(bound, surplus)),
            share_step(GAUSSIAN, sympy.Min(1, bound)),
        ),
    )


def gaussian_log_gain_lower() -> Statement:
    """δ ≥ κ(1 + ln(1/κ)) for N(0, σ²); equality at κ = 1.

    Source: ours, from Birnbaum's 1942 bound on the Mills ratio.
    """
    bound = kappa * (1 - sympy.log(kappa))
    return gain_statement(
        "gaussian_log_gain_lower",
        "Gaussian: the gain is at least 1 + ln(1/κ)",
        sympy.Ge(delta, bound, evaluate=False),
        derivation=(
            *_birnbaum(),
            *mills_upper_steps(),
            Step("r = ln(1/κ) − z² has r'' = h(h − z) − 2 for the hazard rate h = 2φ/κ", _concavity),
            Step("z ≤ h ≤ B and B(B − z) = 1 give h(h − z) ≤ 1: r is concave", _hazard_product),
            Step(
                "r(0) = 0, so r is first ≥ 0, then ≤ 0",
                lambda: (-sympy.log(TAIL) - LEVEL**2).subs(LEVEL, 0),
                argued="that a concave function which is 0 at 0 changes its sign at most once",
            ),
            Step("g = 2zφ − κ ln(1/κ) has g' = 2φr: it rises, then falls", lambda: _log_slope(1, LEVEL**2)),
            Step("g is 0 at both ends, z = 0 and z = ∞, so g ≥ 0", lambda: _log_ends(1)),
            Step("δ = κ(1 + ln(1/κ)) + g", lambda: _kept(bound, _log_difference(1)), concludes=bound),
        ),
    )


def gaussian_log_gain_upper() -> Statement:
    """δ ≤ min(1, κ(1 + 2 ln(1/κ))) for N(0, σ²); equality at κ = 1, and δ/(2κ ln(1/κ)) → 1 as κ → 0.

    Source: ours, from the upper bound of Gordon 1941 on the Mills ratio.
    """
    bound = kappa * (1 - 2 * sympy.log(kappa))
    return gain_statement(
        "gaussian_log_gain_upper",
        "Gaussian: the gain is at most 1 + 2 ln(1/κ), and like it for small κ",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        derivation=(
            *mills_upper_steps(),
            Step("s = ln(1/κ) − (1 + z²)/2 has s' = h − z ≥ 0 for the hazard rate h = 2φ/κ", _hazard_rises),
            Step("g = 2zφ − 2κ ln(1/κ) has g' = 4φs: it falls, then rises", lambda: _log_slope(2, HALF + LEVEL**2 / 2)),
            Step("g is 0 at both ends, z = 0 and z = ∞, so g ≤ 0", lambda: _log_ends(2)),
            Step("δ = κ(1 + 2 ln(1/κ)) + g", lambda: _kept(bound, _log_difference(2))),
            share_step(GAUSSIAN, sympy.Min(1, bound)),
            *mills_lower_steps(),
            Step("both bounds on κ make ln(1/κ)/(z²/2) → 1, so 1 + z² ≤ δ/κ makes the bound sharp", _log_limits),
        ),
    )


def gain_statement(
    label: str,
    title: str,
    relation: sympy.Basic,
    *,
    derivation: tuple[Step, ...],
    law: str = r"$u\sim\mathcal{N}(0,\sigma^2)$",
    domain: tuple[sympy.Basic, ...] = (),
    densities: tuple[sympy.Basic, ...] = DENSITY_DOMAIN,
    kind: Kind = "theorem",
) -> Statement:
    """A bound on δ for every density, if no others are named; the law is the Gaussian unless another is named."""
    return Statement(
        label=label,
        title=title,
        assumptions=(law, LONG_VECTOR, *meanings(relation)),
        relation=relation,
        domain=(*densities, *domain),
        source="ours",
        derivation=derivation,
        kind=kind,
    )


def is_nonnegative(expression: sympy.Expr) -> sympy.Basic:
    """True iff the assumptions on the symbols show the expression to be ≥ 0."""
    return sympy.true if sympy.factor(sympy.simplify(expression)).is_nonnegative else sympy.false


def _decreases_to_zero(function: sympy.Expr) -> sympy.Basic:
    """True iff a function of z has a slope ≤ 0 and the limit 0 at infinity, so that it is ≥ 0."""
    slope = sympy.simplify(sympy.diff(function, LEVEL) / PEAK)
    return sympy.And(is_nonnegative(-slope), sympy.Eq(sympy.limit(function, LEVEL, sympy.oo), 0))


def mills_upper_steps() -> tuple[Step, ...]:
    """κ ≤ 2φ(z)/z for N(0, 1), the upper bound of Gordon 1941 on the Mills ratio."""
    return (Step("κ ≤ 2φ(z)/z: the difference falls to 0", lambda: _decreases_to_zero(PEAK / LEVEL - TAIL)),)


def mills_lower_steps() -> tuple[Step, ...]:
    """κ ≥ 2φ(z)z/(1 + z²) for N(0, 1), the lower bound of Gordon 1941 on the Mills ratio."""
    difference = TAIL - PEAK * LEVEL / (1 + LEVEL**2)
    return (Step("κ ≥ 2φ(z)z/(1 + z²): the difference falls to 0", lambda: _decreases_to_zero(difference)),)


def _kept(bound: sympy.Expr, surplus: sympy.Expr) -> sympy.Expr:
    """δ − bound − surplus in z, for a bound in κ and its quantile."""
    difference = (1 - GAUSSIAN.ratio - bound).subs(NormalQuantile(kappa), LEVEL).subs(kappa, TAIL)
    return sympy.simplify(sympy.expand(difference - surplus))


def _birnbaum() -> tuple[Step, ...]:
    """κ ≥ 2φ/B with B = (z + √(z² + 4))/2; in B the level is z = B − 1/B."""
    root = (LEVEL + sympy.sqrt(LEVEL**2 + 4)) / 2
    difference = TAIL - PEAK / root

    def falls_to_zero() -> sympy.Basic:
        positive = sympy.Symbol("B", positive=True)
        slope = sympy.simplify(sympy.diff(difference, LEVEL) / PEAK)
        rational = slope.replace(
            lambda part: part.is_Pow and part.exp in (HALF, -HALF),
            lambda part: (positive + 1 / positive) ** (2 * part.exp),
        ).subs(LEVEL, positive - 1 / positive)
        limits = (sympy.limit(TAIL, LEVEL, sympy.oo), sympy.limit(PEAK / root, LEVEL, sympy.oo))
        return sympy.And(is_nonnegative(-rational), *(sympy.Eq(limit, 0) for limit in limits))

    return (Step("κ ≥ 2φ(z)/B with B = (z + √(z² + 4))/2: the difference falls to 0", falls_to_zero),)


def _concavity() -> sympy.Expr:
    hazard = PEAK / TAIL
    return sympy.diff(-sympy.log(TAIL) - LEVEL**2, LEVEL, 2) - (hazard * (hazard - LEVEL) - 2)


def _hazard_product() -> sympy.Basic:
    root = sympy.Symbol("B", positive=True)
    above, below = sympy.symbols("h-z B-h", nonnegative=True)
    hazard = LEVEL + above
    limit = hazard + below
    room = sympy.expand(limit * (limit - LEVEL) - hazard * (hazard - LEVEL))
    return sympy.And(is_nonnegative(room), sympy.Eq(sympy.expand(root * (root - (root - 1 / root))), 1))


def _hazard_rises() -> sympy.Basic:
    slope = sympy.diff(-sympy.log(TAIL) - (1 + LEVEL**2) / 2, LEVEL)
    share, slack = sympy.Symbol("kappa", positive=True), sympy.Symbol("slack", nonnegative=True)
    bounded = LEVEL * (share + slack) / share - LEVEL
    return sympy.And(sympy.Eq(sympy.simplify(slope - (PEAK / TAIL - LEVEL)), 0), is_nonnegative(bounded))


def _log_difference(factor: int) -> sympy.Expr:
    """g = 2zφ − factor·κ ln(1/κ) in z."""
    return LEVEL * PEAK + factor * TAIL * sympy.log(TAIL)


def _log_slope(factor: int, offset: sympy.Expr) -> sympy.Expr:
    """g' − factor·2φ(ln(1/κ) − offset)."""
    return sympy.diff(_log_difference(factor), LEVEL) - factor * PEAK * (-sympy.log(TAIL) - offset)


def _log_ends(factor: int) -> sympy.Basic:
    small = sympy.Symbol("kappa", positive=True)
    limits = (
        sympy.limit(TAIL, LEVEL, sympy.oo),
        sympy.limit(small * sympy.log(small), small, 0, "+"),
        sympy.limit(LEVEL * PEAK, LEVEL, sympy.oo),
        _log_difference(factor).subs(LEVEL, 0),
    )
    return sympy.And(*(sympy.Eq(limit, 0) for limit in limits))


def _log_limits() -> sympy.Basic:
    bounds = (PEAK / LEVEL, PEAK * LEVEL / (1 + LEVEL**2))
    logarithms = (sympy.expand_log(-sympy.log(bound), force=True) for bound in bounds)
    limits = [sympy.limit(logarithm / (LEVEL**2 / 2), LEVEL, sympy.oo) for logarithm in logarithms]
    sharpness = sympy.limit((1 + LEVEL**2) / (2 * (LEVEL**2 / 2)), LEVEL, sympy.oo)
    return sympy.And(*(sympy.Eq(limit, 1) for limit in (*limits, sharpness)))


STATEMENTS = by_label(
    __name__, gaussian_gain_lower, gaussian_gain_upper, gaussian_log_gain_lower, gaussian_log_gain_upper
)
"""The statements of this file."""
