"""How much of the energy does Top-k send at small densities where a Gaussian is shifted, or mixed with a wider one?

Two-sided bounds in the level z that a share κ of the magnitudes exceeds. N(m, 1) and N(−m, 1) have the same magnitudes,
so both laws are mixtures of Gaussian tails; the Mills ratio of each bounds the energy above z. Of a mixture the widest
part decides: its variance is the constant in front of ln(1/κ). Ours.
"""

import sympy

from sparsync.theory.language.quantiles import LEVEL, MixtureQuantile, ShiftedNormalQuantile
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, kappa, mean, scale, share
from sparsync.theory.laws.gaussian_tails import gain_statement, is_nonnegative, mills_lower_steps, mills_upper_steps
from sparsync.theory.laws.magnitudes import (
    SHIFTED_GAUSSIAN,
    SPIKE_MIXTURE,
    share_step,
    shifted_surplus,
    standard_density,
)

BEYOND = sympy.Symbol("y", positive=True)
"""Distance |z − m| of the level from the mean."""
NEAR, FAR = sympy.symbols("kappa_1 kappa_2", positive=True)
"""The shares of two tails that make up κ: at z − m and z + m, or of the spikes and of the rest, each of them whole."""
FIRST_ROOM, SECOND_ROOM = sympy.symbols("x_1 x_2", nonnegative=True)
"""How much a bound on a Mills ratio leaves."""
WIDEST = sympy.Max(scale**2, 1)
"""The variance of the wider part of a mixture."""
SHIFTED_LAW = r"$u\sim\mathcal{N}(\mu,\sigma^2)$, $m=|\mu|/\sigma$"
MIXTURE_LAW = r"a share $\omega$ of the coordinates is $\mathcal{N}(0,s^2)$, the rest $\mathcal{N}(0,1)$"


def shifted_gaussian_gain_lower() -> Statement:
    """δ ≥ κ(1 + z²)/(1 + m²) for N(μ, σ²) with m = |μ|/σ and P(|N(m, 1)| > z) = κ; m = 0 is the Gaussian.

    Source: ours.
    """
    bound = kappa * (1 + ShiftedNormalQuantile(mean, kappa) ** 2) / (1 + mean**2)
    return gain_statement(
        "shifted_gaussian_gain_lower",
        "Gaussian with a mean: the gain is at least (1 + z²)/(1 + (μ/σ)²)",
        sympy.Ge(delta, bound, evaluate=False),
        law=SHIFTED_LAW,
        derivation=(
            *mills_upper_steps(),
            Step("z = m + y: κ_1 ≤ φ(y)/y and κ_2 ≤ φ(z + m)/(z + m) give δ ≥ bound", lambda: _far_level(bound)),
            Step("z = m − y: δ ≥ κ and z ≤ m give δ ≥ bound", lambda: _near_level(bound)),
            surplus_step(),
            Step("1 − ε − κ is that surplus", lambda: _shifted_difference(bound), concludes=bound),
            _shifted_logarithm_step(),
        ),
    )


def shifted_gaussian_gain_upper() -> Statement:
    """δ ≤ min(1, κ(1 + z² + (z + m)/(z − m))/(1 + m²)) for N(μ, σ²), m = |μ|/σ, κ ≤ 1/2; m = 0 is the Gaussian.

    Source: ours.
    """
    level = ShiftedNormalQuantile(mean, kappa)
    bound = kappa * (1 + level**2 + (level + mean) / (level - mean)) / (1 + mean**2)
    return gain_statement(
        "shifted_gaussian_gain_upper",
        "Gaussian with a mean: the gain is at most like z²/(1 + (μ/σ)²)",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        law=SHIFTED_LAW,
        densities=(sympy.Le(kappa, sympy.Rational(1, 2)),),
        derivation=(
            Step("the share above m is more than 1/2, so z > m for κ ≤ 1/2", _share_above_mean),
            *mills_lower_steps(),
            Step("z = m + y: φ(y) ≤ (y + 1/y)κ_1 and the same at z + m give δ ≤ bound", lambda: _below_upper(bound)),
            Step("1 − ε − κ is that surplus", lambda: _shifted_difference(bound)),
            share_step(SHIFTED_GAUSSIAN, sympy.Min(1, bound)),
            _shifted_logarithm_step(),
        ),
    )


