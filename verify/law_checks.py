"""What evidence is there for the statements of `theory/laws.py`, besides their derivations?

Formulas against quadrature (`verify/law_quadrature.py`), inequalities by ball arithmetic (`verify/law_balls.py`), and
searches: a law must stay below the rung that its shape earns and fall with κ, a bound must hold at every level. Ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import mpmath
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.balls import ball_check
from sparsync.verify.law_balls import (
    LAPLACE_CLAIMS,
    LOG_GAIN_LOWER_CLAIMS,
    LOG_GAIN_UPPER_CLAIMS,
    RUNG_CLAIMS,
    SQUARE_GAIN_LOWER_CLAIMS,
    SQUARE_GAIN_UPPER_CLAIMS,
    threshold_check,
)
from sparsync.verify.law_quadrature import MAGNITUDES, as_fraction, quadrature_check
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import Margin, property_check

FEWEST_EXAMPLES = 20
EXAMPLES_DIVISOR = 10
"""A search over laws draws one example in ten: each solves for quantiles at 40 digits."""
ROUNDING = Fraction(1, 2**52)
"""Relative room for one correctly rounded float on each side of a comparison."""
DIGITS = 50
"""Working precision of the margins' own formulas."""

Parameters = tuple[float, ...]
Exponent = Callable[..., float]
"""A law's parameters to the p of the rung (1 − κ)^p that it stays below."""


def densities() -> st.SearchStrategy[float]:
    """κ in [10⁻¹², 1 − 10⁻⁶], log-uniform towards both ends; at κ = 1 every law says 0 = 0."""
    small = st.floats(-12, -0.0625).map(lambda power: 10.0**power)
    return st.one_of(small, st.floats(-6, -0.0625).map(lambda power: 1 - 10.0**power))


PARAMETERS: dict[str, Mapping[str, st.SearchStrategy[float]]] = {
    "gaussian_law": {},
    "laplace_law": {},
    "uniform_law": {},
    "student_t_law": {"df": st.floats(2.0625, 64)},
    "generalised_gaussian_law": {"beta": st.floats(0.125, 32)},
    "gamma_law": {"shape": st.floats(0.125, 16)},
    "weibull_law": {"shape": st.floats(0.125, 16)},
    "shifted_gaussian_law": {"mean": st.floats(0, 16)},
    "spike_mixture_law": {"share": st.floats(0, 1), "scale": st.floats(0.0625, 64)},
}
"""The parameters that a search draws, by law."""

RUNGS: dict[str, Exponent] = {
    "gaussian_law": lambda: 3.0,
    "laplace_law": lambda: 3.0,
    "uniform_law": lambda: 3.0,
    "student_t_law": lambda _df: 3.0,
    "generalised_gaussian_law": lambda _beta: 3.0,
    # f(r)/r^(a − 1) decreases: |u|^a has a decreasing density, and the exponent theorem gives 1 + 2/a.
    "gamma_law": lambda shape: 1 + 2 / shape,
    "weibull_law": lambda shape: 1 + 2 / shape,
    "shifted_gaussian_law": lambda _mean: 1.0,
    "spike_mixture_law": lambda _share, _scale: 3.0,
}
"""The exponent of the bound (1 − κ)^p that the shape of each law earns, whatever its parameters."""


def law_cases(label: str) -> st.SearchStrategy[tuple[float, float, Parameters]]:
    """Triples (κ, κ'/κ, parameters) with κ'/κ in (0, 1)."""
    return st.tuples(densities(), st.floats(0.0625, 0.9375), st.tuples(*PARAMETERS[label].values()))


def law_margin(density: float, factor: float, parameters: Parameters, *, label: str) -> Fraction:
    """The least room in 0 ≤ ε(κ) ≤ (1 − κ)^p and ε(κ) ≤ ε(κ'), κ' < κ, relative to the larger side.

    The values are floats, correctly rounded, so each larger side is first raised by `ROUNDING`.
    """
    named = dict(zip(PARAMETERS[label], parameters, strict=True))
    statement = STATEMENTS[label]
    value = Fraction(statement.evaluate(kappa=density, **named))
    smaller_density = Fraction(statement.evaluate(kappa=density * factor, **named))
    with mpmath.workdps(DIGITS):
        rung = as_fraction((1 - mpmath.mpf(density)) ** RUNGS[label](*parameters))
    rooms = [_room(larger, value) for larger in (rung, smaller_density)]
    return min(rooms) if value >= 0 else value


