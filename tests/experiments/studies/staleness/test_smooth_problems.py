"""What a rate is checked with is true of the functions: gradients, smoothness, infimum and variance."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.staleness.smooth_problems import PROBLEMS, NoisyQuadratic, SoftmaxRegression

PENALTY, CLASS_COUNT = 0.1, 4
STREAM = torch.Generator().manual_seed(2)
FEATURES = torch.randn(12, 3, generator=STREAM, dtype=torch.float64)
LABELS = torch.randint(CLASS_COUNT, (12,), generator=STREAM)
MODELS = torch.randn(5, 3 * CLASS_COUNT, generator=STREAM, dtype=torch.float64)


@functools.cache
def regression(batch_size: int = 0) -> SoftmaxRegression:
    return SoftmaxRegression(FEATURES, LABELS, class_count=CLASS_COUNT, penalty=PENALTY, batch_size=batch_size)


def objective(model: Tensor, examples: slice = slice(None)) -> Tensor:
    """From the definition: −log of the label's share of exponentials."""
    outputs = (FEATURES[examples] @ model.view(3, CLASS_COUNT)).exp()
    right = outputs[torch.arange(len(outputs)), LABELS[examples]]
    return -(right / outputs.sum(dim=1)).log().mean() + 0.5 * PENALTY * model.square().sum()


def gradient(model: Tensor, examples: slice = slice(None)) -> Tensor:
    at = model.clone().requires_grad_()
    return torch.autograd.grad(objective(at, examples), at)[0]


@pytest.mark.parametrize("model", MODELS)
def test_value_and_gradient_are_those_of_the_definition(model: Tensor) -> None:
    assert regression().value(model) == pytest.approx(float(objective(model)), rel=1e-12)
    torch.testing.assert_close(regression().gradient(model)[0], gradient(model), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_no_curvature_exceeds_the_smoothness(model: Tensor) -> None:
    hessian = torch.autograd.functional.hessian(objective, model)
    assert float(torch.linalg.eigvalsh(hessian)[-1]) <= regression().smoothness


def test_the_smoothness_is_attained_where_two_classes_share_a_lone_example() -> None:
    features, labels = torch.ones(1, 1, dtype=torch.float64), torch.tensor([0])
    problem = SoftmaxRegression(features, labels, class_count=2, penalty=PENALTY)
    slope = problem.gradient(torch.tensor([1e-5, -1e-5], dtype=torch.float64))[0] - problem.gradient(problem.initial)[0]
    assert float(slope.norm()) / (2**0.5 * 1e-5) == pytest.approx(problem.smoothness, rel=1e-9)
    assert problem.smoothness == pytest.approx(0.5 + PENALTY)


def test_the_infimum_is_below_every_value_and_nearly_reached() -> None:
    problem, model = regression(), torch.zeros(3 * CLASS_COUNT, dtype=torch.float64)
    for _ in range(400):
        model = model - problem.gradient(model)[0] / problem.smoothness
    assert problem.infimum <= problem.value(model) < problem.infimum + 1e-9
    assert min(problem.value(other) for other in MODELS) > problem.infimum


@pytest.mark.parametrize("model", MODELS)
def test_the_variance_is_that_of_single_examples_over_the_batch(model: Tensor) -> None:
    single = torch.stack([gradient(model, slice(place, place + 1)) for place in range(len(LABELS))])
    expected = float((single - single.mean(dim=0)).square().sum(dim=1).mean())
    assert regression(1).gradient(model)[1] == pytest.approx(expected, rel=1e-12)
    assert regression(5).gradient(model)[1] == pytest.approx(expected / 5, rel=1e-12)
    assert regression().gradient(model)[1] == 0


@pytest.mark.parametrize("name", ["regression", "quadratic"])
def test_noisy_gradients_have_the_stated_mean_and_variance(name: str) -> None:
    quadratic = NoisyQuadratic(torch.linspace(1, 2, 12).double(), noise=0.5)
    problem = regression(2) if name == "regression" else quadratic
    stream, model, count = torch.Generator().manual_seed(7), MODELS[0], 2000
    mean, variance = problem.gradient(model)
    drawn = torch.stack([problem.noisy_gradient(model, stream) for _ in range(count)])
    squares = (drawn - mean).square().sum(dim=1)
    # Five standard deviations of a mean of so many draws.
    assert float((drawn.mean(dim=0) - mean).norm()) < 5 * (variance / count) ** 0.5
    assert abs(float(squares.mean()) - variance) < 5 * float(squares.std()) / count**0.5


def test_without_noise_the_noisy_gradient_is_the_gradient() -> None:
    for name in ("quadratic", "regression"):
        problem = PROBLEMS[name]()
        model = problem.initial + 0.1
        assert torch.equal(problem.noisy_gradient(model, torch.Generator()), problem.gradient(model)[0])


def test_a_penalty_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="penalty must be positive, got 0"):
        SoftmaxRegression(FEATURES, LABELS, class_count=CLASS_COUNT, penalty=0)
