"""Selections in consensus ADMM: numbers worked out by hand, and proofs that break with a broken model."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.language.symbols import damping, penalty
from sparsync.theory.learning import compressed_consensus
from sparsync.theory.statements import STATEMENTS


def test_what_was_not_sent_costs_as_computed_by_hand() -> None:
    """One batch, ρ = 2: θ = 1/2 and L has the curvature 4 in z, so an error of 1 moves z by 1/2 and costs 1/2."""
    cost = STATEMENTS["admm_compressed_step"]
    assert cost.fraction(penalty=2, n=1, damping=1, error_energy=1) == Fraction(1, 2)
    assert cost.fraction(penalty=2, n=1, damping=Fraction(1, 2), error_energy=1) == Fraction(1, 6)


def test_three_quarters_of_the_energy_need_no_damping() -> None:
    """q = 1/2, and θ < 1; a tenth of the entries needs one that is small."""
    largest = STATEMENTS["admm_compressed_damping"]
    assert largest.fraction(delta=Fraction(3, 4), n=10, penalty=7) == 1
    assert largest.evaluate(delta=Fraction(1, 10), n=10, penalty=1000) == pytest.approx(0.0058, abs=1e-4)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("admm_compressed_step", "_SHARE", penalty / (2 + penalty)),
        ("admm_compressed_step", "_CURVATURE", 1 + penalty),
        ("admm_compressed_damping", "_largest_damping", lambda: damping / damping),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed_consensus, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
