"""Disagreement after an epoch of mixing: by hand, outside its domain, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import n
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import mixing_epochs


@pytest.mark.parametrize(
    ("workers", "weight", "expected"),
    [(2, Fraction(1, 2), 0), (4, Fraction(1, 2), Fraction(3, 4)), (10, Fraction(1, 3), 1 - Fraction(32, 900))],
)
def test_epochs_contract_as_computed_by_hand(workers: int, weight: Fraction, expected: Fraction) -> None:
    assert STATEMENTS["epoch_disagreement"].fraction(n=workers, least_weight=weight) == expected


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("epoch_disagreement", {"n": 2, "least_weight": Fraction(2, 3)}),
        ("epoch_disagreement", {"n": 1, "least_weight": Fraction(1, 2)}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (mixing_epochs, "epoch_disagreement", "_pairs_across", lambda: n),
        (mixing_epochs, "epoch_disagreement", "_averaging", lambda workers, _link: sympy.eye(workers)),
        (mixing_epochs, "epoch_disagreement", "_taken_per_gap", lambda: sympy.Integer(1)),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
