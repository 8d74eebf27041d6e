"""How much of the energy does Top-k send where the tails fall like e^(−|u|^β)? Generalised Gaussian laws, and uniform.

Bounds for every density, in the level z = q^(1/β) that a share κ of the magnitudes exceeds, where |u|^β is gamma with
shape α = 1/β. In the derivations the level is q itself, and f and Q are the density and the upper tail of that gamma
law. Weibull magnitudes have the same tails and closed levels: `theory/laws/weibull_tails.py`. Ours.
"""

import sympy

from sparsync.theory.language.powers import RealPower
from sparsync.theory.language.quantiles import LEVEL, GammaQuantile
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, kappa, tail_exponent
from sparsync.theory.laws.gamma_tails import (
    density_excess,
    density_excess_step,
    gamma_density,
    level_is_like_logarithm,
    upper_mass,
    value_at_infinity,
)
from sparsync.theory.laws.gaussian_tails import DENSITY_DOMAIN, gain_statement, is_nonnegative
from sparsync.theory.laws.magnitudes import GENERALISED_GAUSSIAN, UNIFORM, share_step

ORDER = sympy.Symbol("alpha", positive=True)
"""α = 1/β, the shape of the gamma law of |u|^β."""
LAW = r"$u$ has a density proportional to $e^{-|u|^{\beta}}$, up to scale"
SECOND_MOMENT = sympy.gamma(3 / tail_exponent) / sympy.gamma(1 / tail_exponent)
"""E[u²] = Γ(3/β)/Γ(1/β)."""


def uniform_gain() -> Statement:
    """δ = κ(3 − 3κ + κ²) for the uniform law on [−a, a]: the gain is at most 3, and tends to 3.

    Source: ours.
    """
    bound = kappa * (3 - 3 * kappa + kappa**2)
    return gain_statement(
        "uniform_gain",
        "Uniform: the gain is 3 − 3κ + κ²",
        sympy.Eq(delta, bound, evaluate=False),
        law=r"$u$ is uniform on $[-a,a]$",
        kind="definition",
        derivation=(
            Step("1 − ε is the bound", lambda: sympy.expand(1 - UNIFORM.ratio - bound), concludes=bound),
            Step(
                "the gain tends to a²/E[u²] = 3",
                lambda: sympy.limit(bound / kappa, kappa, 0, "+") - UNIFORM.end**2 / UNIFORM.second_moment,
            ),
        ),
    )


def generalised_gaussian_gain_lower() -> Statement:
    """δ ≥ κ(1 + z²/E[u²]) for a density proportional to e^(−|u|^β), β ≤ 2; equality at κ = 1.

    Source: ours.
    """
    level = _level()
    bound = kappa * (1 + level**2 / SECOND_MOMENT)
    return _tail_statement(
        "generalised_gaussian_gain_lower",
        "exponent at most 2: a lower bound on the gain",
        sympy.Ge(delta, bound, evaluate=False),
        domain=(sympy.Le(tail_exponent, 2),),
        derivation=(
            Step("g = δ − bound has g' = q^(2α−1) ψ, ψ = fq^(1−2α) − 2αQ/E[u²]", lambda: _gap_slope(bound)),
            Step("ψ' = f(2α/E[u²] − q^(1−2α) − αq^(−2α)), where the bracket rises for α ≥ 1/2", _hazard_shape),
            Step("ψ(∞) = 0: ψ is first ≥ 0, then ≤ 0, so g rises, then falls", lambda: value_at_infinity(_hazard())),
            Step("g is 0 at both ends, so g ≥ 0", lambda: _ends(bound), concludes=bound),
        ),
    )


