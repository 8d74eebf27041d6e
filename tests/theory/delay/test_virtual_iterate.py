"""The virtual iterate under delay: by hand, outside its domain, and with a wrong sign."""

from fractions import Fraction

import pytest

from sparsync.theory.delay import virtual_iterate
from sparsync.theory.language.symbols import eta
from sparsync.theory.statements import STATEMENTS


def test_the_virtual_iterate_moves_by_the_step() -> None:
    statement = STATEMENTS["delayed_virtual_iterate"]
    assert statement.evaluate(virtual_iterate=1, step_size=Fraction(1, 4), gradient=-2) == 1.5


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("delayed_virtual_iterate", {"virtual_iterate": 0, "step_size": 0, "gradient": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


def test_a_wrong_sign_leaves_the_virtual_iterate_unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_iterate, "_next_virtual", lambda virtual, taken: virtual + eta * taken)
    assert len(STATEMENTS["delayed_virtual_iterate"].unproved_claims()) == 2
