"""Which wrong statements about costs must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a phase left out, a message too few, a unit that is counted twice. Ours.
"""

from sparsync.verify.cost import farm_mutants, hyperstep_mutants
from sparsync.verify.ledger.mutation import Mutant

MUTANTS: dict[str, Mutant] = {**farm_mutants.MUTANTS, **hyperstep_mutants.MUTANTS}
"""Every mutant of these statements, by name."""
