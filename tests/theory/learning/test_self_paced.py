"""Weights and pace: numbers worked out by hand, and proofs that break with a broken model."""

from __future__ import annotations

import pytest

from sparsync.theory.language.symbols import raised_pace, selected_count
from sparsync.theory.learning import self_paced
from sparsync.theory.statements import STATEMENTS


def test_easy_examples_have_weight_and_hard_ones_none() -> None:
    weights = STATEMENTS["pace_weights"]
    assert [weights.fraction(loss=loss, pace=2) for loss in (0, 1, 2, 5)] == [-2, -1, 0, 0]


def test_a_raised_pace_gains_the_raise_for_each_example() -> None:
    assert STATEMENTS["pace_raise"].fraction(pace=1, raised_pace=3, selected_count=4) == -8
    assert STATEMENTS["pace_raise"].fraction(pace=3, raised_pace=1, selected_count=4) == 8


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("pace_weights", "_with_less", lambda: -self_paced._REST),
        ("pace_raise", "_raised_terms", lambda: -raised_pace * selected_count),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_paced, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
