"""Which wrong statements about learning systems must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a factor forgotten, a mean that is biased, a mask that is lost. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sparsync.verify.learning import (
    consensus_mutants,
    curvature_mutants,
    distance_correlation,
    leakage_mutants,
    private_mutants,
)
from sparsync.verify.ledger.mutation import Mutant
from sparsync.verify.tools.outcome import Grade


def wrong_centring(label: str, change: str, name: str, centring: Any, *killed_by: Grade) -> Mutant:
    """The evidence computes with another centring than it should."""
    return Mutant(label, change, lambda: ((distance_correlation.__dict__, name, centring),), killed_by)


def _rows_alone(distances: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Less the mean of the row; that of the column is forgotten."""
    return [[entry - sum(row, Fraction(0)) / len(row) for entry in row] for row in distances]


MUTANTS: dict[str, Mutant] = {
    **consensus_mutants.MUTANTS,
    **curvature_mutants.MUTANTS,
    **leakage_mutants.MUTANTS,
    **private_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
