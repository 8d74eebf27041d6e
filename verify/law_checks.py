"""What evidence is there for the statements of `theory/laws.py`, besides their derivations?

Formulas against quadrature (`verify/law_quadrature.py`), samples (`verify/law_samples.py`) and their differential
equation (`verify/law_equations.py`), inequalities by ball arithmetic (`verify/law_balls.py`), and searches over levels
and parameters (`verify/law_margins.py`). Ours.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import mpmath
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.balls import ball_check
from sparsync.verify.law_balls import LAPLACE_CLAIMS, NEAR_ONE_CLAIMS, RUNG_CLAIMS, gain_claims, threshold_check
from sparsync.verify.law_equations import equation_check
from sparsync.verify.law_levels import LEVEL_LAWS
from sparsync.verify.law_margins import GAINS, gain_margin, law_cases, law_margin
from sparsync.verify.law_quadrature import quadrature_check
from sparsync.verify.law_samples import sample_check
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import Margin, property_check

FEWEST_EXAMPLES = 20
EXAMPLES_DIVISOR = 20
"""A search over laws draws one example in twenty: each solves for quantiles at 40 digits."""


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


def all_earned(*checks: Check) -> Check:
    """One grade from several checks, each of which must earn it; their numbers are put together."""

    def check(profile: Profile) -> Outcome:
        outcomes = [each(profile) for each in checks]
        detail = {key: value for outcome in outcomes for key, value in outcome.detail.items()}
        return Outcome(earned=all(outcome.earned for outcome in outcomes), detail=detail)

    return check


def _law_checks(label: str) -> dict[Grade, Check]:
    return {
        "numeric": partial(quadrature_check, label=label),
        "property": small_search(partial(law_cases, label), partial(law_margin, label=label)),
        "simulated": partial(sample_check, label=label),
    }


def _gain_checks(label: str) -> dict[Grade, Check]:
    return {"property": small_search(GAINS[label].restricted().cases, partial(gain_margin, label=label))}


BALL_CHECKS: dict[str, Check] = {
    "gaussian_law": all_earned(partial(equation_check, label="gaussian_law"), ball_check(*RUNG_CLAIMS)),
    "laplace_law": all_earned(partial(equation_check, label="laplace_law"), ball_check(*LAPLACE_CLAIMS)),
    "uniform_law": partial(equation_check, label="uniform_law"),
    "shifted_gaussian_law": threshold_check,
    **{label: ball_check(partial(gain_claims, label)) for label in NEAR_ONE_CLAIMS},
}
"""By label."""

SEARCHES_AND_VALUES: dict[str, dict[Grade, Check]] = {
    **{label: _law_checks(label) for label in LEVEL_LAWS},
    "shifted_gaussian_slope": {"numeric": slope_check},
    **{label: _gain_checks(label) for label in GAINS},
}
"""By label and grade."""

CHECKS: dict[str, dict[Grade, Check]] = {
    label: {"ball": BALL_CHECKS[label], **checks} if label in BALL_CHECKS else checks
    for label, checks in SEARCHES_AND_VALUES.items()
}
"""Every check of these statements, by label and grade."""
