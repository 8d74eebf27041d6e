"""Counts by layer: what the proofs rest on, and with a broken step."""

from __future__ import annotations

import pytest
import sympy

from sparsync.theory.cost import densities
from sparsync.theory.statements import STATEMENTS


def test_prices_by_hand() -> None:
    # Two layers of squares 5, 2 and 4, 3, room for three of them, one of the second: prices 2 and 2.
    above = (5 - 2) + (4 - 4) + (3 - 4) * 0
    assert STATEMENTS["threshold_prices"].fraction(priced_capacity=2 * 3 + 2 * 1, squares_above=above) == 5 + 2 + 4


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        # Prefixes for suffixes.
        ("nested_greedy", "_holds", lambda place, layer: sympy.Integer((place - layer).is_nonnegative is True)),
        ("nested_greedy", "_gain", lambda change: change - 1),
        ("threshold_prices", "_priced", lambda unused, unsent: unused - unsent),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(densities, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
