"""A batch's step solves its equations, keeps ∇f = −α, and its value of the Lagrangian is as exact as it says."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.learning.consensus import (
    Batch,
    BatchModel,
    consensus_of,
    consensus_share,
    sufficient_penalty,
)

UNIT = 2.0**-53


def batch_of(example_count: int, feature_count: int, seed: int = 0) -> Batch:
    stream = torch.Generator().manual_seed(seed)
    features = torch.randn(example_count, feature_count, generator=stream, dtype=torch.float64)
    return Batch(features, torch.randn(example_count, generator=stream, dtype=torch.float64))


def started(batch: Batch, penalty: float, seed: int = 1) -> tuple[BatchModel, Tensor]:
    """A batch that has begun at one z, and the next z."""
    width = batch.features.shape[1]
    first, second = torch.randn(2, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    model = BatchModel(batch, penalty)
    model.begin(first)
    return model, second


def exact_part(model: BatchModel, consensus: Tensor, pace: float) -> Fraction:
    """The batch's terms of L at the numbers held, in fractions."""
    rho = Fraction(model.penalty)
    w, z, alpha = ([Fraction(x) for x in vector.tolist()] for vector in (model.model, consensus, model.multiplier))
    value = sum((a * (x - y) + rho / 2 * (x - y) ** 2 for a, x, y in zip(alpha, w, z, strict=True)), Fraction(0))
    rows, targets = model.batch.features.tolist(), model.batch.targets.tolist()
    for row, target, weight in zip(rows, targets, model.weights.tolist(), strict=True):
        miss = sum((Fraction(x) * y for x, y in zip(row, w, strict=True)), Fraction(0)) - Fraction(target)
        value += Fraction(weight) * (miss**2 - Fraction(pace))
    return value


@pytest.mark.parametrize("example_count", [0, 1, 3, 40])
def test_a_step_solves_its_normal_equations(example_count: int) -> None:
    """With no example, one, fewer than features (XᵀX is singular), and many.

    Cholesky's answer is that of a matrix off by less than p(3p + 1) roundings (Higham 2002, Theorem 10.4), and making
    the matrix and the right side takes at most n + 3 more.
    """
    batch, rho, width = batch_of(example_count, 7), 3.0, 7
    model, consensus = started(batch, rho)
    multiplier = model.multiplier
    model.step(consensus)
    matrix = 2 * batch.features.T @ batch.features + rho * torch.eye(width, dtype=torch.float64)
    right = 2 * batch.features.T @ batch.targets - multiplier + rho * consensus
    size = float(torch.linalg.matrix_norm(matrix, 2) * model.model.norm() + right.norm())
    size += 2 * float(batch.features.abs().T.matmul(batch.targets.abs()).norm())
    bound = (width * (3 * width + 1) + width * (example_count + 3)) * UNIT * size
    assert float((matrix @ model.model - right).norm()) <= 2 * bound


@given(example_count=st.integers(0, 6), seed=st.integers(0, 1000), penalty=st.floats(0.1, 100), pace=st.floats(0.1, 5))
def test_the_value_of_the_lagrangian_is_as_exact_as_it_says(
    example_count: int, seed: int, penalty: float, pace: float
) -> None:
    """The same numbers in fractions: no step is off by more than the roundings that are allowed it."""
    model, consensus = started(batch_of(example_count, 3, seed), penalty, seed)
    start = model.model.clone()
    for place in (start, consensus):
        if place is consensus:
            model.step(consensus)
        watched = model.watch(place, pace, 2)
        error = abs(Fraction(watched.value) - exact_part(model, place, pace))
        assert error <= Fraction(watched.allowance)
        # And no coarser than a few roundings for each of the sums: it is a bound to be used.
        sums = float((model.losses(model.model).sum() + pace * example_count) + model.multiplier.norm() ** 2 / penalty)
        scale = sums + (penalty + 1) * float(model.model.norm() + place.norm() + model.batch.targets.norm() + 1) ** 2
        reach = 1 + float(model.batch.features.norm()) ** 2
        assert watched.allowance <= 1e4 * UNIT * scale * reach * (1 + reach / penalty)