def _room(larger: Fraction, smaller: Fraction) -> Fraction:
    raised = larger * (1 + ROUNDING)
    return (raised - smaller) / raised if raised else -smaller


LEVELS = st.floats(2.0**-20, 8.0)
"""Levels z of a Gaussian; κ falls to 1.2e-15."""


def gaussian_gain_margin(level: float, *, label: str, sign: int) -> Fraction:
    """sign·(δ − bound)/δ with κ = erfc(z/√2) and δ = κ + z√(2/π)e^(−z²/2) in mpmath."""
    with mpmath.workdps(DIGITS):
        z = mpmath.mpf(level)
        share = mpmath.erfc(z / mpmath.sqrt(2))
        kept = share + z * mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-z * z / 2)
        return _signed_room(label, kept, sign, kappa=as_fraction(share))


def student_gain_margin(level: float, df: float, *, label: str, sign: int) -> Fraction:
    """The same for Student's t, by quadrature in x = ν/(ν + z²), from the densities of κ and δ in x.

    They are multiples of x^(a−1) (1 − x)^(−1/2) and x^(a−2) (1 − x)^(1/2), a = ν/2.
    """
    with mpmath.workdps(DIGITS):
        order = mpmath.mpf(df) / 2
        end = 2 * order / (2 * order + mpmath.mpf(level) ** 2)
        share = _quotient(lambda x: 1 / mpmath.sqrt(1 - x), power=order, end=end)
        kept = _quotient(lambda x: mpmath.sqrt(1 - x), power=order - 1, end=end)
        return _signed_room(label, kept, sign, kappa=as_fraction(share), df=df)


def weibull_gain_margin(density: float, shape: float) -> Fraction:
    """δ − bound over δ, with δ = ∫_ℓ^∞ t^(2/a) e^(−t) dt / ∫_0^∞ t^(2/a) e^(−t) dt by quadrature."""
    with mpmath.workdps(DIGITS):
        log, power = -mpmath.log(mpmath.mpf(density)), 2 / mpmath.mpf(shape)
        kept = mpmath.quad(lambda t: t**power * mpmath.exp(-t), [log, log + 8, log + 32, mpmath.inf])
        total = mpmath.quad(lambda t: t**power * mpmath.exp(-t), [0, 8, 32, mpmath.inf])
        return _signed_room("weibull_gain_lower", kept / total, 1, kappa=density, shape=shape)


def _signed_room(label: str, kept: mpmath.mpf, sign: int, **numbers: float | Fraction) -> Fraction:
    bound = Fraction(STATEMENTS[label].evaluate(**numbers))
    exact = as_fraction(kept)
    return (sign * (exact - bound) + ROUNDING * abs(bound)) / exact


def _quotient(factor: Callable[[mpmath.mpf], mpmath.mpf], *, power: mpmath.mpf, end: mpmath.mpf) -> mpmath.mpf:
    """∫_0^end x^(p−1) factor(x) dx over the same integral to 1, in v = x^p, which removes the singularity at 0."""

    def integral(stop: mpmath.mpf) -> mpmath.mpf:
        return mpmath.quad(lambda v: factor(v ** (1 / power)), [0, stop**power])

    return integral(end) / integral(mpmath.mpf(1))


def slope_check(_profile: Profile) -> Outcome:
    """`numeric`: ∂ε/∂m is a central difference of ε, computed from erf and a root of its own.

    With step h = 10⁻²⁰ at 80 digits the difference has an error near h² = 10⁻⁴⁰ from its Taylor remainder and 10⁻⁶⁰
    from rounding; 10⁻³⁰ covers both and the float's own rounding is added.
    """
    statement, step = STATEMENTS["shifted_gaussian_slope"], mpmath.mpf(10) ** -20
    errors = []
    with mpmath.workdps(80):
        for density, mean in product((Fraction(1, 1000), Fraction(1, 8), Fraction(7, 8)), (0.125, 1.0, 5.0)):
            ahead, behind = (shifted_ratio(density, mpmath.mpf(mean) + side * step) for side in (1, -1))
            expected = (ahead - behind) / (2 * step)
            tolerance = abs(expected) * mpmath.mpf(2) ** -53 + mpmath.mpf(10) ** -30
            errors.append(abs(statement.evaluate(kappa=density, mean=mean) - expected) / tolerance)
    detail = {"slopes_count": len(errors), "largest_error_over_tolerance": float(max(errors))}
    return Outcome(earned=max(errors) <= 1, detail=detail)


