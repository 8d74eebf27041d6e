"""Consensus ADMM in fractions, by hand and against the solver that runs."""

from __future__ import annotations

from fractions import Fraction

import torch
from hypothesis import given, settings

from sparsync.experiments.learning.consensus import Batch, BatchModel, consensus_of
from sparsync.verify.learning import consensus
from sparsync.verify.learning.consensus import BatchOf, State

ONE: list[BatchOf] = [[((Fraction(1), Fraction(0)), Fraction(2))]]


def test_a_step_by_hand() -> None:
    """x = 1, y = 2, ρ = 2 from w = z = 0 and α = 4: z = 1, w = 1/2 and α = 3."""
    state = consensus.consistent(ONE, [consensus.ZERO], consensus.ZERO)
    assert state.multipliers == ((Fraction(4), Fraction(0)),)
    after = consensus.step(ONE, state, Fraction(2))
    none = Fraction(0)
    assert after == State(((Fraction(1, 2), none),), (Fraction(1), none), ((Fraction(3), none),))
    assert consensus.lagrangian(ONE, state, Fraction(2)) == 4
    assert consensus.lagrangian(ONE, after, Fraction(2)) == Fraction(9, 4) + 1 - Fraction(3, 2) + Fraction(1, 4)


def test_the_orders_differ_and_the_first_keeps_the_identity() -> None:
    state = consensus.consistent(ONE, [consensus.ZERO], consensus.ZERO)
    first, second = (go(ONE, state, Fraction(2)) for go in (consensus.step, consensus.models_first))
    assert consensus.gradient(ONE[0], first.models[0]) == consensus.scaled(first.multipliers[0], -1)
    assert consensus.gradient(ONE[0], second.models[0]) != consensus.scaled(second.multipliers[0], -1)


def test_opposite_batches_rise_below_the_curvature_and_attain_the_bound() -> None:
    size = Fraction(1)
    for part, rises in ((Fraction(31, 32), True), (Fraction(1), False), (Fraction(33, 32), False)):
        batches, state = consensus.twins(size, Fraction(1), Fraction(3))
        after = consensus.step(batches, state, 2 * part)
        change = consensus.lagrangian(batches, after, 2 * part) - consensus.lagrangian(batches, state, 2 * part)
        assert (change > 0) is rises
        assert after.consensus == consensus.ZERO
        assert consensus.twins_margin(size, Fraction(1), Fraction(3), part) == 0


@settings(max_examples=30)
@given(case=consensus.run_cases())
def test_the_solver_makes_the_steps_of_the_fractions(case: tuple[list[BatchOf], State, Fraction]) -> None:
    """Three steps from one z in doubles, to within what some dozens of roundings of their largest numbers can do."""
    batches, state, rho = case
    z = torch.tensor([float(x) for x in state.consensus], dtype=torch.float64)
    exact = consensus.consistent(batches, [state.consensus] * len(batches), state.consensus)
    models = [BatchModel(_as_tensors(batch), float(rho)) for batch in batches]
    for model in models:
        model.begin(z)
    largest = 1.0
    for _ in range(3):
        exact = consensus.step(batches, exact, rho)
        mean = torch.stack([model.proposal() for model in models]).mean(0)
        z = consensus_of(mean, len(batches), float(rho), "right")
        for model in models:
            model.step(z)
        condition = max([1.0, *[1 + float(consensus.trace(batch) / rho) for batch in batches]])
        largest = max([largest, *[float(model.multiplier.norm() + model.model.norm()) for model in models]])
        reach = 1000 * 2.0**-53 * condition**4 * largest * max(1.0, 1 / float(rho))
        assert float((z - torch.tensor([float(x) for x in exact.consensus], dtype=torch.float64)).norm()) <= reach


def _as_tensors(batch: BatchOf) -> Batch:
    rows = torch.tensor([[float(x) for x in features] for features, _ in batch], dtype=torch.float64).reshape(-1, 2)
    return Batch(rows, torch.tensor([float(target) for _, target in batch], dtype=torch.float64))