def spike_mixture_gain_lower() -> Statement:
    """δ ≥ κ(1 + z²/E[u²]), E[u²] = ωs² + 1 − ω, for a share ω of N(0, s²) in N(0, 1); equality at κ = 1.

    Source: ours.
    """
    bound = kappa * (1 + MixtureQuantile(share, scale, kappa) ** 2 / SPIKE_MIXTURE.second_moment)
    return gain_statement(
        "spike_mixture_gain_lower",
        "Mixture of two Gaussians: a lower bound on the gain in the level",
        sympy.Ge(delta, bound, evaluate=False),
        law=MIXTURE_LAW,
        domain=(sympy.Le(share, 1),),
        derivation=(
            *mills_upper_steps(),
            Step("κ_1 = P(|N(0, s²)| > z) rises with s: (s² − 1)(κ_1 − κ_2) ≥ 0", _wider_tail_is_larger),
            Step(
                "δ E[u²] = z²κ + ωs²κ_1 + (1−ω)κ_2 + x, x ≥ 0, and ωs²κ_1 + (1−ω)κ_2 ≥ κ E[u²]",
                lambda: _mixture_lower(bound),
                concludes=bound,
            ),
        ),
    )


def spike_mixture_gain_upper() -> Statement:
    """δ ≤ min(1, κ(z² + 2 max(s², 1))/E[u²]), E[u²] = ωs² + 1 − ω, for a share ω of N(0, s²) in N(0, 1).

    With the lower bound the gain is like 2 max(s², 1) ln(1/κ)/E[u²] for 0 < ω < 1: the wider part dominates.

    Source: ours.
    """
    bound = kappa * (MixtureQuantile(share, scale, kappa) ** 2 + 2 * WIDEST) / SPIKE_MIXTURE.second_moment
    return gain_statement(
        "spike_mixture_gain_upper",
        "Mixture of two Gaussians: an upper bound on the gain in the level",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        law=MIXTURE_LAW,
        domain=(sympy.Le(share, 1),),
        derivation=(
            *mills_lower_steps(),
            Step("w = max(s², 1) is at least s² and at least 1", _widest_is_larger),
            Step(
                "(bound − δ)E[u²] = 2ω(w − s²)κ_1 + 2(1 − ω)(w − 1)κ_2 + x with x ≥ 0",
                lambda: _mixture_upper(bound),
            ),
            share_step(SPIKE_MIXTURE, sympy.Min(1, bound)),
            Step(
                "φ(z)/φ(z/s) falls like e^(−rz²), r > 0, for s > 1: with ω > 0 the wider part is all of κ",
                _widest_dominates,
                argued="that tails are to each other like their densities, up to powers of z",
            ),
            Step(
                "for s > 1, ω > 0 its logarithm is −z²/(2s²): the gain is like 2s² ln(1/κ)/E[u²]",
                _mixture_logarithm,
                argued="that κ is like the tail of the wider part",
            ),
        ),
    )


def _shifted_logarithm_step() -> Step:
    return Step(
        "(1 + z²)/(1 + m²) is like 2 ln(1/κ)/(1 + m²)",
        _shifted_logarithm,
        argued="that κ lies between κ_1 and 2κ_1, and κ_1 between the two sides whose logarithms are compared",
    )


def surplus_step() -> Step:
    """For N(m, 1) the share of the energy above z is at least κ."""
    return Step("δ − κ ≥ 0: e^(2mz) = 1 + x makes (z + m)e^(2mz) + z − m = 2z + (z + m)x", _surplus_is_nonnegative)


def _surplus_is_nonnegative() -> sympy.Basic:
    growth = sympy.Symbol("x", nonnegative=True)
    gap = sympy.simplify(shifted_surplus(LEVEL) * (1 + mean**2) / standard_density(LEVEL + mean))
    exponential = sympy.exp(2 * mean * LEVEL)
    linear = sympy.expand(gap).subs(exponential, 1 + growth)
    return sympy.And(
        sympy.Eq(sympy.expand(linear - (2 * LEVEL + (LEVEL + mean) * growth)), 0),
        sympy.sympify((2 * LEVEL + (LEVEL + mean) * growth).is_nonnegative),
    )


