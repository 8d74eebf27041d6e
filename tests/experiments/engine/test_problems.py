"""Gradients are derivatives of losses, noise shrinks with the batch, and training is that of the real workers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Banded, Problem, Quadratics, Training
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.data import Dataset, as_text, load_dataset
from sparsync.experiments.training.models import IMAGE_MODELS, MODELS, TEXT_MODELS, FlatModel
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.verify.monitors.trace import Stepped
from tests.support.slow_cases import slow_except

CURVATURES = (1.0, 0.5, 2.0, 4.0, 0.25)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("embedded")


def some_model(problem: Problem, seed: int = 0) -> Tensor:
    drawn = torch.randn(problem.initial.shape, dtype=torch.float64, generator=random_stream(seed, "model"))
    return problem.initial + drawn


PROBLEMS: dict[str, Problem] = {
    "quadratics": Quadratics(CURVATURES, worker_count=3, spread=1.0, block_count=2, seed=1),
    "banded": Banded(3, block_size=2, seed=1),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_mean_gradient_is_the_derivative_of_the_mean_loss(name: str) -> None:
    problem, width = PROBLEMS[name], 2.0**-10
    model = some_model(problem)

    def mean_loss(at: Tensor) -> float:
        return sum(problem.loss_and_gradient(worker, 0, at, 1.0)[0] for worker in range(3)) / 3

    gradient = torch.stack([problem.loss_and_gradient(worker, 0, model, 1.0)[1] for worker in range(3)]).mean(dim=0)
    for place in range(len(model)):
        ahead, behind = model.clone(), model.clone()
        ahead[place] += width
        behind[place] -= width
        # Central differences of a quadratic have no error but rounding, of losses below 100.
        difference = (mean_loss(ahead) - mean_loss(behind)) / (2 * width)
        assert abs(difference - float(gradient[place])) < 100 * 2.0**-52 * 2.0**10 * 10


@pytest.mark.parametrize("name", PROBLEMS)
def test_quality_is_the_mean_loss_above_its_least(name: str) -> None:
    problem = PROBLEMS[name]
    model = some_model(problem).requires_grad_(False)

    def mean_loss(at: Tensor) -> float:
        return sum(problem.loss_and_gradient(worker, 0, at, 1.0)[0] for worker in range(3)) / 3

    first, second = some_model(problem, 1), some_model(problem, 2)
    assert problem.quality(first) - problem.quality(second) == pytest.approx(mean_loss(first) - mean_loss(second))
    for _ in range(400):
        model -= 0.2 * torch.stack([problem.loss_and_gradient(w, 0, model, 1.0)[1] for w in range(3)]).mean(dim=0)
    assert problem.quality(model) == pytest.approx(0.0, abs=1e-12)
    assert min(problem.quality(first), problem.quality(second)) > 0.1


def test_a_workers_gradient_is_curvature_times_distance_to_its_own_optimum() -> None:
    problem = Quadratics(CURVATURES, worker_count=2, spread=2.0, seed=3)
    optima = [
        model - problem.loss_and_gradient(worker, 0, model, 1.0)[1] / torch.tensor(CURVATURES, dtype=torch.float64)
        for worker, model in enumerate((some_model(problem, 1), some_model(problem, 2)))
    ]
    for worker, optimum in enumerate(optima):
        loss, gradient = problem.loss_and_gradient(worker, 5, optimum, 1.0)
        assert loss == pytest.approx(0.0, abs=1e-25)
        assert torch.allclose(gradient, torch.zeros_like(gradient), atol=1e-12)
    assert not torch.allclose(optima[0], optima[1])


@pytest.mark.parametrize("batch", [0.25, 1.0, 4.0])
def test_the_noise_has_the_stated_variance_divided_by_the_batch(batch: float) -> None:
    dimension, step_count = 100, 200
    noisy = Quadratics((1.0,) * dimension, worker_count=2, noise=0.5, seed=2)
    exact = noisy.initial - 0.0
    drawn = torch.stack([noisy.loss_and_gradient(1, step, exact, batch)[1] for step in range(step_count)]) - exact
    count = dimension * step_count
    variance = 0.25 / batch
    assert abs(float(drawn.mean())) < 5 * (variance / count) ** 0.5
    # The variance of N samples of N(0, v) has standard error v √(2/N).
    assert abs(float(drawn.var()) - variance) < 5 * variance * (2 / count) ** 0.5


def test_noise_depends_on_worker_and_step_alone() -> None:
    problem = Quadratics(CURVATURES, worker_count=2, noise=1.0, seed=2)
    later = problem.loss_and_gradient(1, 7, problem.initial, 1.0)[1]
    problem.loss_and_gradient(0, 3, problem.initial, 1.0)
    assert torch.equal(problem.loss_and_gradient(1, 7, problem.initial, 1.0)[1], later)
    assert not torch.equal(problem.loss_and_gradient(1, 8, problem.initial, 1.0)[1], later)
    assert not torch.equal(problem.loss_and_gradient(0, 7, problem.initial, 1.0)[1], later)


@pytest.mark.parametrize("block_count", range(1, 6))
def test_blocks_sum_to_the_dimension_and_are_nearly_equal(block_count: int) -> None:
    sizes = Quadratics(CURVATURES, worker_count=1, block_count=block_count).block_sizes
    assert len(sizes) == block_count
    assert sum(sizes) == 5
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"curvatures": ()}, r"curvatures must be positive and finite, got \[\]"),
        ({"curvatures": (1.0, 0.0)}, r"curvatures must be positive and finite, got \[1.0, 0.0\]"),
        ({"curvatures": (math.nan, 1.0)}, r"curvatures must be positive and finite, got \[nan, 1.0\]"),
        ({"curvatures": (1.0, math.inf)}, r"curvatures must be positive and finite, got \[1.0, inf\]"),
        ({"spread": -1.0}, "spread and noise must be at least 0 and finite, got -1.0 and 0.0"),
        ({"spread": math.nan}, "spread and noise must be at least 0 and finite, got nan and 0.0"),
        ({"noise": -2.0}, "spread and noise must be at least 0 and finite, got 0.0 and -2.0"),
        ({"noise": math.inf}, "spread and noise must be at least 0 and finite, got 0.0 and inf"),
        ({"block_count": 0}, "2 entries cannot be cut into 0 blocks"),
        ({"block_count": 3}, "2 entries cannot be cut into 3 blocks"),
    ],
)
def test_quadratics_refuse_what_they_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Quadratics(options.pop("curvatures", (1.0, 2.0)), worker_count=1, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worker_count": 0}, "0 blocks of 2, coupling 0.5"),
        ({"block_size": 0}, "2 blocks of 0"),
        ({"coupling": -0.5}, "coupling -0.5"),
        ({"coupling": math.nan}, "coupling nan"),
        ({"coupling": math.inf}, "coupling inf"),
    ],
)
def test_banded_problems_refuse_what_they_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"no banded problem: .*{message}"):
        Banded(**{"worker_count": 2, **options})


def of_its_kind(model: str, data: Dataset) -> Dataset:
    return as_text(bytes(range(256)) * 60) if model in TEXT_MODELS else data


@pytest.mark.parametrize("model", MODELS)
def test_layers_are_blocks(model: str, data: Dataset) -> None:
    theirs = of_its_kind(model, data)
    problem = Training(theirs, worker_count=2, model=model, batch_size=2)
    assert sum(problem.block_sizes) == len(problem.initial)
    flat = FlatModel(
        model,
        feature_count=theirs.feature_count,
        class_count=theirs.class_count,
        seed=0,
        image_shape=theirs.image_shape,
    )
    assert torch.equal(problem.initial, flat.parameters)


@pytest.mark.parametrize("model", slow_except({"resnet20", *TEXT_MODELS}, [*IMAGE_MODELS, *TEXT_MODELS]))
def test_a_gradient_and_a_quality_depend_on_parameters_and_batch_alone(model: str, data: Dataset) -> None:
    """Statistics that earlier batches or other models left behind play no part."""
    theirs = of_its_kind(model, data)
    few = {name: getattr(theirs, name)[:40] for name in ("train_images", "train_labels", "test_images", "test_labels")}
    problem = Training(replace(theirs, **few), worker_count=2, model=model, batch_size=2)
    gradient = problem.loss_and_gradient(0, 0, problem.initial, 1.0)[1].clone()
    quality = problem.quality(problem.initial)
    for step in range(3):
        problem.loss_and_gradient(1, step, 2 * problem.initial, 1.0)
    problem.quality(2 * problem.initial)
    assert problem.quality(problem.initial) == quality
    assert torch.equal(problem.loss_and_gradient(0, 0, problem.initial, 1.0)[1], gradient)


def test_a_model_takes_data_of_its_kind_only(data: Dataset) -> None:
    with pytest.raises(ValueError, match="model 'fnn3' takes images, and the data are text"):
        Training(as_text(bytes(1290)), worker_count=1, model="fnn3", batch_size=1)
    with pytest.raises(ValueError, match="model 'gpt' takes text, and the data are images"):
        Training(data, worker_count=1, model="gpt", batch_size=1)
    with pytest.raises(ValueError, match="unknown model 'fnn9'; known: fnn2"):
        Training(data, worker_count=1, model="fnn9", batch_size=1)


@pytest.mark.parametrize("selector", ["top_k", "random_k"])
def test_a_barrier_trains_as_the_real_workers_do(selector: str, data: Dataset) -> None:
    steps, worker_count = 6, 4
    created: list[list[Tensor]] = []
    run = Run(selector=selector, density=0.01, steps=steps, workers=worker_count, step_size=0.1, seed=3)
    real = simulate(run, data, observe=lambda _, corrected: created.append([vector.clone() for vector in corrected]))
    vectors = Vectors(
        Training(data, worker_count=worker_count, seed=3),
        Descent(step_size=0.1, selector=selector, density=0.01),
        worker_count=worker_count,
        seed=3,
    )
    engine = Simulation(Bsp(), Cluster(worker_count), Horizon(steps=steps), vectors=vectors)
    engine.run()
    first = [event.created for event in engine.trace if isinstance(event, Stepped) and event.clock == 1]
    assert first == [vectors.sketch(-vector) for vector in created[0]]
    # The same sums in another order: some roundings of float32 in entries below 1.
    assert torch.allclose(vectors.shared, real.parameters, rtol=0, atol=steps * 16 * 2.0**-24)
    assert not torch.allclose(vectors.shared, vectors.problem.initial, rtol=0, atol=1e-3)
    assert vectors.problem.quality(vectors.shared) == pytest.approx(real.test_accuracy, abs=0.005)


def test_another_batch_has_as_many_examples_and_the_usual_one_is_scheduled(data: Dataset) -> None:
    problem = Training(data, worker_count=2, batch_size=8, seed=1)
    usual = problem.loss_and_gradient(0, 0, problem.initial, 1.0)
    gradient = usual[1].clone()
    assert problem.loss_and_gradient(0, 0, problem.initial, 1.01)[0] == usual[0]
    model = FlatModel("fnn3", feature_count=784, class_count=10, seed=1)
    assert problem.loss_and_gradient(0, 0, 0.5 * problem.initial, 1.0)[0] != usual[0]
    assert torch.equal(problem.initial, model.parameters)
    for batch, size in ((2.0, 16), (0.5, 4), (0.01, 1)):
        examples = torch.randint(len(data.train_labels), (size,), generator=random_stream(1, "batch", 0, 0))
        expected, _ = model.loss_and_gradient(data.train_images[examples], data.train_labels[examples])
        assert problem.loss_and_gradient(0, 0, problem.initial, batch)[0] == expected
    assert torch.equal(problem.loss_and_gradient(0, 0, problem.initial, 1.0)[1], gradient)
