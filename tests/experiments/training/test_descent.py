"""The update is heavy-ball descent, with the step size where the memory has it not, or AdamW: both are torch's."""

from __future__ import annotations

import pytest
import torch

from sparsync.experiments.feedbacks.feedback import StepLocation
from sparsync.experiments.training.descent import AdamWDescent, MomentumDescent, new_descent


@pytest.mark.parametrize("step_location", ["inside", "outside"])
def test_a_constant_step_size_may_stand_on_either_side(step_location: StepLocation) -> None:
    """Both follow torch's SGD on f(x) = ‖x‖²/2, in float64 to the roundings of 30 contracting steps."""
    parameters = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    theirs = parameters.clone().requires_grad_()
    oracle = torch.optim.SGD([theirs], lr=0.1, momentum=0.9, weight_decay=0.01)
    descent = MomentumDescent(parameters, momentum=0.9, weight_decay=0.01, step_location=step_location)
    for _ in range(30):
        theirs.grad = theirs.detach().clone()
        oracle.step()
        descent.apply((0.1 if step_location == "inside" else 1.0) * parameters, step_size=0.1)
    # Each step rounds at most 8 times numbers below 10; momentum 0.9 amplifies a rounding at most tenfold.
    assert torch.allclose(parameters, theirs.detach(), rtol=0, atol=30 * 8 * 10 * 10 * 2.0**-53)


def test_without_momentum_and_decay_an_inside_step_subtracts_the_mean_exactly() -> None:
    parameters = torch.tensor([1.0, 2.0])
    MomentumDescent(parameters, momentum=0.0, weight_decay=0.0, step_location="inside").apply(
        torch.tensor([0.25, -0.5]), step_size=123.0
    )
    assert parameters.tolist() == [0.75, 2.5]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_adamw_is_that_of_torch(momentum: float) -> None:
    """On f(x) = ‖x‖²/2 with a falling step size, in float64 to the roundings of 30 steps."""
    parameters = torch.tensor([1.0, -2.0, 3.0, 0.0], dtype=torch.float64)
    theirs = parameters.clone().requires_grad_()
    oracle = torch.optim.AdamW([theirs], betas=(momentum, 0.999), weight_decay=0.1)
    descent = AdamWDescent(parameters, momentum=momentum, weight_decay=0.1)
    for step in range(30):
        theirs.grad = theirs.detach().clone()
        oracle.param_groups[0]["lr"] = step_size = 0.05 / (1 + step)
        oracle.step()
        descent.apply(parameters.clone(), step_size)
    # Fewer than 20 roundings a step of numbers below 10, none of which grows: a root is taken of each, none is small.
    assert torch.allclose(parameters, theirs.detach(), rtol=0, atol=30 * 20 * 10 * 2.0**-53)
    assert float(parameters[0]) < 0.95


def test_a_descent_is_known_by_its_name() -> None:
    parameters = torch.ones(1)
    made = [
        new_descent(name, parameters, momentum=0.9, weight_decay=0.0, step_location="outside")
        for name in ("sgd", "adamw")
    ]
    assert list(map(type, made)) == [MomentumDescent, AdamWDescent]
    with pytest.raises(ValueError, match="unknown optimiser 'adam'; known: sgd, adamw"):
        new_descent("adam", parameters, momentum=0.9, weight_decay=0.0, step_location="outside")  # type: ignore[arg-type]
