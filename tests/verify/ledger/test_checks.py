"""Every statement has checks, and all but a few one that is exact."""

from sparsync.theory.statements import FAMILIES
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.tools.outcome import EXACT_GRADES


def test_every_statement_has_another_grade_than_its_derivation() -> None:
    without_exact = {label for label in FAMILIES["Error feedback"] if not EXACT_GRADES & set(CHECKS[label])}
    assert without_exact == {"complexity_gaussian", "complexity_laplace"}
