"""Does every grade notice a bound that is one part in 64 too good? A twin of each statement, made by a rule.

An upper bound is scaled by 63/64, a lower one by 65/64, an equality by both in turn; every grade of the statement but
the derivation, which is compared with the bound term by term, must be lost. Where a bound is honestly loose, or the
grade supports a part of the proof that does not contain it, `LOOSE` says why, and nothing else is excused. Ours.
"""

from functools import partial

import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.mutation import Mutant, wrong_bound
from sparsync.verify.tools.outcome import Grade

TOO_SMALL, TOO_LARGE = sympy.Rational(63, 64), sympy.Rational(65, 64)
WRONG_FACTORS = {
    sympy.LessThan: (TOO_SMALL,),
    sympy.GreaterThan: (TOO_LARGE,),
    sympy.Equality: (TOO_SMALL, TOO_LARGE),
}
"""By the relation of the statement."""

LOOSE: dict[str, dict[Grade, str]] = {
    "ssp_regret_decaying": {
        "property": "no drawn run of 18 updates has more than 0.58 of the bound, attained by T → ∞"
    },
    "ssp_regret": {
        "property": "the worst case of 24 updates or fewer has 0.65 of the bound, drawn runs have 0.53; long runs at "
        "n = s = 64 have 0.98"
    },
    "dssp_regret": {"property": "drawn runs have 0.34 of the bound or less; worst cases are those of ssp_regret"},
    "elastic_regret": {"property": "drawn runs have 0.43 of the bound or less; worst cases are those of ssp_regret"},
    "ef21_momentum_rate": {"simulated": "of runs of Top-k the bound is 145 times the least gradient, or more"},
    "econtrol_rate": {
        "property": "of the worst run found the bound is 9 times the least gradient; one look at x_0 gives 15",
        "simulated": "of runs of Top-k the bound is 1100 times the least gradient, or more",
    },
    "round_robin_reach": {
        "property": "of drawn momenta and periods the bound is 1.8 times the limit or more, and 1.46 times as N → ∞"
    },
    "sample_ratio": {"simulated": "Massart's inequality is nearly attained by all quantiles at once, a coin uses one"},
    "gaussian_sample_ratio": {"simulated": "five times the measured deviation: one constant serves every k and level"},
    "small_dimension_failure": {
        "simulated": "the frequencies of a small run are known to 0.023 of the probability, of a record to 0.010"
    },
    "nonconvex_rate": {
        "simulated": "its run, for a = 63/64 and as long as a test may take, comes to 0.949 of the bound"
    },
    "nonconvex_rate_minkowski": {"simulated": "its run, as long as a test may take, comes to 0.964 of the bound"},
    "nonconvex_rate_lyapunov": {"simulated": "its run, at rest under noise, comes to 0.950 of the bound"},
    "ds_sync_rate": {
        "numeric": "of the worst run known, whose gradients cancel, the bound is 1.19 times the mean energy"
    },
}
"""Why a grade of a statement cannot notice its bound scaled, by label and grade."""


def noticing_grades(label: str) -> tuple[Grade, ...]:
    """The grades of a statement, besides its derivation, that must notice a bound too good."""
    return tuple(grade for grade in CHECKS[label] if grade not in LOOSE.get(label, {}))


def _scaled(label: str, factor: sympy.Rational) -> Mutant:
    return wrong_bound(label, f"the bound times {factor}", partial(_times, factor=factor), *noticing_grades(label))


def _times(bound: sympy.Expr, *, factor: sympy.Rational) -> sympy.Expr:
    return factor * bound


MUTANTS: dict[str, Mutant] = {
    f"{label}_times_{factor.p}_{factor.q}": _scaled(label, factor)
    for label in STATEMENTS
    if noticing_grades(label)
    for factor in WRONG_FACTORS[type(STATEMENTS[label].relation)]
}
"""By label and factor."""
