"""How much of the energy does Top-k send where the magnitudes are gamma-distributed, or Laplace, their simplest case?

Two-sided bounds for every density, in the level q that a share κ of the magnitudes exceeds. They come from the hazard
rate of the gamma law, which lies between 1 and (q + 1 − a)/q; both are equal for a = 1, the exact Laplace law. Ours.
"""

import sympy

from sparsync.theory.language.quantiles import LEVEL, GammaQuantile, RegularisedGamma
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, kappa, shape
from sparsync.theory.laws.gaussian_tails import gain_statement
from sparsync.theory.laws.magnitudes import GAMMA, LAPLACE, share_step, vanishes

GAMMA_LAW = "$|u|$ is gamma with shape $a$"


def laplace_gain() -> Statement:
    """δ = κ((1 + ℓ)² + 1)/2 with ℓ = ln(1/κ), for the Laplace law: the exact law is its own expansion in ln(1/κ).

    Source: ours.
    """
    log = sympy.Symbol("l", positive=True)
    bound = kappa * ((1 - sympy.log(kappa)) ** 2 + 1) / 2

    def law_difference() -> sympy.Expr:
        return sympy.expand((1 - LAPLACE.ratio - bound).subs(kappa, sympy.exp(-log)))

    def relative_limit() -> sympy.Expr:
        kept = (bound / kappa).subs(kappa, sympy.exp(-log))
        return sympy.limit(kept / log**2, log, sympy.oo) - 1 / LAPLACE.second_moment

    return gain_statement(
        "laplace_gain",
        "Laplace: the gain is a square of 1 + ln(1/κ), exactly",
        sympy.Eq(delta, bound, evaluate=False),
        law=r"$|u|$ is exponential",
        kind="definition",
        derivation=(
            Step("1 − ε in ℓ is the bound in ℓ", law_difference, concludes=bound),
            Step("the gain over ℓ² tends to 1/E[u²] = 1/2", relative_limit),
        ),
    )


def gamma_gain_lower() -> Statement:
    """δ ≥ κ(q² + (a+1)q + a(a+1) − (a−1)⁺(q+a+1))/(a(a+1)) with q = q(a, κ), for |u| gamma with shape a.

    Source: ours.
    """
    bound = _bound(-sympy.Max(shape - 1, 0))
    return gain_statement(
        "gamma_gain_lower",
        "Gamma: a lower bound on the gain, q²/(a(a+1)) for small κ",
        sympy.Ge(delta, bound, evaluate=False),
        law=GAMMA_LAW,
        derivation=(
            *_hazard_steps(),
            Step(
                "the bound is the first for a ≤ 1, the second for a ≥ 1",
                lambda: _cases(bound, small_shape=sympy.Integer(0), large_shape=1 - shape),
                concludes=bound,
            ),
            Step("ln(1/κ)/q → 1: the bounds in ln(1/κ) are like ln²(1/κ)/(a(a+1))", level_is_like_logarithm),
        ),
    )


def gamma_gain_upper() -> Statement:
    """δ ≤ min(1, κ(q² + (a+1)q + a(a+1) + (1−a)⁺(q+a+1))/(a(a+1))), q = q(a, κ), for |u| gamma with shape a.

    Source: ours.
    """
    bound = _bound(sympy.Max(1 - shape, 0))
    return gain_statement(
        "gamma_gain_upper",
        "Gamma: an upper bound on the gain, q²/(a(a+1)) for small κ",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        law=GAMMA_LAW,
        derivation=(
            *_hazard_steps(),
            Step(
                "the bound is the second for a ≤ 1, the first for a ≥ 1",
                lambda: _cases(bound, small_shape=1 - shape, large_shape=sympy.Integer(0)),
            ),
            share_step(GAMMA, sympy.Min(1, bound)),
            Step("ln(1/κ)/q → 1: the bounds in ln(1/κ) are like ln²(1/κ)/(a(a+1))", level_is_like_logarithm),
        ),
    )


def upper_mass(order: sympy.Expr) -> sympy.Expr:
    """Q(a, z) = 1 − P(a, z)."""
    return 1 - RegularisedGamma(order, LEVEL)


def gamma_density(order: sympy.Expr) -> sympy.Expr:
    """z^(a−1) e^(−z)/Γ(a)."""
    return LEVEL ** (order - 1) * sympy.exp(-LEVEL) / sympy.gamma(order)


def density_excess(order: sympy.Expr) -> sympy.Expr:
    """D = f − Q, which is ≥ 0 for a ≤ 1 and ≤ 0 for a ≥ 1."""
    return gamma_density(order) - upper_mass(order)


