"""Which wrong statements must the evidence notice? Errors that a person makes; by rules, bounds too good and
hypotheses that give way.

`verify/ledger/mutation.py` runs them, `verify/ledger/command.py` records the kills. Ours.
"""

from sparsync.verify.contraction import mutants as contraction
from sparsync.verify.cost import mutants as cost
from sparsync.verify.delay import mutants as delay
from sparsync.verify.feedback import mutants as feedback
from sparsync.verify.laws import mutants as laws
from sparsync.verify.learning import mutants as learning
from sparsync.verify.ledger import hypothesis_mutants, scaled_mutants
from sparsync.verify.ledger.mutation import Mutant
from sparsync.verify.selectors import mutants as selectors
from sparsync.verify.synchronisation import mutants as synchronisation
from sparsync.verify.tight_rates import mutants as tight_rates

CHOSEN: dict[str, Mutant] = {
    **contraction.MUTANTS,
    **laws.MUTANTS,
    **selectors.MUTANTS,
    **feedback.MUTANTS,
    **tight_rates.MUTANTS,
    **delay.MUTANTS,
    **synchronisation.MUTANTS,
    **learning.MUTANTS,
    **cost.MUTANTS,
}
"""The errors that we thought of."""

MUTANTS: dict[str, Mutant] = {**CHOSEN, **scaled_mutants.MUTANTS, **hypothesis_mutants.MUTANTS}
"""Every mutant by name."""
