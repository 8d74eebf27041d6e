"""What evidence is there for the statements of `theory/laws/formulas.py`, besides their derivations?

Formulas against quadrature (`verify/laws/quadrature.py`), samples (`verify/laws/samples.py`) and their differential
equation (`verify/laws/equations.py`), inequalities by ball arithmetic (`verify/laws/balls.py`), and searches over
levels and parameters (`verify/laws/margins.py`). Ours.
"""

from fractions import Fraction
from functools import partial
from itertools import product

import mpmath

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws import edges
from sparsync.verify.laws.balls import LAPLACE_CLAIMS, RUNG_CLAIMS, threshold_check
from sparsync.verify.laws.equations import equation_check
from sparsync.verify.laws.levels import LEVEL_LAWS
from sparsync.verify.laws.margins import law_cases, law_margin
from sparsync.verify.laws.quadrature import quadrature_check
from sparsync.verify.laws.samples import sample_check
from sparsync.verify.laws.searches import all_earned, small_search
from sparsync.verify.tools.balls import ball_check
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile


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


def _law_checks(label: str) -> dict[Grade, Check]:
    return {
        "numeric": partial(quadrature_check, label=label),
        "property": small_search(partial(law_cases, label), partial(law_margin, label=label)),
        "simulated": partial(sample_check, label=label),
    }


BALL_CHECKS: dict[str, Check] = {
    "gaussian_law": all_earned(partial(equation_check, label="gaussian_law"), ball_check(*RUNG_CLAIMS)),
    "laplace_law": all_earned(partial(equation_check, label="laplace_law"), ball_check(*LAPLACE_CLAIMS)),
    "uniform_law": partial(equation_check, label="uniform_law"),
    "shifted_gaussian_law": threshold_check,
}
"""By label."""

CHECKS: dict[str, dict[Grade, Check]] = {
    **{
        label: {"ball": BALL_CHECKS[label], **_law_checks(label)} if label in BALL_CHECKS else _law_checks(label)
        for label in LEVEL_LAWS
    },
    "shifted_gaussian_slope": {"numeric": slope_check},
}
"""Every check of these statements, by label and grade."""

EDGES = {label: edges.EDGES[label] for label in CHECKS}
"""What is said of the conditions of these statements, by label."""