def _surplus(near: sympy.Expr, far: sympy.Expr, level: sympy.Expr) -> sympy.Expr:
    """δ − κ where near = φ(z − m) and far = φ(z + m)."""
    return ((level + mean) * near + (level - mean) * far) / (1 + mean**2)


def _shifted_difference(bound: sympy.Expr) -> sympy.Expr:
    """δ − bound − (κ + surplus − bound), which is zero if the law keeps κ + surplus."""
    level = ShiftedNormalQuantile(mean, kappa)
    kept = kappa + _surplus(standard_density(level - mean), standard_density(level + mean), level)
    return sympy.expand((1 - SHIFTED_GAUSSIAN.ratio - bound) - (kept - bound))


def _room(bound: sympy.Expr, near: sympy.Expr, far: sympy.Expr) -> sympy.Expr:
    """(1 + m²)(δ − bound) at z = m + y, κ = κ_1 + κ_2."""
    level = mean + BEYOND
    at_level = bound.subs(ShiftedNormalQuantile(mean, kappa), level).subs(kappa, NEAR + FAR)
    return sympy.factor(sympy.expand((NEAR + FAR + _surplus(near, far, level) - at_level) * (1 + mean**2)))


def _far_level(bound: sympy.Expr) -> sympy.Basic:
    near, far = BEYOND * NEAR + FIRST_ROOM, (BEYOND + 2 * mean) * FAR + SECOND_ROOM
    return is_nonnegative(_room(bound, near, far))


def _near_level(bound: sympy.Expr) -> sympy.Basic:
    level, surplus = sympy.Symbol("z", nonnegative=True), sympy.Symbol("surplus", nonnegative=True)
    at_level = bound.subs(ShiftedNormalQuantile(mean, kappa), level)
    room = sympy.factor((kappa + surplus - at_level).subs(mean, level + BEYOND) * (1 + (level + BEYOND) ** 2))
    return sympy.true if sympy.expand(room).is_nonnegative else sympy.false


def _below_upper(bound: sympy.Expr) -> sympy.Basic:
    distance = BEYOND + 2 * mean
    near = (BEYOND + 1 / BEYOND) * NEAR - FIRST_ROOM
    far = (distance + 1 / distance) * FAR - SECOND_ROOM
    return is_nonnegative(-_room(bound, near, far) * BEYOND * distance)


def _share_above_mean() -> sympy.Basic:
    excess = 1 - ShiftedNormalQuantile.mass(mean, mean) - sympy.Rational(1, 2)
    return sympy.And(
        sympy.Eq(sympy.simplify(excess - sympy.erfc(sympy.sqrt(2) * mean).rewrite(sympy.erf) / 2), 0),
        # erfc falls from 1 to 0, so it is positive.
        is_nonnegative(-sympy.diff(sympy.erfc(LEVEL), LEVEL)),
        sympy.Eq(sympy.limit(sympy.erfc(LEVEL), LEVEL, sympy.oo), 0),
    )


def _shifted_logarithm() -> sympy.Basic:
    """True iff −ln of φ(y)/y and of φ(y)y/(1 + y²), y = z − m, are like (1 + z²)/2.

    κ_1 lies between the two, and κ between κ_1 and 2κ_1.
    """
    density = standard_density(BEYOND)
    sides = (density / BEYOND, density * BEYOND / (1 + BEYOND**2))
    logarithms = (sympy.expand_log(-sympy.log(side), force=True) for side in sides)
    half = (1 + (BEYOND + mean) ** 2) / 2
    return sympy.And(*(sympy.Eq(sympy.limit(logarithm / half, BEYOND, sympy.oo), 1) for logarithm in logarithms))


def _parts() -> tuple[sympy.Expr, sympy.Expr]:
    """E[u²; |u| > z] of N(0, s²) and of N(0, 1), less s²κ_1 and κ_2: 2szφ(z/s) and 2zφ(z)."""
    return (
        2 * scale * LEVEL * standard_density(LEVEL / scale),
        2 * LEVEL * standard_density(LEVEL),
    )


