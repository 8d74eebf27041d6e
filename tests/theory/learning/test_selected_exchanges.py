"""Unions of selections and their bytes: by hand, at both ends, and outside the domain."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.learning import selected_exchanges
from sparsync.theory.statements import STATEMENTS


def test_unions_by_hand() -> None:
    # Of two coins of one of two positions each, the union has one position or two, equally often.
    assert STATEMENTS["random_union"].fraction(n=2, d=2, kappa=Fraction(1, 2)) == Fraction(3, 2)
    assert STATEMENTS["random_union"].fraction(n=3, d=7, kappa=1) == 7
    assert STATEMENTS["largest_union"].fraction(n=3, d=20, k=5) == 15
    assert STATEMENTS["largest_union"].fraction(n=5, d=20, k=5) == 20
    assert STATEMENTS["least_union"].fraction(d=20, k=5) == 5


def test_bytes_by_hand() -> None:
    # Three clients, five pairs of eight bytes up, and fifteen down, twice.
    numbers = {"n": 3, "d": 20, "k": 5, "round_count": 2, "value_bytes": 4, "index_bytes": 4}
    assert STATEMENTS["selected_epoch_bytes"].fraction(**numbers) == 2 * 3 * 8 * (5 + 15)
    assert STATEMENTS["safe_selection"].fraction(n=3, value_bytes=4, index_bytes=4) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("random_union", {"n": 2, "d": 3, "kappa": 2}),
        ("largest_union", {"n": 2, "d": 3, "k": 4}),
        ("safe_selection", {"n": 2, "value_bytes": 8, "index_bytes": 2}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("safe_selection", "safe_selection", selected_exchanges.random_union),
        ("selected_epoch_bytes", "_selected_exchange", lambda union: union),
        ("safe_selection", "_selected_of", lambda density: density),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(selected_exchanges, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
