"""Which wrong statements must the evidence notice? One file of mutants for contraction, one for all other families.

`verify/mutation.py` runs them, `verify/ledger.py` records the kills. Ours.
"""

from sparsync.verify import contraction_mutants, family_mutants
from sparsync.verify.mutation import Mutant

MUTANTS: dict[str, Mutant] = {**contraction_mutants.MUTANTS, **family_mutants.MUTANTS}
"""Every mutant by name."""
