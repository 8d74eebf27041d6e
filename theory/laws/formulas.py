"""What does Top-k leave behind of a vector drawn from a known law? Exact formulas, one per law.

The coordinates are independent draws u of one law and d → ∞ at density κ = k/d. Top-k then keeps the magnitudes above
the quantile z, P(|u| > z) = κ, and leaves ε(κ) = E[u²; |u| ≤ z]/E[u²] by the law of large numbers. The laws are defined
in `theory/laws/magnitudes.py`, their quantiles in `theory/language/quantiles.py`; what small densities do to ε is in
`theory/laws/gaussian_tails.py` and in the files on tails.
"""

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
    meanings,
)
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import df, epsilon, kappa, mean, mean_slope, scale, shape, share, tail_exponent
from sparsync.theory.laws import (
    mixture_tails,
)
from sparsync.theory.laws.gaussian_tails import DENSITY_DOMAIN, LONG_VECTOR
from sparsync.theory.laws.magnitudes import (
    GAMMA,
    GAUSSIAN,
    GENERALISED_GAUSSIAN,
    LAPLACE,
    SHIFTED_GAUSSIAN,
    SPIKE_MIXTURE,
    STUDENT_T,
    STUDENT_T_OF_FOUR,
    UNIFORM,
    WEIBULL,
    Law,
    law_steps,
    mixture_energy,
    same_law_step,
    shifted_surplus,
    standard_density,
    with_value,
)


def gaussian_law() -> Statement:
    """ε = 1 − κ − √(2/π) z e^(−z²/2) for N(0, σ²), with z = Φ⁻¹(1 − κ/2).

    Source: ours.
    """
    z = NormalQuantile(kappa)
    bound = 1 - kappa - sympy.sqrt(2 / sympy.pi) * z * sympy.exp(-(z**2) / 2)
    return _law_statement("gaussian_law", "Gaussian", r"$u\sim\mathcal{N}(0,\sigma^2)$", bound, law=GAUSSIAN)


def laplace_law() -> Statement:
    """ε = 1 − κ(1 + ℓ + ℓ²/2) with ℓ = ln(1/κ), for the Laplace law: |u| is exponential.

    Source: ours.
    """
    log = -sympy.log(kappa)
    bound = 1 - kappa * (1 + log + log**2 / 2)
    return _law_statement("laplace_law", "Laplace", r"$|u|$ is exponential", bound, law=LAPLACE)


def uniform_law() -> Statement:
    """ε = (1 − κ)³ for the uniform law on [−a, a]: the cubic bound of bell-shaped laws is attained.

    Source: ours.
    """
    return _law_statement("uniform_law", "Uniform", r"$u$ is uniform on $[-a,a]$", (1 - kappa) ** 3, law=UNIFORM)


def student_t_law() -> Statement:
    """ε = I_y(3/2, ν/2 − 1) at y = z²/(ν + z²), for Student's t with ν > 2 degrees of freedom.

    For ν = 4 it is 8 sin³(arcsin(1 − κ)/3).

    Source: ours.
    """
    z = StudentQuantile(df, kappa)
    bound = RegularisedBeta(sympy.Rational(3, 2), df / 2 - 1, z**2 / (df + z**2))
    return _law_statement(
        "student_t_law",
        "Student's t",
        r"$u$ is Student's $t$ with $\nu$ degrees of freedom, times a scale",
        bound,
        law=STUDENT_T,
        domain=(sympy.Gt(df, 2),),
        special_cases=(
            same_law_step(
                "ν = 4 has the mass w(3 − w²)/2 and the energy w³ with w = z/√(4 + z²)",
                with_value(STUDENT_T, df, 4),
                STUDENT_T_OF_FOUR,
            ),
            Step("w = 2 sin(θ/3) has w(3 − w²)/2 = sin θ, so the energy is 8 sin³(θ/3)", _triple_angle),
        ),
    )


def generalised_gaussian_law() -> Statement:
    """ε = P(3/β, q(1/β, κ)) for a density proportional to exp(−|u|^β), where |u|^β is gamma with shape 1/β.

    Source: ours.
    """
    bound = RegularisedGamma(3 / tail_exponent, GammaQuantile(1 / tail_exponent, kappa))
    return _law_statement(
        "generalised_gaussian_law",
        "Generalised Gaussian",
        r"$u$ has a density proportional to $e^{-|u|^{\beta}}$, up to scale",
        bound,
        law=GENERALISED_GAUSSIAN,
        special_cases=(
            same_law_step(
                "β = 2 is the Gaussian",
                with_value(GENERALISED_GAUSSIAN, tail_exponent, 2),
                GAUSSIAN,
                stretch=1 / sympy.sqrt(2),
            ),
            same_law_step("β = 1 is Laplace", with_value(GENERALISED_GAUSSIAN, tail_exponent, 1), LAPLACE),
        ),
    )


