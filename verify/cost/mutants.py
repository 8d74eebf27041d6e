"""Which wrong statements about costs must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a pass forgotten, a device counted twice, a message for nothing. Ours.
"""

from sparsync.verify.cost import sharding_mutants
from sparsync.verify.ledger.mutation import Mutant

MUTANTS: dict[str, Mutant] = {
    **sharding_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
