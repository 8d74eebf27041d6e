"""What evidence is there for the statements of `theory/tight_rates/rates.py`, besides their derivations?

The worst case as a semidefinite programme (`numeric`), its multipliers in fractions (`rational`), the inequality itself
for all parameters by two solvers (`smt`) and a search for a step that shrinks less (`property`). Ours.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

import mpmath
import sympy
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import substituted
from sparsync.verify.tight_rates import performance
from sparsync.verify.tight_rates.certificates import is_proof, rate_certificates, read_setting
from sparsync.verify.tight_rates.oscillation import CHECKS as OSCILLATION_CHECKS
from sparsync.verify.tight_rates.oscillation import EDGES as OSCILLATION_EDGES
from sparsync.verify.tight_rates.oscillation import SLACK as OSCILLATION_SLACK
from sparsync.verify.tight_rates.performance import SOLVER_TOLERANCES, Performance, Solution
from sparsync.verify.tight_rates.queries import (
    descent_queries,
    feedback_21_queries,
    feedback_queries,
    small_delta_queries,
    step_queries,
)
from sparsync.verify.tight_rates.search import (
    descent_cases,
    descent_margin,
    feedback_21_cases,
    feedback_21_margin,
    feedback_cases,
    feedback_margin,
    grid,
    sharp,
    step_cases,
    step_margin,
)
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

METHODS: dict[str, tuple[str, Callable[..., Performance]]] = {
    "ef_tight_rate": ("error_feedback", performance.error_feedback),
    "ef21_tight_rate": ("error_feedback_21", performance.error_feedback_21),
    "compressed_descent_rate": ("compressed_descent", performance.compressed_descent),
}
"""The kind of the certificates and the programme of each rate, by label."""
WORKER_METHODS: dict[str, Callable[..., Performance]] = {
    "ef_tight_rate": performance.error_feedback_workers,
    "ef21_tight_rate": performance.error_feedback_21_workers,
}
"""The programme of each rate for workers with functions of their own, by label."""
WORKER_COUNTS = (2, 3)
"""Numbers of workers in those programmes."""
CURVATURES = (0.01, 0.1, 0.5, 0.9)
"""μ where L = 1, in the programmes."""
ROOT_EPSILONS = (0.1, 0.5, 0.9)
"""s in the programmes."""
OTHER_STEPS = (0.9, 1.1)
"""Step sizes in units of η* that must be worse."""
BEYOND = 1.03125
"""An ε with which a compressor may send less than nothing; a float, as the programme takes it."""
DIGITS = 50
"""Precision of the logarithms."""


def certificates_check(_profile: Profile, *, label: str) -> Outcome:
    """`rational`: every certificate proves, and attains, the stated rate at the stated step size."""
    kind, _ = METHODS[label]
    records = [record for record in rate_certificates() if record["kind"] == kind]
    proved = [is_proof(record) and _states(record, label) for record in records]
    return Outcome(earned=bool(proved) and all(proved), detail={"certificates_count": len(records)})


def programmes_check(_profile: Profile, *, label: str) -> Outcome:
    """`numeric`: primal and dual optimum equal the rate to the solvers' own tolerances, for both solvers.

    For several workers that differ, the primal optimum of one solver does: the sharp rate is no worse.
    """
    _, method = METHODS[label]
    errors = []
    for numbers in _points():
        programme = {**_programme_numbers(numbers), "step_size": stated_step(label, numbers)}
        rate, solutions = STATEMENTS[label].evaluate(**numbers), _solutions(method, **programme)
        if label in WORKER_METHODS:
            solutions += _worker_solutions(WORKER_METHODS[label], **programme)
        errors += [(abs(solution.rate - rate), solution.tolerance) for solution in solutions]
    return Outcome(
        earned=bool(errors) and all(error <= tolerance for error, tolerance in errors),
        detail={
            "programmes_count": len(errors),
            "largest_solver_error": max(error for error, _ in errors),
            "largest_error_over_tolerance": max(error / tolerance for error, tolerance in errors),
        },
    )


def other_steps_check(_profile: Profile) -> Outcome:
    """`numeric`: the worst case of the Lyapunov function is the rate at η*, and larger at other step sizes."""
    excesses, errors = [], []
    for numbers in _points():
        for label in ("ef_tight_rate", "ef21_tight_rate"):
            rate, step_size = STATEMENTS[label].evaluate(**numbers), STATEMENTS["ef_tight_step"].evaluate(**numbers)
            method = partial(METHODS[label][1], **_programme_numbers(numbers))
            best = performance.primal(method(step_size=step_size))
            others = [performance.primal(method(step_size=factor * step_size)) for factor in OTHER_STEPS]
            errors.append(abs(best.rate - rate) / best.tolerance)
            excesses += [other.rate - other.tolerance - rate for other in others]
    return Outcome(
        earned=bool(errors) and max(errors) <= 1 and min(excesses) > 0,
        detail={
            "programmes_count": len(errors) + len(excesses),
            "largest_error_over_tolerance": max(errors),
            "smallest_excess": min(excesses),
        },
    )


def stated_step(label: str, numbers: dict[str, float]) -> float:
    """The step size that a rate assumes."""
    step = STATEMENTS[label].given("step_size")
    return float(step.subs({symbol: numbers[symbol.name] for symbol in step.free_symbols}))


def steps_margin(share: Fraction, delta: Fraction, exponent: int) -> float:
    """1 − T/bound, T = ln tol/ln ρ with the published formula of ρ, for μ = share·L, L = 7 and tol = 10^−exponent."""
    mu, smoothness, tolerance = 7 * share, Fraction(7), Fraction(1, 10**exponent)
    bound = STATEMENTS["ef_small_delta"].exact(delta=delta, mu=mu, smoothness=smoothness, tolerance=tolerance)
    with mpmath.workdps(DIGITS):
        s = mpmath.sqrt(_mpf(substituted(STATEMENTS["ef_small_delta"].given("kept_back"), {"delta": delta})))
        spread = _mpf((smoothness - mu) / (smoothness + mu))
        root = mpmath.sqrt((1 + s) ** 2 + 16 * s * _mpf(smoothness * mu / (smoothness - mu) ** 2))
        rate = s + (1 - s) / 2 * spread**2 * (1 - s + root)
        needed = mpmath.log(_mpf(tolerance)) / mpmath.log(rate)
        return float(1 - needed / mpmath.mpf(sympy.N(bound, DIGITS)))


def steps_cases() -> st.SearchStrategy[tuple[Fraction, Fraction, int]]:
    """Cases of `steps_margin`; μ < L, where the published formula has no singularity."""
    return st.tuples(grid(1, 990, 1000), grid(1, 1000, 1000), st.integers(1, 12))


def _points() -> list[dict[str, float]]:
    return [{"mu": mu, "smoothness": 1.0, "epsilon": s**2} for mu in CURVATURES for s in ROOT_EPSILONS]


def _programme_numbers(numbers: dict[str, float]) -> dict[str, float]:
    return {
        "mu": numbers["mu"],
        "smoothness": numbers["smoothness"],
        "root_epsilon": math.sqrt(numbers["epsilon"]),
    }


@lru_cache(maxsize=64)
def _first_solution(method: Callable[..., Performance], **numbers: float) -> tuple[Solution, ...]:
    return (performance.primal(method(**numbers)),)


@lru_cache(maxsize=1024)
def _solutions(method: Callable[..., Performance], **numbers: float) -> tuple[Solution, ...]:
    """Kept, because a programme does not know the rate that it is compared with."""
    problem, programmes = method(**numbers), (performance.primal, performance.dual)
    return tuple(programme(problem, solver=solver) for programme in programmes for solver in SOLVER_TOLERANCES)


@lru_cache(maxsize=1024)
def _worker_solutions(method: Callable[..., Performance], **numbers: float) -> tuple[Solution, ...]:
    return tuple(performance.primal(method(**numbers, count=count)) for count in WORKER_COUNTS)


def _states(record: dict[str, object], label: str) -> bool:
    setting = read_setting(record)
    numbers = {"mu": setting.mu, "smoothness": setting.smoothness, "epsilon": setting.root_epsilon**2}
    step = substituted(STATEMENTS[label].given("step_size"), numbers)
    return bool(STATEMENTS[label].exact(**numbers) == _rational(setting.bound) and step == setting.step_size)


def _rational(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)


def _mpf(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _rate_checks(label: str, queries: Callable[[], tuple[Query, ...]], searched: Check) -> dict[Grade, Check]:
    return {
        "smt": smt_check(queries),
        "rational": partial(certificates_check, label=label),
        "numeric": partial(programmes_check, label=label),
        "property": searched,
    }


def _beyond_one(label: str) -> Edge:
    """At ε = 33/32 the worst case of a step is worse than the formula, which the programme finds to its tolerance."""
    numbers = {"mu": 0.5, "smoothness": 1.0, "epsilon": BEYOND}
    programme = {**_programme_numbers(numbers), "step_size": stated_step(label, numbers)}

    def worst_case() -> float:
        (solution,) = _first_solution(METHODS[label][1], **programme)
        return solution.rate - solution.tolerance

    return Edge("epsilon < 1", numbers, left=worst_case)


_NO_FUNCTION = "no function is more strongly convex than it is smooth"

EDGES: dict[str, tuple[Remark, ...]] = {
    **{label: (Unneeded("mu <= smoothness", _NO_FUNCTION), _beyond_one(label)) for label in METHODS},
    "ef_tight_step": (
        Unneeded("mu <= smoothness", _NO_FUNCTION),
        Edge("epsilon < 1", {"mu": Fraction(1, 2), "smoothness": 1, "epsilon": Fraction(33, 32)}),
    ),
    "ef_small_delta": (
        Unneeded("mu <= smoothness", _NO_FUNCTION),
        Unneeded("delta <= 1", "a compressor keeps nothing back already where δ = 1"),
        Edge("tolerance <= 1", {"mu": 1, "smoothness": 2, "delta": Fraction(1, 2), "tolerance": Fraction(17, 16)}),
    ),
    **OSCILLATION_EDGES,
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

SLACK: dict[str, dict[str, str]] = {**OSCILLATION_SLACK}
"""Which assumed numbers may be a little other."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "ef_tight_rate": _rate_checks(
        "ef_tight_rate",
        feedback_queries,
        property_check(feedback_cases, sharp(feedback_margin)),
    ),
    "ef21_tight_rate": _rate_checks(
        "ef21_tight_rate",
        feedback_21_queries,
        property_check(feedback_21_cases, sharp(feedback_21_margin)),
    ),
    "ef_tight_step": {
        "smt": smt_check(step_queries),
        "numeric": other_steps_check,
        "property": property_check(step_cases, step_margin),
    },
    "compressed_descent_rate": _rate_checks(
        "compressed_descent_rate", descent_queries, property_check(descent_cases, sharp(descent_margin))
    ),
    "ef_small_delta": {
        "smt": smt_check(small_delta_queries),
        "property": property_check(steps_cases, steps_margin),
    },
    **OSCILLATION_CHECKS,
}
"""Every check of these statements and of the one in `verify/tight_rates/oscillation.py`, by label and grade."""
