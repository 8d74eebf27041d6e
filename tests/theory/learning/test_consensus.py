"""Descent of consensus ADMM: numbers worked out by hand, and proofs that break with a broken model."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import mean_proposal, n, penalty
from sparsync.theory.learning import consensus
from sparsync.theory.statements import STATEMENTS


def test_one_example_is_pulled_to_the_middle() -> None:
    """x = 1, y = 2, ρ = 2: the optimum w = z = 1 has α = 2 and the proposal 2; the printed step costs 2."""
    assert STATEMENTS["admm_consensus_step"].fraction(mean_proposal=2, n=1, penalty=2) == 1
    assert STATEMENTS["admm_printed_step"].fraction(proposal_energy=4, n=1, penalty=2) == 2


def test_at_the_least_penalty_only_the_consensus_lets_it_fall_for_sure() -> None:
    descent = STATEMENTS["admm_descent"]
    found = descent.fraction(penalty=3, n=2, batch_curvature=3, consensus_move=1, model_move=7)
    assert found == -4
    # Half the penalty: 1·(−1)(…)/… = (ρ − φ)(ρ + 2φ)/(2ρ) at 3 and 6 is −15/2.
    assert descent.fraction(penalty=3, n=2, batch_curvature=6, consensus_move=0, model_move=1) == Fraction(15, 2)
    # Far above the curvature it is ρ/2.
    assert descent.fraction(penalty=8, n=2, batch_curvature=1, consensus_move=0, model_move=1) == -4


def test_the_condition_that_was_described_to_us_is_not_needed() -> None:
    """ρ > √2·φ suffices, but φ does, and any number of batches needs it."""
    assert STATEMENTS["admm_least_penalty"].fraction(batch_curvature=5) == 5


def test_models_first_rise_between_two_penalties_and_nowhere_else() -> None:
    change = STATEMENTS["admm_wrong_order"]
    signs = [change.fraction(penalty=Fraction(part, 8), consensus_energy=1) > 0 for part in (8, 10, 12, 15, 16, 17)]
    assert signs == [False, True, True, True, False, False]


def test_coming_together_gains_as_much_as_the_penalty_exceeds_the_curvature() -> None:
    assert STATEMENTS["admm_together"].fraction(penalty=5, batch_curvature=2, model_distance=4) == 6


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("admm_consensus_step", "_in_consensus", lambda point: penalty * n * point * (point / 2 - mean_proposal)),
        ("admm_printed_step", "_SHARE", penalty * n / (1 + penalty * n)),
        ("admm_descent", "_next_model", lambda: sympy.Symbol("w", real=True)),
        ("admm_descent", "_fall", lambda curvature: (penalty + curvature) / 2),
        ("admm_least_penalty", "_fall", lambda curvature: (penalty - 2 * curvature) * (penalty + curvature)),
        ("admm_wrong_order", "_models_first", lambda state: state),
        ("admm_together", "_in_model", lambda model: penalty * model**2),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consensus, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