def density_excess_step() -> Step:
    """D rises to 0 for a ≥ 1 and falls to 0 for a ≤ 1, so that it has the sign of 1 − a."""
    return Step("D = f − Q has D' = (a−1)f/z and D(∞) = 0: D ≥ 0 for a ≤ 1, D ≤ 0 for a ≥ 1", _excess_slope)


def value_at_infinity(expression: sympy.Expr) -> sympy.Expr:
    """The limit at z = ∞, with P(a, ∞) = 1 put in first: it is approached faster than any power of z grows."""
    inside = expression.replace(
        lambda part: isinstance(part, RegularisedGamma), lambda part: part.func(part.args[0], sympy.oo)
    )
    return sympy.limit(inside, LEVEL, sympy.oo)


def level_is_like_logarithm() -> sympy.Basic:
    """True iff −ln(f)/z and −ln(zf/(z + 1 − a))/z tend to 1: Q lies between the two."""
    density = gamma_density(shape)
    sides = (density, density * LEVEL / (LEVEL + 1 - shape))
    logarithms = (sympy.expand_log(-sympy.log(side), force=True) for side in sides)
    return sympy.And(*(sympy.Eq(sympy.limit(logarithm / LEVEL, LEVEL, sympy.oo), 1) for logarithm in logarithms))


def _bound(correction: sympy.Expr) -> sympy.Expr:
    level = GammaQuantile(shape, kappa)
    product = shape * (shape + 1)
    return kappa * (level**2 + (shape + 1) * level + product + correction * (level + shape + 1)) / product


def _scaled_excess() -> sympy.Expr:
    """F = zf − (z + 1 − a)Q."""
    return LEVEL * gamma_density(shape) - (LEVEL + 1 - shape) * upper_mass(shape)


def _hazard_steps() -> tuple[Step, ...]:
    return (
        Step("δ = κ + zf(z + a + 1)/(a(a+1)): the recurrence of Γ(a, z) twice", _recurrence),
        density_excess_step(),
        Step("F = zf − (z+1−a)Q has F' = D and F(∞) = 0: F ≤ 0 for a ≤ 1, F ≥ 0 for a ≥ 1", _scaled_slope),
        Step("δ − κ(z² + (a+1)z + a(a+1))/(a(a+1)) = z(z+a+1)D/(a(a+1))", lambda: _surplus(0, LEVEL * _excess())),
        Step("δ − κ((z+1)² + a)/(a(a+1)) = (z+a+1)F/(a(a+1))", lambda: _surplus(1 - shape, _scaled_excess())),
    )


def _excess() -> sympy.Expr:
    return density_excess(shape)


def _recurrence() -> sympy.Basic:
    gain = LEVEL * gamma_density(shape) * (LEVEL + shape + 1) / (shape * (shape + 1))
    return vanishes(1 - GAMMA.energy - (upper_mass(shape) + gain))


def _excess_slope() -> sympy.Basic:
    slope = sympy.diff(_excess(), LEVEL) - (shape - 1) * gamma_density(shape) / LEVEL
    return sympy.And(sympy.Eq(sympy.simplify(slope), 0), sympy.Eq(value_at_infinity(_excess()), 0))


def _scaled_slope() -> sympy.Basic:
    slope = sympy.diff(_scaled_excess(), LEVEL) - _excess()
    return sympy.And(sympy.Eq(sympy.simplify(slope), 0), sympy.Eq(value_at_infinity(_scaled_excess()), 0))


def _surplus(correction: sympy.Expr, excess: sympy.Expr) -> sympy.Basic:
    """True iff δ − bound is (z + a + 1)/(a(a+1)) times the excess, for the bound with this correction."""
    bound = _bound(correction).subs(GammaQuantile(shape, kappa), LEVEL).subs(kappa, upper_mass(shape))
    return vanishes(1 - GAMMA.energy - bound - (LEVEL + shape + 1) * excess / (shape * (shape + 1)))


def _cases(bound: sympy.Expr, *, small_shape: sympy.Expr, large_shape: sympy.Expr) -> sympy.Basic:
    """True iff the bound, with the positive part of a − 1 or 1 − a, is one of the two for a = 1 ± c.

    Args:
        bound: in κ.
        small_shape: the correction of the bound that holds for a ≤ 1.
        large_shape: the correction of the bound that holds for a ≥ 1.
    """
    distance = sympy.Symbol("c", nonnegative=True)
    sides = ((large_shape, 1 + distance), (small_shape, 1 - distance))
    differences = ((bound - _bound(correction)).subs(shape, order) for correction, order in sides)
    return sympy.And(*(sympy.Eq(sympy.simplify(difference), 0) for difference in differences))


STATEMENTS = by_label(__name__, laplace_gain, gamma_gain_lower, gamma_gain_upper)
"""The statements of this file."""