def test_after_a_step_the_gradient_is_the_multiplier_with_the_other_sign() -> None:
    """Up to the residue of the solve, see the test above, on both sides of ρ(w − z) + α."""
    batch = batch_of(20, 5)
    model, consensus = started(batch, 50.0)
    for _ in range(3):
        model.step(consensus)
        size = 50 * float(model.model.norm() + consensus.norm()) + float(model.multiplier.norm())
        size += 4 * float(batch.features.norm()) ** 2 * float(model.model.norm()) + 4 * float(
            batch.features.norm() * batch.targets.norm()
        )
        assert float((model.gradient(model.model) + model.multiplier).norm()) <= 200 * UNIT * size
        consensus = consensus / 2


def test_a_batch_without_weight_follows_the_others() -> None:
    """f = 0: w = z and α = 0, whether there are no examples or none that has weight."""
    for batch, weights in ((batch_of(0, 4), torch.zeros(0)), (batch_of(5, 4), torch.zeros(5))):
        model, consensus = started(batch, 2.0)
        model.set_weights(weights.double())
        model.begin(consensus)
        model.step(consensus / 3)
        # A root, a square and two quotients of it: four roundings each way.
        assert torch.allclose(model.model, consensus / 3, rtol=8 * UNIT, atol=0)
        assert float(model.multiplier.norm()) <= 16 * UNIT * float(consensus.norm())


def test_the_factorisation_is_kept_until_a_weight_changes() -> None:
    model, consensus = started(batch_of(6, 3), 2.0)
    model.step(consensus)
    first = model._factor
    assert model.set_weights(torch.ones(6, dtype=torch.float64)) == 0
    model.step(consensus)
    assert model._factor is first
    fewer = torch.tensor([1, 0, 1, 0, 0, 1], dtype=torch.float64)
    assert model.set_weights(fewer) == 3
    model.begin(consensus)
    model.step(consensus)
    alone = BatchModel(Batch(model.batch.features[fewer > 0], model.batch.targets[fewer > 0]), 2.0)
    alone.begin(consensus)
    alone.step(consensus)
    assert torch.allclose(model.model, alone.model, rtol=1e-12, atol=0)


def test_the_curvature_bounds_that_of_any_weights_and_one_example_attains_it() -> None:
    batch = batch_of(9, 4)
    weights = torch.rand(9, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    hessian = 2 * batch.features.T @ (weights[:, None] * batch.features)
    assert float(torch.linalg.eigvalsh(hessian)[-1]) <= batch.curvature()
    one = batch_of(1, 4)
    assert one.curvature() == pytest.approx(2 * float(one.features.norm()) ** 2, rel=2e-6)
    assert sufficient_penalty([one.curvature(), 0.0]) == one.curvature()
    assert batch_of(0, 4).curvature() == 0
    assert sufficient_penalty([0.0, 0.0]) == 1


def test_the_right_consensus_is_smaller_than_the_printed_one() -> None:
    mean = torch.tensor([1.0, -2.0], dtype=torch.float64)
    assert consensus_of(mean, 3, 2.0, "printed") is mean
    assert consensus_share(3, 2.0) == 6 / 8
    assert consensus_of(mean, 3, 2.0, "right").tolist() == [0.75, -1.5]


@pytest.mark.parametrize(
    ("features", "targets", "words"),
    [
        (torch.zeros(2, 3), torch.zeros(2), "float64"),
        (torch.zeros(2, 3).double(), torch.zeros(3).double(), r"\(2, 3\) and \(3,\)"),
        (torch.zeros(2, 0).double(), torch.zeros(2).double(), r"\(2, 0\)"),
        (torch.full((1, 1), torch.nan).double(), torch.zeros(1).double(), "not finite"),
    ],
)
def test_what_is_no_batch_is_refused(features: Tensor, targets: Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Batch(features, targets)


def test_a_system_without_a_factor_leaves_no_model() -> None:
    """What the factorisation leaves behind where it fails is finite, and would pass for one."""
    features = 1e3 * torch.randn(3, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = BatchModel(Batch(features, torch.ones(3, dtype=torch.float64)), 1e-15)
    model.step(torch.ones(8, dtype=torch.float64))
    assert model.model.isnan().all()
