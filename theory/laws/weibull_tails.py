"""How much of the energy does Top-k send of Weibull magnitudes? Two-sided bounds in ℓ = ln(1/κ) for every density.

|u|^a is exponential, so that the level is ℓ^(1/a) and δ = Q(1 + p, ℓ) with p = 2/a. Two comparisons, with ℓ^p and with
a p-th power of a linear function, are lower and upper bounds for a ≤ 2 and change places at a = 2, where both are
equalities: |u|² is then exponential. Ours.
"""

import sympy

from sparsync.theory.language.powers import RealPower
from sparsync.theory.language.quantiles import RegularisedGamma
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, kappa, shape
from sparsync.theory.laws.gaussian_tails import gain_statement, is_nonnegative
from sparsync.theory.laws.magnitudes import WEIBULL, share_step

LOG = sympy.Symbol("l", positive=True)
"""ℓ = ln(1/κ)."""
POWER = sympy.Symbol("p", positive=True)
"""p = 2/a."""
SCALE = sympy.Symbol("c", positive=True)
"""c = Γ(1 + p)^(1/p)."""
BEYOND = sympy.Symbol("e", nonnegative=True)
"""Distance of p or 1/p from 1."""
HEAVY, LIGHT = 1 + BEYOND, 1 / (1 + BEYOND)
"""The values of p for a ≤ 2 and for a ≥ 2."""


HEAVY_DOMAIN, LIGHT_DOMAIN = sympy.Le(shape, 2), sympy.Ge(shape, 2)


def weibull_gain_lower() -> Statement:
    """δ ≥ κ(1 + ℓ^(2/a)/Γ(1 + 2/a)) with ℓ = ln(1/κ), for |u| Weibull with shape a ≤ 2; equality at κ = 1.

    Source: ours.
    """
    bound = _sum_bound()
    return gain_statement(
        "weibull_gain_lower",
        "Weibull of shape at most 2: a lower bound on the gain, a power 2/a of ln(1/κ)",
        sympy.Ge(delta, bound, evaluate=False),
        law="$|u|$ is Weibull with shape $a$",
        domain=(HEAVY_DOMAIN,),
        derivation=_sum_steps(bound, HEAVY),
    )


def weibull_gain_upper() -> Statement:
    """δ ≤ min(1, κ(1 + ℓ/Γ(1 + 2/a)^(a/2))^(2/a)) with ℓ = ln(1/κ), for |u| Weibull with shape a ≤ 2.

    Equality at κ = 1.

    Source: ours.
    """
    bound = _linear_bound()
    return gain_statement(
        "weibull_gain_upper",
        "Weibull of shape at most 2: an upper bound on the gain, a power 2/a of ln(1/κ)",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        law="$|u|$ is Weibull with shape $a$",
        domain=(HEAVY_DOMAIN,),
        derivation=(*_linear_steps(bound, HEAVY), share_step(WEIBULL, sympy.Min(1, bound))),
    )


def weibull_light_gain_lower() -> Statement:
    """δ ≥ κ(1 + ℓ/Γ(1 + 2/a)^(a/2))^(2/a) with ℓ = ln(1/κ), for |u| Weibull with shape a ≥ 2; equality at κ = 1.

    Source: ours.
    """
    bound = _linear_bound()
    return gain_statement(
        "weibull_light_gain_lower",
        "Weibull of shape at least 2: a lower bound on the gain, a power 2/a of ln(1/κ)",
        sympy.Ge(delta, bound, evaluate=False),
        law="$|u|$ is Weibull with shape $a$",
        domain=(LIGHT_DOMAIN,),
        derivation=_linear_steps(bound, LIGHT),
    )


def weibull_light_gain_upper() -> Statement:
    """δ ≤ min(1, κ(1 + ℓ^(2/a)/Γ(1 + 2/a))) with ℓ = ln(1/κ), for |u| Weibull with shape a ≥ 2; equality at κ = 1.

    Source: ours.
    """
    bound = _sum_bound()
    return gain_statement(
        "weibull_light_gain_upper",
        "Weibull of shape at least 2: an upper bound on the gain, a power 2/a of ln(1/κ)",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        law="$|u|$ is Weibull with shape $a$",
        domain=(LIGHT_DOMAIN,),
        derivation=(*_sum_steps(bound, LIGHT), share_step(WEIBULL, sympy.Min(1, bound))),
    )


def _sum_bound() -> sympy.Expr:
    power = 2 / shape
    return kappa * (1 + RealPower(-sympy.log(kappa), power) / sympy.gamma(1 + power))


def _linear_bound() -> sympy.Expr:
    root = RealPower(sympy.gamma(1 + 2 / shape), shape / 2)
    return kappa * RealPower(1 - sympy.log(kappa) / root, 2 / shape)


def _sum_steps(bound: sympy.Expr, power: sympy.Expr) -> tuple[Step, ...]:
    """The steps for κ(1 + ℓ^p/Γ(1 + p)), where p ≥ 1 or p ≤ 1."""
    sign, turns = ("≥", "rises, then falls") if power == HEAVY else ("≤", "falls, then rises")
    return (
        Step("g = δ − bound has g' = κ(1 − pℓ^(p−1)/Γ(1 + p))", lambda: _sum_slope(bound)),
        Step(f"the bracket is monotone for p {sign} 1: g {turns}", lambda: _sum_turns(power)),
        Step(f"g is 0 at both ends, ℓ = 0 and ℓ = ∞, so g {sign} 0", lambda: _ends(bound), concludes=bound),
        Step("the gain over ℓ^p/Γ(1 + p) tends to 1", lambda: _relative_limit(_sum_bound())),
    )


