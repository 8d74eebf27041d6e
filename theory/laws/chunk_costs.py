"""What do chunks cost against Top-k of the whole vector, for entries that are independent? The worst law, and the rate.

ε_b is the ratio of a law in chunks of b entries, ε its ratio without chunks; see `theory/laws/chunk_laws.py`. Ours.
"""

import sympy

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    chunk_size,
    density_at_level,
    energy,
    excess_slope,
    k,
    kappa,
    kept_level,
    law_excess,
)
from sparsync.theory.laws.chunk_laws import CHUNKED, DOMAIN, OTHERS, PLACE, beta_steps, level_symbol, moment
from sparsync.theory.laws.magnitudes import LAPLACE, UNIFORM


def chunk_law_excess() -> Statement:
    """0 ≤ ε_b − ε(k/b) ≤ (1 − k/b) C(b, k) (k/b)^k (1 − k/b)^(b−k) for every law; both are attained.

    Above by entries that are 0 or ±1, the latter with probability k/b; below by entries of one magnitude. The bound is
    the limit of `chunk_mean_excess` for many chunks, and at most √((1 − k/b)/(2πk)).

    Source: ours.
    """
    share = k / chunk_size
    bound = (1 - share) * sympy.binomial(chunk_size, k) * share**k * (1 - share) ** (chunk_size - k)
    return Statement(
        label="chunk_law_excess",
        title="Chunks of independent entries against the whole vector, any law",
        assumptions=(CHUNKED, r"$\epsilon$ is the ratio of Top-$k$ of the law at density $k/b$, without chunks"),
        relation=sympy.Le(law_excess, bound, evaluate=False),
        domain=DOMAIN,
        source="ours",
        derivation=(
            *beta_steps(),
            Step(
                "ε is a mean of max(0, 1 − t/c) over c in (0, 1]: convex, from 1 to 0", _hinges, argued="any convex ε"
            ),
            Step("c ≤ k/b: E max(0, 1 − T/c) grows with c", _grows_below),
            Step("c ≥ k/b: E max(0, T/c − 1) falls with c", _falls_above),
            Step("t(1 − t) times the density of T has the derivative (k − bt) times it", _density_moves),
            Step(
                "so at c = k/b: E max(0, k/b − T)/(k/b) is the bound",
                lambda: _at_the_mean(bound),
                concludes=bound,
            ),
        ),
    )


def chunk_first_order() -> Statement:
    """b(ε_b − ε(κ)) → κ(1 − κ)z/(f(z) E u²) as b → ∞ at fixed κ = k/b, f the density of |u|, z its level at κ.

    3κ(1 − κ)² for the uniform law, (1 − κ)ln(1/κ)/2 for the Laplace law, κ(1 − κ)z/(2φ(z)) for the Gaussian. So what
    chunks cost falls like 1/b for laws with a density, where the worst law of `chunk_law_excess` has 1/√b.

    Source: ours.
    """
    bound = kappa * (1 - kappa) * kept_level / (density_at_level * energy)
    return Statement(
        label="chunk_first_order",
        title="What chunks cost, to first order in their size",
        assumptions=(
            CHUNKED,
            r"$\kappa=k/b$ is fixed; $|u|$ has a density that is positive and differentiable near $z$",
            r"$\Pr(|u|>z)=\kappa$, $f(z)$ is that density at $z$, and $M=\mathbb{E}\,u^2$",
        ),
        relation=sympy.Eq(excess_slope, bound),
        domain=(sympy.Lt(kappa, 1),),
        source="ours",
        derivation=(
            *beta_steps(),
            Step("T has the variance κ(1 − κ)/(b + 1)", lambda: _central(2) - kappa * (1 - kappa) / (chunk_size + 1)),
            Step("ε' = −z²/M and z' = −1/f(z), so ε'' = 2z/(f(z)M)", _curvature),
            Step(
                "b ε''/2 times the variance tends to the bound",
                lambda: sympy.limit(chunk_size * _central(2) / 2, chunk_size, sympy.oo) * _second() - bound,
                concludes=bound,
            ),
            Step(
                "b times the root of the second moment of T − κ times the fourth, and b times the fourth, vanish",
                _rest_vanishes,
                argued="what Taylor leaves is at most a constant times |T − κ|³ near κ, and 1 elsewhere",
            ),
            Step("uniform: 3κ(1 − κ)²; Laplace: (1 − κ)ln(1/κ)/2", lambda: _two_laws(bound)),
        ),
    )