def shifted_ratio(density: Fraction, mean: mpmath.mpf) -> mpmath.mpf:
    """ε of N(m, 1) at the working precision, with the level found by mpmath's own bracketing solver."""
    share = mpmath.mpf(density.numerator) / density.denominator

    def excess(level: mpmath.mpf) -> mpmath.mpf:
        return (mpmath.erfc((level - mean) / mpmath.sqrt(2)) + mpmath.erfc((level + mean) / mpmath.sqrt(2))) / 2 - share

    level = mpmath.findroot(excess, (mpmath.mpf(0), mean + 20), solver="bisect", maxsteps=400)
    ends = [(1 + mean**2) * mpmath.ncdf(x - mean) - (x + mean) * mpmath.npdf(x - mean) for x in (level, -level)]
    return (ends[0] - ends[1]) / (1 + mean**2)


def small_search(members: Callable[[], st.SearchStrategy[tuple[object, ...]]], margin: Margin) -> Check:
    """The grade `property` with fewer examples; see `EXAMPLES_DIVISOR`."""
    search = property_check(members, margin)

    def check(profile: Profile) -> Outcome:
        count = max(FEWEST_EXAMPLES, profile.examples_count // EXAMPLES_DIVISOR)
        return search(replace(profile, examples_count=count))

    return check


def _law_checks(label: str) -> dict[Grade, Check]:
    return {
        "numeric": partial(quadrature_check, label=label),
        "property": small_search(partial(law_cases, label), partial(law_margin, label=label)),
    }


def _gaussian_gain(label: str, sign: int) -> Check:
    return small_search(lambda: st.tuples(LEVELS), partial(gaussian_gain_margin, label=label, sign=sign))


def _student_gain(label: str, sign: int) -> Check:
    members = st.tuples(st.floats(2.0**-10, 1024), st.floats(2.0625, 64))
    return small_search(lambda: members, partial(student_gain_margin, label=label, sign=sign))


CHECKS: dict[str, dict[Grade, Check]] = {
    **{label: _law_checks(label) for label in MAGNITUDES},
    "gaussian_law": {"ball": ball_check(*RUNG_CLAIMS), **_law_checks("gaussian_law")},
    "laplace_law": {"ball": ball_check(*LAPLACE_CLAIMS), **_law_checks("laplace_law")},
    "shifted_gaussian_law": {"ball": threshold_check, **_law_checks("shifted_gaussian_law")},
    "shifted_gaussian_slope": {"numeric": slope_check},
    "gaussian_gain_lower": {
        "ball": ball_check(*SQUARE_GAIN_LOWER_CLAIMS),
        "property": _gaussian_gain("gaussian_gain_lower", 1),
    },
    "gaussian_gain_upper": {
        "ball": ball_check(*SQUARE_GAIN_UPPER_CLAIMS),
        "property": _gaussian_gain("gaussian_gain_upper", -1),
    },
    "gaussian_log_gain_lower": {
        "ball": ball_check(*LOG_GAIN_LOWER_CLAIMS),
        "property": _gaussian_gain("gaussian_log_gain_lower", 1),
    },
    "gaussian_log_gain_upper": {
        "ball": ball_check(*LOG_GAIN_UPPER_CLAIMS),
        "property": _gaussian_gain("gaussian_log_gain_upper", -1),
    },
    "student_t_tail_lower": {"property": _student_gain("student_t_tail_lower", 1)},
    "student_t_tail_upper": {"property": _student_gain("student_t_tail_upper", -1)},
    "weibull_gain_lower": {
        "property": small_search(lambda: st.tuples(densities(), st.floats(0.125, 2)), weibull_gain_margin)
    },
}
"""Every check of these statements, by label and grade."""
