"""The errors that a person makes in the statements on learning systems."""

from sparsync.theory.statements import FAMILIES
from sparsync.verify.learning.mutants import MUTANTS


def test_all_statements_have_an_error_that_a_person_makes() -> None:
    assert set(FAMILIES["Learning systems"]) == {mutant.label for mutant in MUTANTS.values()}
