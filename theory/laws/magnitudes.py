"""Which laws of magnitudes do the statements speak of, and what leads from a density to the ratio of Top-k?

A law is a density on magnitudes with the mass and the energy below a level z. That they belong together is checked by
differentiation, for symbolic parameters, in `law_steps`. Used by `theory/laws/formulas.py` and
`theory/laws/gaussian_tails.py`. Ours.
"""

from dataclasses import dataclass

import sympy

from sparsync.theory.language.quantiles import (
    LEVEL,
    GammaQuantile,
    MixtureQuantile,
    NormalQuantile,
    RegularisedBeta,
    RegularisedGamma,
    ShiftedNormalQuantile,
    StudentQuantile,
)
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import df, kappa, mean, scale, shape, share, tail_exponent

MASS = sympy.Symbol("mass", nonnegative=True)
"""P(|u| ≤ z) where it appears in an energy; it is 1 − κ at the quantile."""
ONE, HALF = sympy.Integer(1), sympy.Rational(1, 2)


@dataclass(frozen=True)
class Law:
    """A law of magnitudes |u| on (0, end), as functions of the level z.

    Args:
        density: of |u|.
        second_moment: E[u²].
        mass: P(|u| ≤ z).
        energy: E[u²; |u| ≤ z]/E[u²], in z and `MASS`.
        quantile: the level that |u| exceeds with probability κ.
        end: the largest magnitude.
    """

    density: sympy.Expr
    second_moment: sympy.Expr
    mass: sympy.Expr
    energy: sympy.Expr
    quantile: sympy.Expr
    end: sympy.Expr = sympy.oo

    @property
    def energy_of_level(self) -> sympy.Expr:
        """The energy in z alone."""
        return self.energy.subs(MASS, self.mass)

    @property
    def ratio(self) -> sympy.Expr:
        """The energy at the quantile, in κ."""
        return self.energy.subs({MASS: 1 - kappa, LEVEL: self.quantile}, simultaneous=True)