def gamma_law() -> Statement:
    """ε = P(a + 2, q(a, κ)) where |u| is gamma-distributed with shape a.

    Source: ours.
    """
    bound = RegularisedGamma(shape + 2, GammaQuantile(shape, kappa))
    laplace = same_law_step("a = 1 is Laplace", with_value(GAMMA, shape, 1), LAPLACE)
    return _law_statement(
        "gamma_law", "Gamma", "$|u|$ is gamma with shape $a$", bound, law=GAMMA, special_cases=(laplace,)
    )


def weibull_law() -> Statement:
    """ε = P(1 + 2/a, ln(1/κ)) where |u| is Weibull-distributed with shape a: |u|^a is exponential.

    Source: ours.
    """
    bound = RegularisedGamma(1 + 2 / shape, -sympy.log(kappa))
    laplace = same_law_step("a = 1 is Laplace", with_value(WEIBULL, shape, 1), LAPLACE)
    return _law_statement(
        "weibull_law", "Weibull", "$|u|$ is Weibull with shape $a$", bound, law=WEIBULL, special_cases=(laplace,)
    )


def shifted_gaussian_law() -> Statement:
    """ε = 1 − κ − ((z + m)φ(z − m) + (z − m)φ(z + m))/(1 + m²) for N(μ, σ²) with m = |μ|/σ, P(|N(m, 1)| > z) = κ.

    Source: ours.
    """
    z = ShiftedNormalQuantile(mean, kappa)
    bound = 1 - kappa - shifted_surplus(z)
    centred = same_law_step("m = 0 is the Gaussian", with_value(SHIFTED_GAUSSIAN, mean, 0), GAUSSIAN)
    return _law_statement(
        "shifted_gaussian_law",
        "Gaussian with a mean",
        r"$u\sim\mathcal{N}(\mu,\sigma^2)$, $m=|\mu|/\sigma$",
        bound,
        law=SHIFTED_GAUSSIAN,
        special_cases=(centred,),
    )


def spike_mixture_law() -> Statement:
    """ε E[u²] = 1 − κ + ω(s² − 1) erf(z/(s√2)) − √(2/π) z (ω s e^(−z²/(2s²)) + (1 − ω) e^(−z²/2)), E[u²] = ωs² + 1 − ω.

    A share ω of the coordinates, the spikes, is drawn from N(0, s²), the others from N(0, 1): the Gaussian form of the
    spike-and-slab model, with both parts continuous so that the quantile is unique.

    Source: ours.
    """
    z = MixtureQuantile(share, scale, kappa)
    bound = mixture_energy(z, 1 - kappa)
    return _law_statement(
        "spike_mixture_law",
        "Mixture of two Gaussians",
        r"a share $\omega$ of the coordinates is $\mathcal{N}(0,s^2)$, the rest $\mathcal{N}(0,1)$",
        bound,
        law=SPIKE_MIXTURE,
        domain=(sympy.Le(share, 1),),
        special_cases=(
            same_law_step("s = 1 is the Gaussian", with_value(SPIKE_MIXTURE, scale, 1), GAUSSIAN),
            same_law_step("ω = 0 is the Gaussian", with_value(SPIKE_MIXTURE, share, 0), GAUSSIAN),
            same_law_step(
                "ω = 1 is s times the Gaussian", with_value(SPIKE_MIXTURE, share, 1), GAUSSIAN, stretch=scale
            ),
        ),
    )