def _mixture_kept(first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
    """δ E[u²] from the two parts, as the law has it."""
    return share * (scale**2 * NEAR + first) + (1 - share) * (FAR + second)


def _mixture_residue() -> sympy.Expr:
    """The same from the law itself, less that."""
    tails = {NEAR: 1 - sympy.erf(LEVEL / (scale * sympy.sqrt(2))), FAR: 1 - sympy.erf(LEVEL / sympy.sqrt(2))}
    expected = _mixture_kept(*_parts()).subs(tails)
    return sympy.simplify(sympy.expand((1 - SPIKE_MIXTURE.energy_of_level) * SPIKE_MIXTURE.second_moment - expected))


def _mixture_room(bound: sympy.Expr, first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
    """(δ − bound) E[u²] at κ = ωκ_1 + (1 − ω)κ_2."""
    at_level = bound.subs(MixtureQuantile(share, scale, kappa), LEVEL).subs(kappa, share * NEAR + (1 - share) * FAR)
    return sympy.expand(
        sympy.expand(_mixture_kept(first, second)) - sympy.cancel(at_level * SPIKE_MIXTURE.second_moment)
    )


def _mixture_lower(bound: sympy.Expr) -> sympy.Basic:
    first, second = LEVEL**2 * NEAR + FIRST_ROOM, LEVEL**2 * FAR + SECOND_ROOM
    rooms = share * FIRST_ROOM + (1 - share) * SECOND_ROOM
    spread = share * (1 - share) * (scale**2 - 1) * (NEAR - FAR)
    residue = sympy.expand(_mixture_room(bound, first, second) - rooms - spread)
    return sympy.And(sympy.Eq(_mixture_residue(), 0), sympy.Eq(residue, 0))


def _wider_tail_is_larger() -> sympy.Basic:
    tail = 1 - sympy.erf(LEVEL / (scale * sympy.sqrt(2)))
    return is_nonnegative(sympy.diff(tail, scale))


def _mixture_upper(bound: sympy.Expr) -> sympy.Basic:
    first = (LEVEL**2 + scale**2) * NEAR - FIRST_ROOM
    second = (LEVEL**2 + 1) * FAR - SECOND_ROOM
    rooms = share * FIRST_ROOM + (1 - share) * SECOND_ROOM
    spread = 2 * share * (WIDEST - scale**2) * NEAR + 2 * (1 - share) * (WIDEST - 1) * FAR
    residue = sympy.expand(_mixture_room(bound, first, second) + rooms + spread)
    return sympy.And(sympy.Eq(_mixture_residue(), 0), sympy.Eq(residue, 0))


def _widest_is_larger() -> sympy.Basic:
    distance = sympy.Symbol("e", nonnegative=True)
    squares = (1 + distance, 1 / (1 + distance))
    rooms = [(WIDEST - part).subs(scale, sympy.sqrt(square)) for square in squares for part in (scale**2, 1)]
    return sympy.And(*(is_nonnegative(sympy.piecewise_fold(room.rewrite(sympy.Piecewise))) for room in rooms))


def _widest_dominates() -> sympy.Basic:
    beyond, rate = sympy.symbols("e r", positive=True)
    quotient = standard_density(LEVEL) / standard_density(LEVEL / (1 + beyond))
    slope = sympy.cancel(-sympy.expand_log(sympy.log(quotient), force=True) / LEVEL**2)
    fall = LEVEL * sympy.exp(-rate * LEVEL**2)
    return sympy.And(is_nonnegative(slope), sympy.Eq(sympy.limit(fall, LEVEL, sympy.oo), 0))


def _mixture_logarithm() -> sympy.Basic:
    logarithm = sympy.expand_log(-sympy.log(share * standard_density(LEVEL / scale) * scale / LEVEL), force=True)
    return sympy.Eq(sympy.limit(logarithm / (LEVEL**2 / (2 * scale**2)), LEVEL, sympy.oo), 1)


STATEMENTS = by_label(
    __name__,
    shifted_gaussian_gain_lower,
    shifted_gaussian_gain_upper,
    spike_mixture_gain_lower,
    spike_mixture_gain_upper,
)
"""The statements of this file."""
