"""Which wrong statements about learning systems must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a factor forgotten, a mean that is biased, a mask that is lost. Ours.
"""

from sparsync.verify.learning import consensus_mutants, curvature_mutants, leakage_mutants, private_mutants
from sparsync.verify.ledger.mutation import Mutant

MUTANTS: dict[str, Mutant] = {
    **consensus_mutants.MUTANTS,
    **curvature_mutants.MUTANTS,
    **leakage_mutants.MUTANTS,
    **private_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