def generalised_gaussian_gain_upper() -> Statement:
    """δ ≤ min(1, κ(z² + (2/β)(1 + z^β)^(2/β−1))/E[u²]), for a density proportional to e^(−|u|^β), 1 ≤ β ≤ 2.

    Exact for Laplace, β = 1; for the Gaussian, β = 2, it is the bound 2 + z² on the gain of N(0, 1).

    Source: ours.
    """
    power = 2 / tail_exponent
    bound = kappa * (_level() ** 2 + power * (1 + _gamma_level()) ** (power - 1)) / SECOND_MOMENT
    excess = sympy.Symbol("r", positive=True)

    def slope() -> sympy.Expr:
        left, right = LEVEL ** (2 * ORDER - 1), (1 + LEVEL) ** (2 * ORDER - 1)
        weight = left + sympy.diff(right, LEVEL)
        return _scaled_slope(bound) + 2 * ORDER * (
            gamma_density(ORDER) * (weight - right) - weight * density_excess(ORDER)
        )

    def tangent() -> sympy.Basic:
        share, rest = sympy.Symbol("v", positive=True), sympy.Symbol("c", nonnegative=True)
        room = 1 - excess * (1 - share) - share**excess
        curvature = sympy.diff(room, share, 2).subs(excess, 1 / (1 + rest))
        starts = (room.subs(share, 1), sympy.diff(room, share).subs(share, 1))
        return sympy.And(is_nonnegative(curvature), *(sympy.Eq(value, 0) for value in starts))

    return _tail_statement(
        "generalised_gaussian_gain_upper",
        "exponent between 1 and 2: an upper bound on the gain",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        domain=(sympy.Ge(tail_exponent, 1), sympy.Le(tail_exponent, 2)),
        derivation=(
            density_excess_step(),
            Step("E[u²](δ − bound)' = −2α(f(w − (1+q)^r) − wD), r = 2α−1, w = q^r + r(1+q)^(r−1)", slope),
            Step("w ≤ (1+q)^r, as q^r lies below its tangent at 1 + q for 0 < r ≤ 1 (at r = 0 both are 1)", tangent),
            Step("so δ − bound rises, to 0 at q = ∞", lambda: _end(bound)),
            share_step(GENERALISED_GAUSSIAN, sympy.Min(1, bound)),
            _logarithm_step(),
        ),
    )


def generalised_gaussian_heavy_gain_upper() -> Statement:
    """δ ≤ min(1, κ(1 + (z/√E[u²])^β)^(2/β)) for a density proportional to e^(−|u|^β), β ≤ 1; equality at κ = 1.

    Source: ours.
    """
    root = RealPower(SECOND_MOMENT, tail_exponent / 2)
    bound = kappa * RealPower(1 + _gamma_level() / root, 2 / tail_exponent)
    return _tail_statement(
        "generalised_gaussian_heavy_gain_upper",
        "exponent at most 1: an upper bound on the gain",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        domain=(sympy.Le(tail_exponent, 1),),
        derivation=(
            Step("g = bound − δ has g' = (1 + q/K)^(2α−1) G/K, G = 2αQ − fB", lambda: _heavy_slope(bound)),
            Step("G' = fH with H = B − 2α − B' − (α−1)B/q", _heavy_curvature),
            Step("B' = 1 − pv^(p−1) + (p−1)v^p ≥ 0, p = 2α, v = q/(q+K): it is 0 at v = 1 and falls", _rate_falls),
            Step("B' falls as v rises with q: B is concave, B(0) = K, so B/q falls, and H rises", _concave),
            Step("G(∞) = 0: G is first ≥ 0, then ≤ 0", lambda: value_at_infinity(_heavy_function())),
            Step("g is 0 at both ends, so g ≥ 0", lambda: _ends(bound)),
            share_step(GENERALISED_GAUSSIAN, sympy.Min(1, bound)),
        ),
    )


def generalised_gaussian_light_gain_lower() -> Statement:
    """δ ≥ κz²/E[u²] for a density proportional to e^(−|u|^β); for β ≤ 2 there is a bound larger by κ.

    Source: ours.
    """
    bound = kappa * _level() ** 2 / SECOND_MOMENT
    return _tail_statement(
        "generalised_gaussian_light_gain_lower",
        "any exponent: a lower bound on the gain",
        sympy.Ge(delta, bound, evaluate=False),
        domain=(),
        derivation=(
            Step(
                "E[u²](δ − bound)' = −2αq^(2α−1)Q ≤ 0",
                lambda: _scaled_slope(bound) + 2 * ORDER * LEVEL ** (2 * ORDER - 1) * upper_mass(ORDER),
            ),
            Step("so δ − bound falls, to 0 at q = ∞", lambda: _end(bound), concludes=bound),
        ),
    )


