"""Do the formulas for whole laws agree with integrals of the densities? Quadrature, without any closed form.

A level z is chosen, not a density: the share κ above it and the energy below it are four integrals of an unnormalised
density, and ε(κ) must be the quotient of two of them. Tolerances are the quadrature's own error estimates. Ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import mpmath

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Outcome, Profile

DIGITS = 25
"""Working precision of the quadrature."""
REACH = 140.0
"""Integrals over s = |ln(x/z)| end here: below, an integrand falls like e^(−s/2) at least, so about e^(−70) is lost."""
STOPS = (0.0, 1.0, 4.0, 16.0)
"""Where the integrals over ln x are cut, so that each piece is easy."""
ROUNDING = mpmath.mpf(2) ** -53
"""Relative error of a float that is correctly rounded."""

Parameters = Mapping[str, float]
Density = Callable[..., mpmath.mpf]
"""The magnitude and the law's parameters to a density, up to a factor."""


@dataclass(frozen=True)
class Magnitudes:
    """A law of magnitudes and where it is tried.

    Args:
        density: up to a factor.
        cases: values of the parameters.
        levels: values of z.
        end: the largest magnitude.
    """

    density: Density
    cases: tuple[Parameters, ...] = ({},)
    levels: tuple[float, ...] = (0.0625, 0.75, 2.5)
    end: float = mpmath.inf


MAGNITUDES: dict[str, Magnitudes] = {
    "gaussian_law": Magnitudes(lambda x: mpmath.exp(-x * x / 2)),
    "laplace_law": Magnitudes(lambda x: mpmath.exp(-x)),
    "uniform_law": Magnitudes(lambda _x: mpmath.mpf(1), levels=(0.0625, 0.5, 0.9375), end=1.0),
    "student_t_law": Magnitudes(
        lambda x, df: (1 + x * x / df) ** (-(df + 1) / 2), cases=({"df": 2.5}, {"df": 4.0}, {"df": 30.0})
    ),
    "generalised_gaussian_law": Magnitudes(
        lambda x, beta: mpmath.exp(-(x**beta)), cases=({"beta": 0.5}, {"beta": 1.5}, {"beta": 4.0})
    ),
    "gamma_law": Magnitudes(
        lambda x, shape: x ** (shape - 1) * mpmath.exp(-x), cases=({"shape": 0.5}, {"shape": 1.0}, {"shape": 3.5})
    ),
    "weibull_law": Magnitudes(
        lambda x, shape: x ** (shape - 1) * mpmath.exp(-(x**shape)),
        cases=({"shape": 0.5}, {"shape": 1.5}, {"shape": 3.0}),
    ),
    "shifted_gaussian_law": Magnitudes(
        lambda x, mean: mpmath.exp(-((x - mean) ** 2) / 2) + mpmath.exp(-((x + mean) ** 2) / 2),
        cases=({"mean": 0.0}, {"mean": 0.5}, {"mean": 3.0}),
    ),
    "spike_mixture_law": Magnitudes(
        lambda x, share, scale: (
            share / scale * mpmath.exp(-((x / scale) ** 2) / 2) + (1 - share) * mpmath.exp(-x * x / 2)
        ),
        cases=({"share": 0.0625, "scale": 4.0}, {"share": 0.5, "scale": 0.25}),
    ),
}
"""Densities restated apart from `theory/`; parameters that are floats in both are equal in both."""


@dataclass(frozen=True)
class Quotients:
    """κ and ε at one level, with bounds on their errors."""

    share: mpmath.mpf
    ratio: mpmath.mpf
    share_error: mpmath.mpf
    ratio_error: mpmath.mpf
    sensitivity: mpmath.mpf


def quotients(law: Magnitudes, parameters: Parameters, level: float) -> Quotients:
    """κ = ∫_z^∞ g/∫g and ε = ∫_0^z x²g/∫x²g for the unnormalised density g; |dε/dκ| = z² ∫g/∫x²g."""
    with mpmath.workdps(DIGITS):
        exact = {name: mpmath.mpf(value) for name, value in parameters.items()}

        def integral(power: int, direction: int, length: float) -> tuple[mpmath.mpf, mpmath.mpf]:
            """The integral away from z over s, in which singular ends and algebraic tails decay exponentially."""

            def integrand(distance: mpmath.mpf) -> mpmath.mpf:
                x = level * mpmath.exp(direction * distance)
                return x ** (power + 1) * law.density(x, **exact)

            value, error = mpmath.quad(integrand, [*(stop for stop in STOPS if stop < length), length], error=True)
            # quad estimates the error of its last doubling; below the working precision rounding takes over.
            return value, error + abs(value) * mpmath.mpf(10) ** (3 - DIGITS)

        reach = min(mpmath.log(law.end / level), mpmath.mpf(REACH))
        below, above = integral(0, -1, REACH), integral(0, 1, reach)
        energy_below, energy_above = integral(2, -1, REACH), integral(2, 1, reach)
        mass, energy = below[0] + above[0], energy_below[0] + energy_above[0]
        return Quotients(
            share=above[0] / mass,
            ratio=energy_below[0] / energy,
            share_error=(below[1] + above[1]) / mass,
            ratio_error=(energy_below[1] + energy_above[1]) / energy,
            sensitivity=mpmath.mpf(level) ** 2 * mass / energy,
        )


def quadrature_check(_profile: Profile, *, label: str) -> Outcome:
    """`numeric`: ε at the κ of the quadrature is the ratio of the quadrature, to the errors of both."""
    law = MAGNITUDES[label]
    quotient_errors = [
        _error_over_tolerance(label, parameters, quotients(law, parameters, level))
        for parameters in law.cases
        for level in law.levels
    ]
    return Outcome(
        earned=all(error <= 1 for error, _ in quotient_errors),
        detail={
            "integrals_count": 4 * len(quotient_errors),
            "largest_error_over_tolerance": max(float(error) for error, _ in quotient_errors),
            "largest_tolerance": max(float(tolerance) for _, tolerance in quotient_errors),
        },
    )


def _error_over_tolerance(label: str, parameters: Parameters, expected: Quotients) -> tuple[mpmath.mpf, mpmath.mpf]:
    value = STATEMENTS[label].evaluate(kappa=as_fraction(expected.share), **parameters)
    tolerance = expected.ratio_error + expected.sensitivity * expected.share_error + ROUNDING * expected.ratio
    return abs(value - expected.ratio) / tolerance, tolerance


def as_fraction(value: mpmath.mpf) -> Fraction:
    """The binary number as the fraction it is."""
    sign, mantissa, exponent, _ = value._mpf_
    magnitude = int(mantissa) * Fraction(2) ** int(exponent)
    return Fraction(-magnitude if sign else magnitude)