def _hinges() -> sympy.Basic:
    """∫ max(0, 1 − t/c) c ε''(c) dc = ε(t) for ε = (1 − t)³, whose ε'' is 6(1 − c)."""
    place = sympy.Symbol("c", positive=True)
    mixed = sympy.integrate((1 - PLACE / place) * place * 6 * (1 - place), (place, PLACE, 1))
    return sympy.Eq(sympy.expand(mixed - (1 - PLACE) ** 3), 0)


def _grows_below() -> sympy.Basic:
    """1 − t/c at t < c has the slope t/c² in c."""
    place = sympy.Symbol("c", positive=True)
    return sympy.true if sympy.diff(1 - PLACE / place, place).is_positive else sympy.false


def _falls_above() -> sympy.Basic:
    """T/c − 1 has the slope −T/c²; its mean above c is E max(0, 1 − T/c) − (1 − k/(bc))."""
    place, mean = sympy.symbols("c m", positive=True)
    falls = sympy.true if sympy.diff(PLACE / place - 1, place).is_negative else sympy.false
    positive, negative = sympy.Symbol("pos"), sympy.Symbol("neg")
    same = sympy.Eq((positive - negative - (mean / place - 1)).subs(positive, negative + mean / place - 1), 0)
    return sympy.And(falls, same)


def _density_moves() -> sympy.Basic:
    density = _beta_density(k, OTHERS)
    slope = sympy.diff(PLACE * (1 - PLACE) * density, PLACE)
    return sympy.Eq(sympy.simplify(slope / density - (k - (k + OTHERS) * PLACE)), 0)


def _at_the_mean(bound: sympy.Expr) -> sympy.Basic:
    """∫_0^{k/b} (k/b − t) density = t(1 − t)density/b at t = k/b."""
    total = k + OTHERS
    mean = k / total
    area = (PLACE * (1 - PLACE) * _beta_density(k, OTHERS) / total).subs(PLACE, mean)
    quotient = (area / mean) / bound.subs(chunk_size, total).rewrite(sympy.gamma)
    return sympy.Eq(sympy.gammasimp(sympy.simplify(quotient)), 1)


def _beta_density(count: sympy.Expr, others: sympy.Expr) -> sympy.Expr:
    beta = sympy.gamma(count) * sympy.gamma(others) / sympy.gamma(count + others)
    return PLACE ** (count - 1) * (1 - PLACE) ** (others - 1) / beta


def _central(order: int) -> sympy.Expr:
    """E (T − κ)^order for k = κb."""
    raw = [sympy.S.One, *(moment(sympy.Integer(power)) for power in range(1, order + 1))]
    numbers = {k: kappa * chunk_size, OTHERS: (1 - kappa) * chunk_size}
    terms = (
        sympy.binomial(order, power) * mean.subs(numbers, simultaneous=True) * (-kappa) ** (order - power)
        for power, mean in enumerate(raw)
    )
    return sympy.factor(sympy.cancel(sympy.gammasimp(sum(terms))))


def _second() -> sympy.Expr:
    return 2 * kept_level / (density_at_level * energy)


def _curvature() -> sympy.Basic:
    """κ = ∫_z f and Mε = ∫_0^z x² f: both have derivatives in z."""
    level, density = sympy.Symbol("x", positive=True), sympy.Function("f")
    mass_slope, ratio_slope = -density(level), level**2 * density(level) / energy
    first = sympy.simplify(ratio_slope / mass_slope)
    second = sympy.diff(first, level) / mass_slope
    known = {density(level): density_at_level, level: kept_level}
    return sympy.And(
        sympy.Eq(first + level**2 / energy, 0), sympy.Eq(sympy.simplify(second.subs(known) - _second()), 0)
    )


def _rest_vanishes() -> sympy.Basic:
    third = sympy.limit(sympy.cancel(chunk_size**2 * _central(2) * _central(4)), chunk_size, sympy.oo)
    fourth = sympy.limit(sympy.cancel(chunk_size * _central(4)), chunk_size, sympy.oo)
    return sympy.And(sympy.Eq(third, 0), sympy.Eq(fourth, 0))


def _two_laws(bound: sympy.Expr) -> sympy.Basic:
    expected = {UNIFORM: 3 * kappa * (1 - kappa) ** 2, LAPLACE: (1 - kappa) * -sympy.log(kappa) / 2}
    facts = []
    for law, value in expected.items():
        level = law.quantile
        density = law.density if not law.density.free_symbols else law.density.subs(level_symbol(law), level)
        known = {kept_level: level, density_at_level: density, energy: law.second_moment}
        facts.append(sympy.Eq(sympy.simplify(bound.subs(known, simultaneous=True) - value), 0))
    return sympy.And(*facts)


STATEMENTS = by_label(__name__, chunk_law_excess, chunk_first_order)
"""The statements of this file."""
