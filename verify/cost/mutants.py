"""Which wrong statements about costs must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a phase left out, a message too few, a device or a unit counted twice. Ours.
"""

from sparsync.verify.cost import (
    collectives_mutants,
    densities_mutants,
    farm_mutants,
    hyperstep_mutants,
    regular_sampling_mutants,
    shares_mutants,
)
from sparsync.verify.ledger.mutation import Mutant

MUTANTS: dict[str, Mutant] = {
    **collectives_mutants.MUTANTS,
    **farm_mutants.MUTANTS,
    **hyperstep_mutants.MUTANTS,
    **regular_sampling_mutants.MUTANTS,
    **densities_mutants.MUTANTS,
    **shares_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
