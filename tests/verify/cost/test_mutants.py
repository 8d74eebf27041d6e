"""The errors that a person makes in the statements on costs."""

from sparsync.theory.statements import FAMILIES
from sparsync.verify.cost.mutants import MUTANTS


def test_all_statements_have_an_error_that_a_person_makes() -> None:
    assert set(FAMILIES["Cost models"]) == {mutant.label for mutant in MUTANTS.values()}
