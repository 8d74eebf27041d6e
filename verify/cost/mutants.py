"""Which wrong statements about costs must the evidence notice? `verify/ledger/mutants.py` collects them. Ours."""

from sparsync.verify.cost import shares_mutants
from sparsync.verify.ledger.mutation import Mutant

MUTANTS: dict[str, Mutant] = {
    **shares_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
