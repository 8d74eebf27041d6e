"""Which wrong statements must the evidence notice? Errors that a person makes, and every bound made too good by a rule.

`verify/mutation.py` runs them, `verify/ledger.py` records the kills. Ours.
"""

from sparsync.verify import (
    contraction_mutants,
    delay_mutants,
    family_mutants,
    law_mutants,
    scaled_mutants,
    selector_mutants,
    synchronisation_mutants,
)
from sparsync.verify.mutation import Mutant

CHOSEN: dict[str, Mutant] = {
    **contraction_mutants.MUTANTS,
    **family_mutants.MUTANTS,
    **law_mutants.MUTANTS,
    **selector_mutants.MUTANTS,
    **delay_mutants.MUTANTS,
    **synchronisation_mutants.MUTANTS,
}
"""The errors that we thought of."""

MUTANTS: dict[str, Mutant] = {**CHOSEN, **scaled_mutants.MUTANTS}
"""Every mutant by name."""
