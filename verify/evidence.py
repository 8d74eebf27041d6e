"""Which grades of evidence does a statement earn in this run? Each grade is the outcome of a computation.

A collector runs one kind of check on one statement and returns an outcome per grade; none where it does not apply.
A grade that applies is expected: the ledger fails when it is not earned. Ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.certificates import CERTIFIED_CLASSES, Certificate, check, rationalise
from sparsync.verify.margins import MARGINS, exact_bound
from sparsync.verify.properties import search
from sparsync.verify.weights import CLASS_WEIGHTS, END_POINT_WEIGHTS
from sparsync.verify.worst_case import WorstCase, star_rows, worst_cases

GRADES = ("formal", "symbolic", "smt", "ball", "rational", "numeric", "property", "simulated", "trained")
"""Every grade, strongest first."""


@dataclass(frozen=True)
class Profile:
    """How much a run does.

    Args:
        dimensions: the values of d for which every k is solved and certified.
        examples_count: hypothesis examples per statement.
    """

    dimensions: tuple[int, ...]
    examples_count: int


PROFILES: dict[str, Profile] = {
    "smoke": Profile(dimensions=tuple(range(1, 7)), examples_count=50),
    "quick": Profile(dimensions=(*range(1, 21), 40), examples_count=500),
    "full": Profile(dimensions=(*range(1, 41), 64), examples_count=5000),
}
"""smoke ≤ 15 s, quick ≤ 90 s on one core."""


@dataclass(frozen=True)
class Outcome:
    """Whether a grade was earned, and the numbers behind it as JSON."""

    earned: bool
    detail: Mapping[str, object]


@dataclass(frozen=True)
class Row:
    """The evidence for one statement: an outcome for every grade that applies to it."""

    label: str
    outcomes: Mapping[str, Outcome]

    @property
    def earned(self) -> tuple[str, ...]:
        """The grades earned, strongest first."""
        return tuple(grade for grade in GRADES if grade in self.outcomes and self.outcomes[grade].earned)

    @property
    def lost(self) -> tuple[str, ...]:
        """The grades that apply but were not earned, strongest first."""
        return tuple(grade for grade in GRADES if grade in self.outcomes and not self.outcomes[grade].earned)


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


def symbolic_evidence(label: str, _profile: Profile) -> dict[str, Outcome]:
    """`symbolic`: every step of the derivation holds."""
    statement = STATEMENTS[label]
    unproved = statement.unproved_claims()
    detail = {"steps_count": len(statement.derivation), "unproved_claims": list(unproved)}
    return {"symbolic": Outcome(earned=not unproved, detail=detail)}


def worst_case_evidence(label: str, profile: Profile) -> dict[str, Outcome]:
    """`rational`: exact certificates prove the bound, sharply on its own class; `numeric`: the solver agrees."""
    if label not in CLASS_WEIGHTS:
        return {}
    sharp = certified_cases(label, profile.dimensions)
    covered = certified_cases(f"{label}_end_point", profile.dimensions) if label in END_POINT_WEIGHTS else ()
    proved = all(_certifies(certificate, label=label, sharp=True) for _, certificate in sharp)
    proved_covered = all(_certifies(certificate, label=label, sharp=False) for _, certificate in covered)
    errors = [(abs(solution.optimum - float(c.bound)), solution.tolerance) for solution, c in (*sharp, *covered)]
    return {
        "rational": Outcome(
            earned=bool(sharp) and proved and proved_covered,
            detail={"sharp_certificates_count": len(sharp), "end_point_certificates_count": len(covered)},
        ),
        "numeric": Outcome(
            earned=bool(errors) and all(error <= tolerance for error, tolerance in errors),
            detail={
                "programmes_count": len(errors),
                "largest_solver_error": max(error for error, _ in errors),
                "largest_error_over_tolerance": max(error / tolerance for error, tolerance in errors),
            },
        ),
    }


def property_evidence(label: str, profile: Profile) -> dict[str, Outcome]:
    """`property`: a search over the statement's class finds no negative margin."""
    if label not in MARGINS:
        return {}
    found = search(label, max_examples=profile.examples_count)
    detail = {
        "examples_count": found.examples_count,
        "smallest_margin": str(found.smallest_margin),
        "squares": [str(v) for v in found.squares],
        "count": found.count,
    }
    return {"property": Outcome(earned=not found.found_counterexample, detail=detail)}


COLLECTORS: tuple[Callable[[str, Profile], Mapping[str, Outcome]], ...] = (
    symbolic_evidence,
    worst_case_evidence,
    property_evidence,
)
"""Every kind of check; a new grade is one function and one line here."""


def collect(label: str, profile: Profile) -> Row:
    """Run every collector on one statement."""
    outcomes: dict[str, Outcome] = {}
    for collector in COLLECTORS:
        outcomes.update(collector(label, profile))
    return Row(label=label, outcomes=outcomes)


def _certifies(certificate: Certificate, *, label: str, sharp: bool) -> bool:
    bound = exact_bound(label, dimension=certificate.dimension, count=certificate.count)
    fits = certificate.bound == bound if sharp else certificate.bound <= bound
    return fits and check(certificate)