def generalised_gaussian_light_gain_upper() -> Statement:
    """δ ≤ min(1, κ(z² + (2/β)z^(2−β))/E[u²]) for a density proportional to e^(−|u|^β), β ≥ 2.

    Source: ours.
    """
    power = 2 / tail_exponent
    bound = kappa * (_level() ** 2 + power * _gamma_level() ** (power - 1)) / SECOND_MOMENT
    rest = sympy.Symbol("c", nonnegative=True)

    def slope() -> sympy.Expr:
        left = LEVEL ** (2 * ORDER - 1)
        fall = left * density_excess(ORDER) - sympy.diff(left, LEVEL) * upper_mass(ORDER)
        return _scaled_slope(bound) - 2 * ORDER * fall

    return _tail_statement(
        "generalised_gaussian_light_gain_upper",
        "exponent at least 2: an upper bound on the gain",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        domain=(sympy.Ge(tail_exponent, 2),),
        densities=(sympy.Lt(kappa, 1),),
        derivation=(
            density_excess_step(),
            Step("E[u²](δ − bound)' = 2α(q^r D − (q^r)'Q), r = 2α − 1", slope),
            Step(
                "q^r falls for α ≤ 1/2, so the slope is ≥ 0",
                lambda: is_nonnegative(-sympy.diff(LEVEL ** (2 * ORDER - 1), LEVEL).subs(ORDER, 1 / (2 + rest))),
            ),
            Step("so δ − bound rises, to 0 at q = ∞", lambda: _end(bound)),
            share_step(GENERALISED_GAUSSIAN, sympy.Min(1, bound)),
            _logarithm_step(),
        ),
    )


def _tail_statement(
    label: str,
    title: str,
    relation: sympy.Basic,
    *,
    domain: tuple[sympy.Basic, ...],
    derivation: tuple[Step, ...],
    densities: tuple[sympy.Basic, ...] = DENSITY_DOMAIN,
) -> Statement:
    title = f"Generalised Gaussian, {title}"
    return gain_statement(label, title, relation, law=LAW, domain=domain, densities=densities, derivation=derivation)


def _logarithm_step() -> Step:
    return Step("ln(1/κ)/q → 1: the gain is like ln^(2/β)(1/κ)/E[u²]", level_is_like_logarithm)


def _gamma_level() -> sympy.Expr:
    """q, the level of |u|^β."""
    return GammaQuantile(1 / tail_exponent, kappa)


def _level() -> sympy.Expr:
    """z, the level of |u|."""
    return _gamma_level() ** (1 / tail_exponent)


def _gap(bound: sympy.Expr) -> sympy.Expr:
    """δ − bound in q and α."""
    difference = (1 - GENERALISED_GAUSSIAN.ratio - bound).subs(_gamma_level(), LEVEL).subs(tail_exponent, 1 / ORDER)
    return difference.rewrite(sympy.Pow).subs(kappa, upper_mass(ORDER))


def _moment() -> sympy.Expr:
    return SECOND_MOMENT.subs(tail_exponent, 1 / ORDER)


def _scaled_slope(bound: sympy.Expr) -> sympy.Expr:
    """E[u²](δ − bound)'."""
    return sympy.expand(_moment() * sympy.diff(_gap(bound), LEVEL))


def _end(bound: sympy.Expr) -> sympy.Expr:
    """The value of δ − bound at q = ∞."""
    return value_at_infinity(_gap(bound))


def _ends(bound: sympy.Expr) -> sympy.Basic:
    return sympy.And(sympy.Eq(sympy.simplify(_gap(bound).subs(LEVEL, 0)), 0), sympy.Eq(_end(bound), 0))


def _hazard() -> sympy.Expr:
    """ψ = fq^(1−2α) − 2αQ/E[u²]."""
    return gamma_density(ORDER) * LEVEL ** (1 - 2 * ORDER) - 2 * ORDER * upper_mass(ORDER) / _moment()


def _gap_slope(bound: sympy.Expr) -> sympy.Expr:
    return sympy.diff(_gap(bound), LEVEL) - LEVEL ** (2 * ORDER - 1) * _hazard()


