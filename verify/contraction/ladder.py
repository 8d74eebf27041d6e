"""What evidence is there for the six bounds of Top-k and random selection, besides their derivations?

For each class of vectors: the worst case as a linear programme (`numeric`), its multipliers made rational and the
inequality redone exactly (`rational`), and a search for a vector that breaks the bound (`property`). Ours.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import groupby

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.certificates import CERTIFIED_CLASSES, Certificate, check, rationalise
from sparsync.verify.contraction.margins import MARGINS, exact_bound
from sparsync.verify.contraction.solution import WorstCase
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, END_POINT_WEIGHTS, POWERS, constant
from sparsync.verify.contraction.worst_case import SOLVERS, star_rows, worst_cases
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

MAX_DIMENSION = 16
"""Largest d that a search draws."""
SECOND_SOLVER = tuple(SOLVERS)[1]
"""Solves every programme a second time."""
RANDOM_K_MAX_DIMENSION = 7
"""Largest d where the margin enumerates every subset."""


def class_members(label: str) -> st.SearchStrategy[tuple[tuple[Fraction, ...], int]]:
    """Pairs (v, k) that satisfy the hypothesis of a statement.

    Raises:
        ValueError: no statement of this file has this label.
    """
    if label == "random_k":
        return star_shaped(constant, max_dimension=RANDOM_K_MAX_DIMENSION)
    if label not in CLASS_WEIGHTS:
        raise ValueError(f"label must be one of {sorted(MARGINS)}, got {label!r}")
    return star_shaped(CLASS_WEIGHTS[label], max_dimension=MAX_DIMENSION)


def kept_back_count(squares: Sequence[Fraction], count: int) -> int:
    """Minus the number of non-zero coordinates kept back: k = d attains every bound and says nothing."""
    return -sum(v > 0 for v in squares[count:])


@cache
def certified_cases(class_name: str, dimensions: tuple[int, ...]) -> tuple[tuple[WorstCase, Certificate], ...]:
    """The programme's solution and the certificate made from it, for every k of every d the class has."""
    weights = CERTIFIED_CLASSES[class_name]
    smallest = 1 if class_name in CLASS_WEIGHTS else 2
    solutions = (
        solution
        for dimension in dimensions
        if dimension >= smallest
        for solution in worst_cases(star_rows(weights(dimension)), range(1, dimension + 1))
    )
    return tuple((solution, rationalise(solution, class_name=class_name)) for solution in solutions)


def certificates_check(profile: Profile, *, label: str) -> Outcome:
    """`rational`: exact certificates, made from the solver's answers, prove the bound on the class assumed."""
    sharp, covered = _cases(label, profile)
    outcome = certificates_outcome([certificate for _, certificate in (*sharp, *covered)], label=label)
    return replace(outcome, earned=outcome.earned and certifies_what_is_assumed(label, profile.dimensions))


def certifies_what_is_assumed(label: str, dimensions: Sequence[int]) -> bool:
    """True iff the certified weights are those of the power that the statement assumes, if it assumes one."""
    if label not in POWERS:
        return True
    power = Fraction(str(STATEMENTS[label].given("power")))
    return all(CERTIFIED_CLASSES[label](count) == POWERS[label](count, power) for count in dimensions)


def certificates_outcome(certificates: Sequence[Certificate], *, label: str) -> Outcome:
    """`rational`: every certificate proves the bound, sharply on the statement's own class, and there is one such."""
    sharp_count = sum(certificate.class_name == label for certificate in certificates)
    return Outcome(
        earned=sharp_count > 0 and all(_certifies(certificate, label=label) for certificate in certificates),
        detail={
            "sharp_certificates_count": sharp_count,
            "end_point_certificates_count": len(certificates) - sharp_count,
        },
    )


def solver_check(profile: Profile, *, label: str) -> Outcome:
    """`numeric`: each of two solvers finds the certified bound, and none above the stated one, to its own tolerance."""
    cases = [case for class_cases in _cases(label, profile) for case in class_cases]
    solved = [*cases]
    solved += zip(second_opinions(cases), (certificate for _, certificate in cases), strict=True)
    errors = [(_solver_error(solution, c, label=label), solution.tolerance) for solution, c in solved]
    return Outcome(
        earned=bool(errors) and all(error <= tolerance for error, tolerance in errors),
        detail={
            "programmes_count": len(errors),
            "largest_solver_error": max(error for error, _ in errors),
            "largest_error_over_tolerance": max(error / tolerance for error, tolerance in errors),
        },
    )


def second_opinions(cases: Sequence[tuple[WorstCase, Certificate]]) -> list[WorstCase]:
    """The same programmes, in the same order, solved by another solver."""
    opinions: list[WorstCase] = []
    for (class_name, dimension), group in groupby(cases, lambda case: (case[1].class_name, case[1].dimension)):
        rows = star_rows(CERTIFIED_CLASSES[class_name](dimension))
        opinions += worst_cases(rows, [certificate.count for _, certificate in group], solver=SECOND_SOLVER)
    return opinions


def _solver_error(solution: WorstCase, certificate: Certificate, *, label: str) -> float:
    """How far the optimum lies from the certified bound or, if that is more, above the stated one."""
    stated = exact_bound(label, dimension=certificate.dimension, count=certificate.count)
    return max(abs(solution.optimum - float(certificate.bound)), solution.optimum - float(stated))


def _cases(label: str, profile: Profile) -> tuple[tuple[tuple[WorstCase, Certificate], ...], ...]:
    sharp = certified_cases(label, profile.dimensions)
    return sharp, certified_cases(f"{label}_end_point", profile.dimensions) if label in END_POINT_WEIGHTS else ()


def _certifies(certificate: Certificate, *, label: str) -> bool:
    bound = exact_bound(label, dimension=certificate.dimension, count=certificate.count)
    fits = certificate.bound == bound if certificate.class_name == label else certificate.bound <= bound
    return fits and check(certificate)


def _checks(label: str) -> dict[Grade, Check]:
    searched: dict[Grade, Check] = {
        "property": property_check(partial(class_members, label), MARGINS[label], rank=kept_back_count)
    }
    if label not in CLASS_WEIGHTS:
        return searched
    certified: dict[Grade, Check] = {
        "rational": partial(certificates_check, label=label),
        "numeric": partial(solver_check, label=label),
    }
    return certified | searched


CHECKS: dict[str, dict[Grade, Check]] = {label: _checks(label) for label in MARGINS}
"""Every check of these statements, by label and grade."""

MORE_THAN_ALL = Unneeded("k <= d", "no more than all d coordinates can be sent; the bound is not negative there")
EDGES: dict[str, tuple[Remark, ...]] = {
    "random_k": (Edge("k <= d", {"d": 1, "k": 2}),),
    "top_k": (Edge("k <= d", {"d": 1, "k": 2}),),
    "square_convex": (MORE_THAN_ALL,),
    "bell_shaped": (Edge("k <= d", {"d": 1, "k": 2}),),
    "square_convex_discrete": (MORE_THAN_ALL,),
    "bell_shaped_discrete": (
        Unneeded("k <= d", "no more than all d coordinates can be sent; at k = d + 1 the bound is 0", widened=True),
        Edge("k <= d", {"d": 1, "k": 3}),
    ),
}
"""What is said of the conditions, by label."""
