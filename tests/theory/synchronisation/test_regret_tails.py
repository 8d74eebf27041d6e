"""The probability of a large regret: by hand, outside its domain, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import T, lipschitz, misread_cap
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import regret_tails


def test_the_probability_of_a_large_regret_by_hand() -> None:
    value = STATEMENTS["regret_tail"].exact(T=2, regret_excess=3, step_size=Fraction(1, 2), lipschitz=2, misread_cap=3)
    assert value == sympy.exp(-1)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        (
            "regret_tail",
            {"T": 1, "regret_excess": 1, "step_size": 1, "lipschitz": 1, "misread_cap": 0},
        ),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (regret_tails, "regret_tail", "_best_slope", lambda: 1 / misread_cap),
        (regret_tails, "regret_tail", "_square", lambda: sympy.Integer(0)),
        (regret_tails, "regret_tail", "_threshold", lambda: T * lipschitz),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
