"""The errors that a person makes in the statements on synchronisation."""

from sparsync.theory.statements import FAMILIES
from sparsync.verify.synchronisation.mutants import MUTANTS


def test_all_statements_but_one_have_an_error_that_a_person_makes() -> None:
    without = set(FAMILIES["Synchronisation"]) - {mutant.label for mutant in MUTANTS.values()}
    assert without == {"zipline_sweep"}