def _hazard_shape() -> sympy.Basic:
    beyond = sympy.Symbol("c", nonnegative=True)
    bracket = 2 * ORDER / _moment() - LEVEL ** (1 - 2 * ORDER) - ORDER * LEVEL ** (-2 * ORDER)
    residue = sympy.diff(_hazard(), LEVEL) - gamma_density(ORDER) * bracket
    rises = is_nonnegative(sympy.diff(bracket, LEVEL).subs(ORDER, sympy.Rational(1, 2) + beyond))
    return sympy.And(sympy.Eq(sympy.simplify(residue), 0), rises)


SCALE = sympy.Symbol("K", positive=True)
"""K = E[u²]^(1/(2α))."""


def _rate(level: sympy.Expr) -> sympy.Expr:
    """B = q + K − q(q/(q + K))^(2α−1)."""
    return level + SCALE - level * (level / (level + SCALE)) ** (2 * ORDER - 1)


def _heavy_function() -> sympy.Expr:
    """G = 2αQ − fB."""
    return 2 * ORDER * upper_mass(ORDER) - gamma_density(ORDER) * _rate(LEVEL)


def _heavy_slope(bound: sympy.Expr) -> sympy.Expr:
    gamma = SCALE ** (2 * ORDER) * sympy.gamma(3 * ORDER) / _moment()
    gap = -_gap(bound).subs(_moment() ** (1 / (2 * ORDER)), SCALE)
    slope = sympy.diff(gap, LEVEL).subs(sympy.gamma(3 * ORDER), gamma)
    factor = (1 + LEVEL / SCALE) ** (2 * ORDER - 1) / SCALE
    # In multiples of K every base is a product of y and 1 + y, whose powers combine.
    in_multiples = (slope - factor * _heavy_function()).subs(LEVEL, SCALE * sympy.Symbol("y", positive=True))
    factored = in_multiples.replace(lambda part: part.is_Pow, lambda part: sympy.factor(part.base) ** part.exp)
    return sympy.powsimp(sympy.expand(sympy.expand_power_base(factored)))


def _heavy_curvature() -> sympy.Expr:
    rate = _rate(LEVEL)
    bracket = rate - 2 * ORDER - sympy.diff(rate, LEVEL) - (ORDER - 1) * rate / LEVEL
    return sympy.diff(_heavy_function(), LEVEL) - gamma_density(ORDER) * bracket


def _rate_falls() -> sympy.Basic:
    share, beyond = sympy.Symbol("v", positive=True), sympy.Symbol("c", nonnegative=True)
    power = 2 * ORDER
    slope = 1 - power * share ** (power - 1) + (power - 1) * share**power
    residue = sympy.diff(_rate(LEVEL), LEVEL) - slope.subs(share, LEVEL / (LEVEL + SCALE))
    fall = -sympy.diff(slope, share) / (1 - share)
    falls = is_nonnegative(sympy.factor(sympy.simplify(fall)).subs(ORDER, 1 + beyond))
    return sympy.And(sympy.Eq(sympy.simplify(residue), 0), sympy.Eq(slope.subs(share, 1), 0), falls)


def _concave() -> sympy.Basic:
    share = LEVEL / (LEVEL + SCALE)
    rises = is_nonnegative(sympy.diff(share, LEVEL))
    tangent = sympy.Function("B")
    quotient = sympy.diff(tangent(LEVEL) / LEVEL, LEVEL) * LEVEL**2
    intercept = sympy.diff(tangent(LEVEL) - LEVEL * sympy.diff(tangent(LEVEL), LEVEL), LEVEL)
    residue = sympy.simplify(quotient + tangent(LEVEL) - LEVEL * sympy.diff(tangent(LEVEL), LEVEL))
    return sympy.And(
        rises,
        sympy.Eq(_rate(LEVEL).subs(LEVEL, 0), SCALE),
        sympy.Eq(residue, 0),
        sympy.Eq(sympy.simplify(intercept + LEVEL * sympy.diff(tangent(LEVEL), LEVEL, 2)), 0),
    )


STATEMENTS = by_label(
    __name__,
    uniform_gain,
    generalised_gaussian_gain_lower,
    generalised_gaussian_gain_upper,
    generalised_gaussian_heavy_gain_upper,
    generalised_gaussian_light_gain_lower,
    generalised_gaussian_light_gain_upper,
)
"""The statements of this file."""