def _linear_steps(bound: sympy.Expr, power: sympy.Expr) -> tuple[Step, ...]:
    """The steps for κ(1 + ℓ/c)^p, c^p = Γ(1 + p), where p ≥ 1 or p ≤ 1."""
    sign, turns = ("≥", "falls") if power == HEAVY else ("≤", "rises")
    return (
        Step("g = bound − δ has g' = κ(ℓ+c)^(p−1) R/Γ(1+p), R = p − ℓ − c + ℓy^(p−1), y = ℓ/(ℓ+c)", _linear_slope),
        Step("R' = py^(p−1) − (p−1)y^p − 1", _linear_curvature),
        Step(f"R' is 0 at y = 1 and monotone in y: R {turns} for p {sign} 1", lambda: _linear_turns(power)),
        Step(f"g is 0 at both ends, ℓ = 0 and ℓ = ∞, so g {sign} 0", lambda: _ends(bound), concludes=bound),
        Step("the gain over ℓ^p/Γ(1 + p) tends to 1", lambda: _relative_limit(_linear_bound())),
    )


def _gap(bound: sympy.Expr) -> sympy.Expr:
    """δ − bound in ℓ and p."""
    difference = (1 - WEIBULL.ratio - bound).rewrite(sympy.Pow).subs(shape, 2 / POWER)
    return difference.subs(kappa, sympy.exp(-LOG))


def _sum_slope(bound: sympy.Expr) -> sympy.Expr:
    return sympy.diff(_gap(bound), LOG) - sympy.exp(-LOG) * _sum_bracket()


def _sum_bracket() -> sympy.Expr:
    return 1 - POWER * LOG ** (POWER - 1) / sympy.gamma(1 + POWER)


def _sum_turns(power: sympy.Expr) -> sympy.Basic:
    slope = sympy.factor(sympy.diff(_sum_bracket().subs(POWER, power), LOG))
    return sympy.true if (-slope if power == HEAVY else slope).is_nonnegative else sympy.false


def _share() -> sympy.Expr:
    return LOG / (LOG + SCALE)


def _linear_bracket() -> sympy.Expr:
    return POWER - LOG - SCALE + LOG * _share() ** (POWER - 1)


def _linear_slope() -> sympy.Expr:
    gamma = SCALE**POWER
    gap = -_gap(_linear_bound()).subs(sympy.gamma(1 + POWER) ** (1 / POWER), SCALE)
    slope = sympy.diff(gap, LOG).subs(sympy.gamma(1 + POWER), gamma)
    expected = sympy.exp(-LOG) * (LOG + SCALE) ** (POWER - 1) * _linear_bracket() / gamma
    # In multiples of c every base is a product of y and 1 + y, whose powers combine.
    in_multiples = (slope - expected).subs(LOG, SCALE * sympy.Symbol("y", positive=True))
    factored = in_multiples.replace(lambda part: part.is_Pow, lambda part: sympy.factor(part.base) ** part.exp)
    return sympy.powsimp(sympy.expand(sympy.expand_power_base(factored)))


def _linear_curvature() -> sympy.Expr:
    return sympy.diff(_linear_bracket(), LOG) - _curvature(_share())


def _curvature(share: sympy.Expr) -> sympy.Expr:
    return POWER * share ** (POWER - 1) - (POWER - 1) * share**POWER - 1


def _linear_turns(power: sympy.Expr) -> sympy.Basic:
    """True iff the curvature rises to 0 at y = 1 for p ≥ 1, and falls to it for p ≤ 1."""
    share = sympy.Symbol("y", positive=True)
    slope = sympy.factor(sympy.simplify(sympy.diff(_curvature(share), share) / (1 - share))).subs(POWER, power)
    rises = is_nonnegative(slope if power == HEAVY else -slope)
    return sympy.And(sympy.Eq(_curvature(sympy.Integer(1)), 0), rises)


def _ends(bound: sympy.Expr) -> sympy.Basic:
    gap = _gap(bound)
    end = gap.replace(lambda part: isinstance(part, RegularisedGamma), lambda part: part.func(part.args[0], sympy.oo))
    return sympy.And(sympy.Eq(sympy.simplify(gap.subs(LOG, 0)), 0), sympy.Eq(sympy.limit(end, LOG, sympy.oo), 0))


def _relative_limit(bound: sympy.Expr) -> sympy.Expr:
    gain = (bound / kappa).rewrite(sympy.Pow).subs(shape, 2 / POWER).subs(kappa, sympy.exp(-LOG))
    return sympy.limit(sympy.simplify(gain / (LOG**POWER / sympy.gamma(1 + POWER))), LOG, sympy.oo) - 1


STATEMENTS = by_label(
    __name__, weibull_gain_lower, weibull_gain_upper, weibull_light_gain_lower, weibull_light_gain_upper
)
"""The statements of this file."""
