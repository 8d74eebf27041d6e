"""Shared batches, placements and divisions: by hand, at their limits, and with broken steps."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import shares
from sparsync.theory.language.symbols import total_batch, total_rate
from sparsync.theory.statements import STATEMENTS


def test_without_flat_pieces_a_batch_takes_its_examples_over_the_rate_of_all() -> None:
    """Paces 1, 2 and 4 share 70 examples as 40, 20 and 10."""
    straight = {"flat_time": 0, "fixed_examples": 0, "total_rate": Fraction(7, 4), "total_batch": 70}
    assert STATEMENTS["flat_split_time"].fraction(**straight) == 40
    assert STATEMENTS["flat_greedy_time"].fraction(n=3, **straight) == 40 + Fraction(2 * 4, 7)


def test_a_flat_piece_that_is_longer_than_the_rest_is_all_that_counts() -> None:
    flat = {"flat_time": 9, "fixed_examples": 1, "total_rate": 2, "total_batch": 16}
    assert STATEMENTS["flat_split_time"].fraction(**flat) == 9
    assert STATEMENTS["flat_split_time"].fraction(**{**flat, "total_batch": 18}) == Fraction(19, 2)


def test_waste_by_hand() -> None:
    """A V100 of two steps and two P100 of one host four in one unit of time, and three in two of them."""
    devices = {"total_capability": 4}
    assert STATEMENTS["placement_waste"].fraction(overload=1, logical_count=4, **devices) == 0
    assert STATEMENTS["placement_waste"].fraction(overload=1, logical_count=3, **devices) == 1
    with pytest.raises(ValueError, match="violated"):
        STATEMENTS["placement_waste"].fraction(overload=1, logical_count=5, **devices)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("flat_split_time", "_seconds", lambda batch: batch),
        ("flat_greedy_time", "_time_of", lambda _examples: total_batch / total_rate),
        ("placement_waste", "_waste_in_all", lambda: sympy.Integer(0)),
        ("marginal_gains", "_largest", lambda greedy: greedy + 1),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(shares, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
