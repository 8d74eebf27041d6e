"""Which grades of evidence does a statement earn in this run? Each grade is the outcome of a computation.

`symbolic` is the statement's own derivation, executed; the others are its checks. A grade that applies is expected: the
ledger fails when it is not earned. Ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.remarks import remarks
from sparsync.verify.tools.edges import admitted
from sparsync.verify.tools.outcome import GRADES, Grade, Outcome, Profile


@dataclass(frozen=True)
class Row:
    """The evidence for one statement: an outcome for every grade that applies to it."""

    label: str
    outcomes: Mapping[Grade, Outcome]

    def with_grade(self, grade: Grade, outcome: Outcome | None) -> "Row":
        """The row with one more grade, in its place; the same row if there is no outcome."""
        if outcome is None:
            return self
        found = {**self.outcomes, grade: outcome}
        return Row(self.label, {name: found[name] for name in GRADES if name in found})

    @property
    def earned(self) -> tuple[Grade, ...]:
        """The grades earned, strongest first."""
        return tuple(grade for grade in GRADES if grade in self.outcomes and self.outcomes[grade].earned)

    @property
    def lost(self) -> tuple[Grade, ...]:
        """The grades that apply but were not earned, strongest first."""
        return tuple(grade for grade in GRADES if grade in self.outcomes and not self.outcomes[grade].earned)


def derivation_outcome(label: str) -> Outcome:
    """`symbolic`: every step of the derivation holds, one reaches the bound, and no known exception is admitted."""
    statement = STATEMENTS[label]
    argued = [step.claim for step in statement.derivation if step.argued]
    # Cheap, and what a statement with too wide a domain fails at.
    unproved = admitted(statement, remarks(label)) or statement.unproved_claims()
    detail = {
        "steps_count": len(statement.derivation),
        "argued_count": len(argued),
        "argued_claims": argued,
        "unproved_claims": list(unproved),
    }
    return Outcome(earned=not unproved, detail=detail)


def collect(label: str, profile: Profile, *, known: Mapping[Grade, Outcome] | None = None) -> Row:
    """Execute the derivation and run every check of one statement.

    Args:
        label: the statement.
        profile: how much the checks do.
        known: outcomes that are there already, of stored certificates, which are checked for all statements at once.
            Nothing runs for them.
    """
    outcomes = dict(known or {})
    if "symbolic" not in outcomes:
        outcomes["symbolic"] = derivation_outcome(label)
    for grade, check in CHECKS.get(label, {}).items():
        if grade not in outcomes:
            outcomes[grade] = check(profile)
    return Row(label=label, outcomes={grade: outcomes[grade] for grade in GRADES if grade in outcomes})
