"""Which wrong statements about cost must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a message not counted, a capacity forgotten, a step too few. Ours.
"""

from sparsync.verify.cost import densities_mutants, run_seconds_mutants
from sparsync.verify.ledger.mutation import Mutant

MUTANTS: dict[str, Mutant] = {
    **densities_mutants.MUTANTS,
    **run_seconds_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
