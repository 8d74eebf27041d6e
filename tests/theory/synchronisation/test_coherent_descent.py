"""The rate of descent on coherent stale gradients: attained, outside its domain, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import tau
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import coherent_descent


def test_one_update_on_a_parabola_attains_the_rate_of_coherent_gradients() -> None:
    # f = x²/2 at x = 3: ‖∇f‖² = 9.
    numbers = {"T": 1, "delay": 0, "coherence": 1, "variance": 0, "smoothness": 1}
    assert STATEMENTS["coherence_rate"].fraction(gap=Fraction(9, 2), **numbers) == 9


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("coherence_rate", {"T": 1, "delay": 0, "coherence": 0, "variance": 0, "smoothness": 1, "gap": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (coherent_descent, "coherence_rate", "_weight", lambda number: 1 / sympy.sqrt(number)),
        (coherent_descent, "coherence_rate", "_uses", lambda: tau),
        (coherent_descent, "coherence_rate", "FOLLOWS_FROM", 6),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
