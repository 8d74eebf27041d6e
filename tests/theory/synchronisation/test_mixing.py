"""Mixing on a grid: a broken model leaves a claim unproved."""

from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    eta,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    mixing,
)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (mixing, "grid_mixing", "_in_rows", lambda *_places: sympy.Integer(1)),
        (mixing, "digit_mixing", "_in_digit", lambda _base: sympy.Integer(1)),
        (mixing, "digit_mixing", "BASES", (1, 2)),
        (mixing, "grid_disagreement", "_without_mean", sympy.expand),
        (mixing, "grid_disagreement", "_matrix", lambda *_grid: sympy.zeros(4)),
        (mixing, "grid_disagreement", "gradient_spread", 2 * eta),
        (mixing, "mixing_mean", "_copies_in_sum", lambda _rows, _columns: mixing._sum_of_copies()),
        (mixing, "mixing_mean", "_only", lambda _largest: lambda value: value),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
