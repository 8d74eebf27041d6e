"""The row of one statement and the fate of one mutant: each is independent of all others. Ours."""

from collections.abc import Mapping

from sparsync.verify.ledger.evidence import Row, collect
from sparsync.verify.ledger.mutants import MUTANTS
from sparsync.verify.ledger.mutation import killing_grades
from sparsync.verify.tools.outcome import Grade, Outcome, Profile

RowTask = tuple[str, Profile, Mapping[Grade, Outcome]]
"""A label, the size of the run, and the outcomes that are known already."""


def row(task: RowTask) -> Row:
    """The evidence for one statement."""
    label, profile, known = task
    return collect(label, profile, known=known)


def fate(name: str) -> tuple[Grade, ...]:
    """The grades that one mutant lost."""
    return killing_grades(MUTANTS[name])