def shifted_gaussian_slope() -> Statement:
    """∂ε/∂m = 2φ(z + m)(1 + mz + (mz − 1)e^(2mz))/(1 + m²)² > 0 for N(μ, σ²), m = |μ|/σ > 0, at fixed κ < 1.

    So a mean always hurts: every rung below 1 − κ that holds at m = 0 fails from one m on, and 1 − κ is approached.

    Source: ours.
    """
    z = ShiftedNormalQuantile(mean, kappa)
    bound = _mean_slope(z)
    return Statement(
        label="shifted_gaussian_slope",
        title="Gaussian with a mean: the ratio increases with |μ|/σ",
        assumptions=(r"$u\sim\mathcal{N}(\mu,\sigma^2)$, $m=|\mu|/\sigma$", LONG_VECTOR, *meanings(bound)),
        relation=sympy.Eq(mean_slope, bound, evaluate=False),
        domain=DENSITY_DOMAIN,
        source="ours",
        derivation=(
            Step("∂z/∂m = tanh(mz)", _tangent_hyperbolic),
            Step("the derivative of ε at fixed κ", _ratio_slope, concludes=bound),
            Step(
                "1 + w + (w − 1)e^(2w), w = mz, and its slope are 0 at 0, its curvature is 4w e^(2w) ≥ 0",
                _is_convex_factor,
            ),
            mixture_tails.surplus_step(),
            Step("1 − κ − ε → 0 as m → ∞: z ≤ z(0) + m and φ ≤ φ(0)", _gap_vanishes),
        ),
    )


def _law_statement(
    label: str,
    title: str,
    assumption: str,
    bound: sympy.Expr,
    *,
    law: Law,
    domain: tuple[sympy.Basic, ...] = (),
    special_cases: tuple[Step, ...] = (),
) -> Statement:
    return Statement(
        label=label,
        title=f"Top-k of a long vector: {title}",
        assumptions=(assumption, LONG_VECTOR, *meanings(bound)),
        relation=sympy.Eq(epsilon, bound, evaluate=False),
        domain=(*DENSITY_DOMAIN, *domain),
        source="ours",
        derivation=(*law_steps(law, bound), *special_cases),
    )


def _triple_angle() -> sympy.Basic:
    angle = sympy.Symbol("theta", positive=True)
    sine = 2 * sympy.sin(angle)
    return sympy.expand_trig(sympy.sin(3 * angle)) - sine * (3 - sine**2) / 2


def _mean_slope(level: sympy.Expr) -> sympy.Expr:
    product = mean * level
    factor = 1 + product + (product - 1) * sympy.exp(2 * product)
    return 2 * standard_density(level + mean) * factor / (1 + mean**2) ** 2


def _level_slope() -> sympy.Expr:
    """∂z/∂m at fixed κ, by the inverse-function rule."""
    quantile = ShiftedNormalQuantile(mean, kappa)
    return sympy.diff(quantile, mean).subs(quantile, LEVEL)


def _tangent_hyperbolic() -> sympy.Expr:
    return sympy.simplify((_level_slope() - sympy.tanh(mean * LEVEL)).rewrite(sympy.exp))


def _ratio_slope() -> sympy.Expr:
    slope = sympy.diff(SHIFTED_GAUSSIAN.ratio, mean).subs(ShiftedNormalQuantile(mean, kappa), LEVEL)
    share = 1 - ShiftedNormalQuantile.mass(LEVEL, mean)
    return sympy.simplify(sympy.expand((slope - _mean_slope(LEVEL)).subs(kappa, share)))


def _is_convex_factor() -> sympy.Basic:
    product = sympy.Symbol("w", nonnegative=True)
    factor = _mean_slope(LEVEL) / (2 * standard_density(LEVEL + mean)) * (1 + mean**2) ** 2
    of_product = factor.subs(LEVEL, product / mean)
    curvature = sympy.simplify(sympy.diff(of_product, product, 2) - 4 * product * sympy.exp(2 * product))
    starts = (of_product.subs(product, 0), sympy.diff(of_product, product).subs(product, 0))
    return sympy.And(*(sympy.Eq(value, 0) for value in (curvature, *starts)))


def _gap_vanishes() -> sympy.Basic:
    first, distance = sympy.symbols("z_0 w", nonnegative=True)
    largest = first + mean
    bound = ((largest + mean) + largest) * standard_density(sympy.Integer(0)) / (1 + mean**2)
    slack = sympy.simplify((1 - sympy.tanh(distance)).rewrite(sympy.exp))
    return sympy.And(sympy.Eq(sympy.limit(bound, mean, sympy.oo), 0), sympy.sympify(slack.is_nonnegative))


STATEMENTS = by_label(
    __name__,
    gaussian_law,
    laplace_law,
    uniform_law,
    student_t_law,
    generalised_gaussian_law,
    gamma_law,
    weibull_law,
    shifted_gaussian_law,
    spike_mixture_law,
    shifted_gaussian_slope,
)
"""The statements of this file."""
