"""Selections in consensus ADMM, by hand."""

from __future__ import annotations

from fractions import Fraction

from sparsync.verify.learning import compressed_consensus as compressed
from sparsync.verify.learning.consensus import ZERO, BatchOf, best_consensus, consistent, lagrangian, trace

ONE: list[BatchOf] = [[((Fraction(1), Fraction(0)), Fraction(2))]]


def test_from_the_minimiser_an_undamped_error_costs_what_is_stated() -> None:
    """ρ = 2, n = 1: an error of 1 moves z by 1/2, and L, with the curvature 4, rises by 1/2."""
    state = consistent(ONE, [ZERO], (Fraction(1), Fraction(0)))
    error, rho = (Fraction(1), Fraction(0)), Fraction(2)
    assert best_consensus(state, rho) == state.consensus == compressed.worst_consensus(state, error, rho, Fraction(1))
    assert compressed.damped(state, error, rho, Fraction(1)) == (Fraction(1, 2), Fraction(0))
    assert compressed.step_margin(ONE, state, error, rho, Fraction(1)) == 0
    assert compressed.step_margin(ONE, state, error, rho, Fraction(1, 2)) == 0


def test_a_weight_exists_up_to_the_damping_stated() -> None:
    root, rho = Fraction(3, 4), Fraction(6)
    stated = compressed.stated_damping(root, 2, rho)
    theta = compressed.share(2, rho)
    assert compressed.has_weight(stated, root, theta)
    assert not compressed.has_weight(stated * Fraction(1001, 1000), root, theta)
    assert not compressed.has_weight(Fraction(9, 8), Fraction(1, 8), theta)


def test_the_run_with_estimates_falls_and_would_not_with_a_weight_forgotten() -> None:
    batches = compressed.listed_batches()
    state = consistent(batches, [ZERO, (Fraction(1), Fraction(-2))], (Fraction(1), Fraction(1)))
    rho = max(trace(batch) for batch in batches)
    assert compressed.run_falls(batches, state, rho, 4)
    assert lagrangian(batches, state, rho) > 0
    # Far below the curvature L rises by itself.
    assert not compressed.run_falls(batches, state, rho / 50, 4)