def law_steps(law: Law, bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps that lead from the density to the ratio."""
    return (
        Step("the mass has the density as its derivative", lambda: sympy.diff(law.mass, LEVEL) - law.density),
        Step("the mass grows from 0 to 1", lambda: _grows_to_one(law.mass, law.end)),
        Step("E[u²] times the energy has z² times the density as its derivative", lambda: _energy_residue(law)),
        Step("the energy grows from 0 to 1, so E[u²] is the second moment", lambda: _energy_grows_to_one(law)),
        Step("mass(z(κ)) falls with slope −1 in κ, and z(1) = 0: it is 1 − κ", lambda: _quantile_inverts(law)),
        Step(
            "the energy at z(κ) is the ratio",
            lambda: _in_logarithm(law.ratio - bound),
            concludes=bound,
            argued="that a long vector leaves the energy below z(κ), by the law of large numbers",
        ),
    )


def same_law_step(claim: str, first: Law, second: Law, *, stretch: sympy.Expr = ONE) -> Step:
    """A step: a magnitude of the first law is `stretch` times one of the second, in mass and in energy."""

    def residue() -> sympy.Basic:
        pairs = ((first.mass, second.mass), (first.energy_of_level, second.energy_of_level))
        differences = [left.subs(LEVEL, stretch * LEVEL) - right for left, right in pairs]
        return sympy.And(*(vanishes(difference) for difference in differences))

    return Step(claim, residue)


def share_step(law: Law, bound: sympy.Expr) -> Step:
    """A step: δ lies between 0 and 1, so an upper bound that exceeds 1 is 1, and a lower bound below 0 is 0.

    Args:
        law: of the magnitudes.
        bound: Min(1, …) or Max(0, …).
    """
    side = "δ ≥ 0" if isinstance(bound, sympy.Max) else "δ = 1 − ε ≤ 1"
    part = "δ" if isinstance(bound, sympy.Max) else "ε"
    return Step(
        f"{side}: {part} is an integral of z²f/E[u²] with f ≥ 0", lambda: _density_is_nonnegative(law), concludes=bound
    )


def with_value(law: Law, symbol: sympy.Symbol, number: int) -> Law:
    """The law at one value of one parameter."""
    fields = (law.density, law.second_moment, law.mass, law.energy, law.quantile, law.end)
    return Law(*(field.subs(symbol, number) for field in fields))


def standard_density(level: sympy.Expr) -> sympy.Expr:
    """φ(z) = e^(−z²/2)/√(2π)."""
    return sympy.exp(-(level**2) / 2) / sympy.sqrt(2 * sympy.pi)


def shifted_surplus(level: sympy.Expr) -> sympy.Expr:
    """((z + m)φ(z − m) + (z − m)φ(z + m))/(1 + m²): the share of the energy of N(m, 1) above z, less κ."""
    above, below = standard_density(level - mean), standard_density(level + mean)
    return ((level + mean) * above + (level - mean) * below) / (1 + mean**2)


def mixture_energy(level: sympy.Expr, mass: sympy.Expr) -> sympy.Expr:
    """The energy of the mixture below z, from its mass there and that of the spikes, erf(z/(s√2))."""
    spikes, rest = scale * sympy.exp(-(level**2) / (2 * scale**2)), sympy.exp(-(level**2) / 2)
    loss = sympy.sqrt(2 / sympy.pi) * level * (share * spikes + (1 - share) * rest)
    gain = share * (scale**2 - 1) * sympy.erf(level / (scale * sympy.sqrt(2)))
    return (mass + gain - loss) / (share * scale**2 + 1 - share)


def _at_end(expression: sympy.Expr, end: sympy.Expr) -> sympy.Expr:
    """The limit at the end of the law; P and I are continuous, so the limit goes to their last argument."""
    inside = expression.replace(
        lambda part: isinstance(part, RegularisedGamma | RegularisedBeta),
        lambda part: part.func(*part.args[:-1], sympy.limit(part.args[-1], LEVEL, end, "-")),
    )
    return sympy.limit(inside, LEVEL, end, "-")


def _grows_to_one(expression: sympy.Expr, end: sympy.Expr) -> sympy.Basic:
    return sympy.And(
        sympy.Eq(sympy.simplify(expression.subs(LEVEL, 0)), 0), sympy.Eq(sympy.simplify(_at_end(expression, end)), 1)
    )


def _density_is_nonnegative(law: Law) -> sympy.Basic:
    """With the share of the spikes written as s/(s + r)."""
    spikes, rest = sympy.symbols("s r", positive=True)
    density = sympy.factor(sympy.together(law.density.subs(share, spikes / (spikes + rest))))
    return sympy.And(sympy.Eq(_energy_residue(law), 0), sympy.true if density.is_nonnegative else sympy.false)


def _energy_residue(law: Law) -> sympy.Expr:
    slope = sympy.diff(law.energy_of_level, LEVEL)
    return sympy.gammasimp(sympy.simplify(law.second_moment * slope / (LEVEL**2 * law.density))) - 1


def _energy_grows_to_one(law: Law) -> sympy.Basic:
    return _grows_to_one(law.energy_of_level, law.end)


def _quantile_inverts(law: Law) -> sympy.Basic:
    slope = sympy.simplify(_in_logarithm(sympy.diff(law.mass.subs(LEVEL, law.quantile), kappa)))
    return sympy.And(sympy.Eq(slope, -1), sympy.Eq(law.quantile.subs(kappa, 1), 0))


def _in_logarithm(expression: sympy.Expr) -> sympy.Expr:
    """The expression at κ = e^(−ℓ), ℓ > 0, so that powers of ln(1/κ) combine."""
    return expression.subs(kappa, sympy.exp(-sympy.Symbol("l", positive=True)))


def vanishes(difference: sympy.Expr) -> sympy.Basic:
    """True iff a function of z is zero: its derivative is, and its value at 0."""
    slope = sympy.gammasimp(sympy.simplify(sympy.diff(difference, LEVEL)))
    return sympy.And(sympy.Eq(slope, 0), sympy.Eq(sympy.simplify(difference.subs(LEVEL, 0)), 0))


_LOG = -sympy.log(kappa)
_POWER = LEVEL**tail_exponent

GAUSSIAN = Law(
    density=2 * standard_density(LEVEL),
    second_moment=ONE,
    mass=NormalQuantile.mass(LEVEL),
    energy=MASS - sympy.sqrt(2 / sympy.pi) * LEVEL * sympy.exp(-(LEVEL**2) / 2),
    quantile=NormalQuantile(kappa),
)
"""|N(0, 1)|."""
LAPLACE = Law(
    density=sympy.exp(-LEVEL),
    second_moment=sympy.Integer(2),
    mass=1 - sympy.exp(-LEVEL),
    energy=1 - sympy.exp(-LEVEL) * (1 + LEVEL + LEVEL**2 / 2),
    quantile=_LOG,
)
"""The exponential law of mean 1."""
UNIFORM = Law(density=ONE, second_moment=sympy.Rational(1, 3), mass=LEVEL, energy=LEVEL**3, quantile=1 - kappa, end=ONE)
"""The uniform law on (0, 1)."""
STUDENT_T = Law(
    density=2
    * sympy.gamma((df + 1) / 2)
    / (sympy.sqrt(df * sympy.pi) * sympy.gamma(df / 2))
    / (1 + LEVEL**2 / df) ** ((df + 1) / 2),
    second_moment=df / (df - 2),
    mass=StudentQuantile.mass(LEVEL, df),
    energy=RegularisedBeta(sympy.Rational(3, 2), df / 2 - 1, LEVEL**2 / (df + LEVEL**2)),
    quantile=StudentQuantile(df, kappa),
)
"""|t| with ν > 2 degrees of freedom."""
_SINE = LEVEL / sympy.sqrt(4 + LEVEL**2)
STUDENT_T_OF_FOUR = Law(
    density=12 / (4 + LEVEL**2) ** sympy.Rational(5, 2),
    second_moment=sympy.Integer(2),
    mass=_SINE * (3 - _SINE**2) / 2,
    energy=_SINE**3,
    quantile=StudentQuantile(4, kappa),
)
"""|t| with 4 degrees of freedom, in algebraic functions."""
GENERALISED_GAUSSIAN = Law(
    density=tail_exponent * sympy.exp(-_POWER) / sympy.gamma(1 / tail_exponent),
    second_moment=sympy.gamma(3 / tail_exponent) / sympy.gamma(1 / tail_exponent),
    mass=RegularisedGamma(1 / tail_exponent, _POWER),
    energy=RegularisedGamma(3 / tail_exponent, _POWER),
    quantile=GammaQuantile(1 / tail_exponent, kappa) ** (1 / tail_exponent),
)
"""Density proportional to exp(−|u|^β)."""
GAMMA = Law(
    density=LEVEL ** (shape - 1) * sympy.exp(-LEVEL) / sympy.gamma(shape),
    second_moment=shape * (shape + 1),
    mass=RegularisedGamma(shape, LEVEL),
    energy=RegularisedGamma(shape + 2, LEVEL),
    quantile=GammaQuantile(shape, kappa),
)
"""Gamma with shape a and scale 1."""
WEIBULL = Law(
    density=shape * LEVEL ** (shape - 1) * sympy.exp(-(LEVEL**shape)),
    second_moment=sympy.gamma(1 + 2 / shape),
    mass=1 - sympy.exp(-(LEVEL**shape)),
    energy=RegularisedGamma(1 + 2 / shape, LEVEL**shape),
    quantile=_LOG ** (1 / shape),
)
"""Weibull with shape a and scale 1."""
SHIFTED_GAUSSIAN = Law(
    density=standard_density(LEVEL - mean) + standard_density(LEVEL + mean),
    second_moment=1 + mean**2,
    mass=ShiftedNormalQuantile.mass(LEVEL, mean),
    energy=MASS - shifted_surplus(LEVEL),
    quantile=ShiftedNormalQuantile(mean, kappa),
)
"""|N(m, 1)|."""
SPIKE_MIXTURE = Law(
    density=2 * (share * standard_density(LEVEL / scale) / scale + (1 - share) * standard_density(LEVEL)),
    second_moment=share * scale**2 + 1 - share,
    mass=MixtureQuantile.mass(LEVEL, share, scale),
    energy=mixture_energy(LEVEL, MASS),
    quantile=MixtureQuantile(share, scale, kappa),
)
"""|N(0, s²)| with weight ω, |N(0, 1)| with weight 1 − ω."""
