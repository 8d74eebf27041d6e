"""The networks have the shapes that they are known by, and workers keep batch statistics of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.image_networks import ImageShape, _ResidualBlock, lenet5, resnet20, vgg16
from sparsync.experiments.training.models import IMAGE_MODELS, FlatModel
from sparsync.experiments.training.runs import Run

RUN = Run(selector="top_k", model="resnet20", density=0.01, batch_size=4, steps=2, workers=2, seed=3, test_limit=12)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("embedded")


def outputs_of(network: nn.Module, kind: type[nn.Module], image_shape: ImageShape) -> list[tuple[int, ...]]:
    """The shapes that layers of a kind make of two images, without their number."""
    seen: list[tuple[int, ...]] = []
    for layer in network.modules():
        if isinstance(layer, kind):
            layer.register_forward_hook(lambda _layer, _inputs, made: seen.append(tuple(made.shape[1:])))
    network.eval()(torch.rand(2, *image_shape, generator=torch.Generator().manual_seed(0)))
    return seen


@pytest.mark.parametrize(("size", "sides"), [(32, (32, 16, 8)), (28, (28, 14, 7)), (5, (5, 3, 2))])
def test_resnet_halves_the_image_where_it_doubles_the_channels(size: int, sides: tuple[int, int, int]) -> None:
    blocks = outputs_of(resnet20((3, size, size), 10), _ResidualBlock, (3, size, size))
    expected = [(width, side, side) for width, side in zip((16, 32, 64), sides, strict=True) for _ in range(3)]
    assert blocks == expected


@pytest.mark.parametrize(("size", "sides"), [(32, (16, 8, 4, 2, 1)), (28, (14, 7, 4, 2, 1))])
def test_vgg_ends_in_one_place_for_images_of_either_size(size: int, sides: tuple[int, ...]) -> None:
    network, shape = vgg16((1, size, size), 10), (1, size, size)
    pooled = outputs_of(network, nn.MaxPool2d, shape)
    assert pooled == [(width, side, side) for width, side in zip((64, 128, 256, 512, 512), sides, strict=True)]
    assert len(outputs_of(network, nn.Conv2d, shape)) == 13


@pytest.mark.parametrize("size", [28, 32])
def test_lenet_has_the_parameters_of_the_released_code_on_digits_of_either_size(size: int) -> None:
    network, shape = lenet5((1, size, size), 10), (1, size, size)
    assert sum(layer.numel() for layer in network.parameters()) == 61_706
    assert outputs_of(network, nn.MaxPool2d, shape) == [(6, 14, 14), (16, 5, 5)]


def test_lenet_sees_a_smaller_image_in_the_middle_of_a_border_of_zeros() -> None:
    network, images = lenet5((1, 28, 28), 10), torch.rand(3, 1, 28, 28, generator=torch.Generator().manual_seed(1))
    bordered = torch.zeros(3, 1, 32, 32)
    bordered[:, :, 2:30, 2:30] = images
    assert torch.equal(network(images), network[1:](bordered))


@pytest.mark.parametrize("name", IMAGE_MODELS)
def test_there_is_a_score_for_every_class_of_images_of_any_form(name: str) -> None:
    network = IMAGE_MODELS[name]((2, 9, 13), 7).eval()
    assert network(torch.zeros(3, 2, 9, 13)).shape == (3, 7)


class _Nothing(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return torch.zeros_like(images[:, :1, ::2, ::2])


def test_a_block_that_adds_nothing_passes_every_second_place_between_channels_of_zeros() -> None:
    block = _ResidualBlock(2, 4)
    block.residual = nn.Sequential(_Nothing())
    images = torch.arange(1.0, 1 + 2 * 4 * 4).view(1, 2, 4, 4)
    made = block(images)
    assert made.shape == (1, 4, 2, 2)
    assert torch.equal(made[:, 1:3], images[:, :, ::2, ::2])
    assert not made[:, 0].any()
    assert not made[:, 3].any()


def statistics_of_each_worker(run: Run, data: Dataset) -> list[Tensor]:
    """After the first step, each from a model of its own."""
    schedule = BatchSchedule(len(data.train_labels), worker_count=2, batch_size=run.batch_size, seed=run.seed)
    found = []
    for rank in range(2):
        model, batch = new_model(run, data), schedule.batch(0, rank)
        model.loss_and_gradient(data.train_images[batch], data.train_labels[batch])
        found.append(model.statistics)
    return found


def new_model(run: Run, data: Dataset) -> FlatModel:
    return FlatModel(
        run.model,
        feature_count=data.feature_count,
        class_count=data.class_count,
        seed=run.seed,
        image_shape=data.image_shape,
    )


def test_evaluations_use_the_mean_of_the_statistics_that_the_workers_have_each_of_its_own_batches(
    data: Dataset,
) -> None:
    run = replace(RUN, steps=1)
    result, model = simulate(run, data), new_model(run, data)
    first, second = statistics_of_each_worker(run, data)
    model.parameters.copy_(result.parameters)
    images, labels = data.test_images[:12], data.test_labels[:12]
    for statistics, is_it in (((first + second) / 2, True), (first, False), (second, False)):
        model.statistics.copy_(statistics)
        evaluation = result.evaluations[-1]
        assert (model.quality(images, labels) == (evaluation.test_accuracy, evaluation.test_loss)) is is_it


def test_statistics_begin_as_those_of_a_standard_normal_variable(data: Dataset) -> None:
    statistics = new_model(RUN, data).statistics
    # 19 layers of 16, 32 and 64 channels: means of zero and variances of one.
    assert len(statistics) == 2 * (7 * 16 + 6 * 32 + 6 * 64)
    assert sorted(set(statistics.tolist())) == [0.0, 1.0]
    assert float(statistics.mean()) == 0.5


def test_a_limit_takes_the_first_test_images(data: Dataset) -> None:
    result = simulate(replace(RUN, model="fnn2", steps=1, test_limit=12), data)
    model = FlatModel("fnn2", feature_count=784, class_count=10, seed=3)
    quality = model.quality(data.test_images[:12], data.test_labels[:12])
    assert (result.evaluations[0].test_accuracy, result.evaluations[0].test_loss) == quality
    assert result.test_count == 12


def test_the_loss_of_two_workers_falls_on_the_same_images_again_and_again(data: Dataset) -> None:
    few = replace(data, train_images=data.train_images[:32], train_labels=data.train_labels[:32])
    run = replace(RUN, step_size=0.05, batch_size=16, steps=10, density=0.05, momentum=0.9, step_location="outside")
    losses = [facts.loss for facts in simulate(run, few).steps]
    assert losses[-1] < 0.8 * losses[0]
