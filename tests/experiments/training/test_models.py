"""The flat vectors are the network: same loss, same gradient, and an update of one is an update of the other."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from sparsync.experiments.training.models import (
    EVALUATED_TOGETHER,
    IMAGE_MODELS,
    MODELS,
    TEXT_MODELS,
    VECTOR_MODELS,
    FlatModel,
    require_pair,
)
from sparsync.experiments.training.text import TOKEN_COUNT, WINDOW

IMAGE_SHAPE = (1, 28, 28)


def flat(name: str, seed: int = 0) -> FlatModel:
    return FlatModel(name, feature_count=784, class_count=10, seed=seed)


def examples() -> tuple[torch.Tensor, torch.Tensor]:
    stream = torch.Generator().manual_seed(5)
    return torch.rand(16, 784, generator=stream), torch.randint(10, (16,), generator=stream)


def real(name: str, seed: int = 0, *, image_shape: tuple[int, int, int] = IMAGE_SHAPE) -> FlatModel:
    """A model of any kind, on the examples that `few` makes for it."""
    features, classes = (WINDOW, TOKEN_COUNT) if name in TEXT_MODELS else (math.prod(image_shape), 10)
    return FlatModel(name, feature_count=features, class_count=classes, seed=seed, image_shape=image_shape)


def few(name: str, count: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    stream = torch.Generator().manual_seed(6)
    if name not in TEXT_MODELS:
        return torch.rand(count, 784, generator=stream), torch.randint(10, (count,), generator=stream)
    tokens = torch.randint(TOKEN_COUNT, (count, WINDOW + 1), generator=stream, dtype=torch.uint8)
    return tokens[:, :-1], tokens[:, 1:]


def test_fnn3_has_the_published_number_of_parameters() -> None:
    assert flat("fnn3").parameters.numel() == 784 * 200 + 200 + 200 * 200 + 200 + 200 * 10 + 10 == 199_210


def test_the_other_networks_have_layers_of_32_units() -> None:
    first, between, last = 784 * 32 + 32, 32 * 32 + 32, 32 * 10 + 10
    assert flat("fnn2").parameters.numel() == first + last == 25_450
    deep = [flat(f"deep{hidden_count}").parameters.numel() for hidden_count in range(7)]
    assert deep == [784 * 10 + 10, *(first + more * between + last for more in range(6))]


CHANNELS, FILTER = 3, 3 * 3


def resnet20_count() -> int:
    """A first convolution, three stages of six, each with a scale and a shift a channel, and the linear layer."""
    stages = [6 * 16 * 16, 16 * 32 + 5 * 32 * 32, 32 * 64 + 5 * 64 * 64]
    scales_and_shifts = 2 * (16 + 6 * 16 + 6 * 32 + 6 * 64)
    return FILTER * (CHANNELS * 16 + sum(stages)) + scales_and_shifts + 64 * 10 + 10


def vgg16_count() -> int:
    """Thirteen convolutions, each with a bias, a scale and a shift a channel, and the linear layer."""
    widths = [64, 64, 128, 128, *[256] * 3, *[512] * 6]
    pairs = sum(before * width for before, width in zip([CHANNELS, *widths], widths, strict=False))
    return FILTER * pairs + 3 * sum(widths) + 512 * 10 + 10


def conv3_count() -> int:
    """Three convolutions, each with a scale and a shift a channel, and the linear layer."""
    return FILTER * (CHANNELS * 8 + 8 * 16 + 16 * 32) + 2 * (8 + 16 + 32) + 32 * 10 + 10


def lenet5_count() -> int:
    """Filters of 5 × 5 with a bias each, and linear layers behind 16 maps of 5 × 5."""
    convolutions = CHANNELS * 25 * 6 + 6 + 6 * 25 * 16 + 16
    return convolutions + (16 * 25 * 120 + 120) + (120 * 84 + 84) + (84 * 10 + 10)


def lstm_count() -> int:
    """Two layers of four gates, each with two matrices and two biases, between the embedding and the linear layer."""
    layer = 4 * (256 * 256 + 256 * 256 + 256 + 256)
    return 256 * 256 + 2 * layer + (256 * 256 + 256)


def gpt_count() -> int:
    """Four blocks of two norms, queries, keys, values, their mixture and two layers, between embeddings and head."""
    attention = 128 * 3 * 128 + 3 * 128 + 128 * 128 + 128
    mlp = 128 * 512 + 512 + 512 * 128 + 128
    return (256 + 128) * 128 + 4 * (2 * 2 * 128 + attention + mlp) + 2 * 128 + 128 * 256


@pytest.mark.parametrize(
    ("name", "by_hand", "published"),
    [
        ("conv3", conv3_count(), 6_418),
        ("lenet5", lenet5_count(), 62_006),
        ("resnet20", resnet20_count(), 269_722),
        ("vgg16", vgg16_count(), 14_728_266),
        ("lstm", lstm_count(), 1_184_000),
        ("gpt", gpt_count(), 875_264),
    ],
)
def test_real_models_have_as_many_parameters_as_counted_by_hand(name: str, by_hand: int, published: int) -> None:
    assert real(name, image_shape=(CHANNELS, 32, 32)).parameters.numel() == by_hand == published


def test_blocks_are_the_weights_and_biases_of_the_layers_in_order() -> None:
    assert flat("fnn2").block_sizes == (784 * 32, 32, 32 * 10, 10)


@pytest.mark.parametrize("name", VECTOR_MODELS)
def test_loss_and_gradient_are_those_of_the_plain_network(name: str) -> None:
    model, (images, labels) = flat(name), examples()
    plain = VECTOR_MODELS[name](784, 10)
    nn.utils.vector_to_parameters(model.parameters.clone(), plain.parameters())
    loss = nn.functional.cross_entropy(plain(images), labels)
    loss.backward()
    measured_loss, gradient = model.loss_and_gradient(images, labels)
    assert measured_loss == loss.item()
    assert torch.equal(gradient, torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None]))


@pytest.mark.parametrize("name", IMAGE_MODELS)
def test_image_models_take_flat_rows_as_images(name: str) -> None:
    model, (rows, labels) = real(name), few(name)
    plain = IMAGE_MODELS[name](IMAGE_SHAPE, 10)
    nn.utils.vector_to_parameters(model.parameters.clone(), plain.parameters())
    loss = nn.functional.cross_entropy(plain(rows.view(-1, *IMAGE_SHAPE)), labels)
    loss.backward()
    measured_loss, gradient = model.loss_and_gradient(rows, labels)
    assert measured_loss == loss.item()
    assert torch.equal(gradient, torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None]))


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_the_loss_of_a_text_is_the_mean_over_all_tokens(name: str) -> None:
    model, (tokens, following) = real(name), few(name)
    plain = TEXT_MODELS[name](WINDOW, TOKEN_COUNT)
    nn.utils.vector_to_parameters(model.parameters.clone(), plain.parameters())
    chances = plain(tokens.long()).detach().softmax(dim=-1).double()
    by_token = [chances[row, place, int(following[row, place])] for row in range(4) for place in range(WINDOW)]
    expected = -sum(math.log(chance) for chance in by_token) / len(by_token)
    # Chances near 1/256 have relative roundings of a few hundred 2⁻²⁴ at most.
    assert model.loss_and_gradient(tokens, following)[0] == pytest.approx(expected, abs=300 * 2.0**-24)


@pytest.mark.parametrize("name", MODELS)
def test_moving_the_parameters_moves_the_network(name: str) -> None:
    model, (images, labels) = real(name), few(name)
    before, gradient = model.loss_and_gradient(images, labels)
    gradient = gradient.clone()
    assert float(gradient.norm()) > 0
    # A step so short that the loss falls by the square of the gradient's length, were it linear: by 0.001.
    model.parameters.sub_(gradient, alpha=0.001 / float(gradient.norm()) ** 2)
    after, _ = model.loss_and_gradient(images, labels)
    assert after < before


def test_gradients_do_not_accumulate_over_calls() -> None:
    model, (images, labels) = flat("fnn3"), examples()
    first = model.loss_and_gradient(images, labels)[1].clone()
    assert torch.equal(model.loss_and_gradient(images, labels)[1], first)


@pytest.mark.parametrize("name", [*IMAGE_MODELS, *TEXT_MODELS])
def test_every_initial_parameter_comes_from_the_seed(name: str) -> None:
    """Whatever PyTorch's own generator would have drawn."""
    torch.manual_seed(1)
    first = real(name).parameters
    torch.manual_seed(2)
    assert torch.equal(real(name).parameters, first)
    assert not torch.equal(real(name, seed=1).parameters, first)


def test_initial_convolutions_keep_the_size_of_what_flows_back() -> None:
    """He et al.: variance 2 over nine times the number of filters; here of 36,864 draws in the last convolution."""
    model = real("resnet20")
    last = next(part for part in model.parameters.split(model.block_sizes)[::-1] if part.numel() == FILTER * 64 * 64)
    # The relative deviation of a mean of n squares of normal numbers is √(2/n) = 0.0074.
    assert float(last.square().mean()) == pytest.approx(2 / (9 * 64), rel=5 * 0.0074)


def test_initial_parameters_depend_on_the_seed_alone_and_fill_their_range() -> None:
    parameters = flat("fnn3").parameters
    assert torch.equal(parameters, flat("fnn3").parameters)
    assert not torch.equal(parameters, flat("fnn3", seed=1).parameters)
    first_layer = parameters[: 784 * 200]
    # 156,800 uniform draws on ±1/28: the largest lies within 0.1 % of the end, and outside with chance e^-78.
    assert 0.999 / 28 < float(first_layer.abs().max()) <= 1 / 28


def test_accuracy_counts_the_largest_output() -> None:
    model, (images, _) = flat("fnn3"), examples()
    model.parameters.zero_()
    model.parameters[-10:] = torch.arange(10.0)
    labels = torch.tensor([9] * 12 + [0] * 4)
    assert model.accuracy(images, labels) == 0.75


@pytest.mark.parametrize("name", ["resnet20", "gpt"])
def test_quality_does_not_depend_on_what_is_evaluated_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is the share of right predictions with their mean loss, of images by the statistics as they are."""
    model, (examples, labels) = real(name), few(name, 7)
    model.loss_and_gradient(examples, labels)
    accuracy, loss = model.quality(examples, labels)
    assert EVALUATED_TOGETHER > 7
    model._together = 3
    in_parts = model.quality(examples, labels)
    assert in_parts[0] == accuracy
    # Losses below 10, of outputs that go through a few hundred roundings.
    assert in_parts[1] == pytest.approx(loss, abs=10 * 300 * 2.0**-24)
    assert (accuracy * labels.numel()).is_integer()
    before = model.statistics.clone()
    model.quality(examples, labels)
    assert torch.equal(model.statistics, before)


def test_a_pair_that_does_not_fit_is_refused_with_those_that_would() -> None:
    require_pair("resnet20", "images")
    require_pair("gpt", "text")
    with pytest.raises(ValueError, match=r"model 'lstm' takes text, and the data are images; .*: fnn2, .*, vgg16$"):
        require_pair("lstm", "images")
    with pytest.raises(ValueError, match=r"model 'fnn3' takes images, and the data are text; .*: lstm, gpt$"):
        require_pair("fnn3", "text")
    with pytest.raises(ValueError, match="unknown model 'rnn'"):
        require_pair("rnn", "text")


@pytest.mark.parametrize("shape", [None, (1, 28, 27)])
def test_a_model_of_images_needs_their_shape(shape: tuple[int, int, int] | None) -> None:
    with pytest.raises(
        ValueError, match=r"model 'vgg16' takes images of 784 entries, got the shape (None|\(1, 28, 27\))"
    ):
        FlatModel("vgg16", feature_count=784, class_count=10, seed=0, image_shape=shape)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ValueError, match="'resnet'"):
        flat("resnet")


def test_statistics_are_the_means_of_those_of_all_parts() -> None:
    """Of the first layer that normalises: means over the batch and the places of what its convolution gives."""
    model = real("resnet20")
    images = torch.randn(2 * EVALUATED_TOGETHER, math.prod(IMAGE_SHAPE), generator=torch.Generator().manual_seed(1))
    model.gather_statistics(3 * images + 7)
    model.gather_statistics(images)
    first = next(module for module in model._network.modules() if isinstance(module, nn.BatchNorm2d))
    convolution = next(module for module in model._network.modules() if isinstance(module, nn.Conv2d))
    with torch.no_grad():
        parts = [convolution(part.view(-1, *IMAGE_SHAPE)) for part in images.split(EVALUATED_TOGETHER)]
    means = torch.stack([part.mean(dim=(0, 2, 3)) for part in parts]).mean(dim=0)
    variances = torch.stack([part.var(dim=(0, 2, 3)) for part in parts]).mean(dim=0)
    # Sums of 10⁵ numbers of size 1 in float32, in another order.
    assert first.running_mean is not None
    assert first.running_var is not None
    assert torch.allclose(torch.cat([first.running_mean, first.running_var]), torch.cat([means, variances]), atol=1e-5)
    assert torch.equal(model.statistics[: len(means)], first.running_mean)
    assert first.momentum == 0.1


def test_parts_of_a_chain_are_the_model_in_pieces() -> None:
    model = FlatModel("fnn3", feature_count=6, class_count=3, seed=0)
    parts = [model.part(first, end) for first, end in ((0, 2), (2, 4), (4, 5))]
    assert torch.equal(torch.cat([part.parameters for part in parts]), model.parameters)
    images, labels = torch.rand(4, 6), torch.tensor([0, 1, 2, 0])
    _, gradient = model.loss_and_gradient(images, labels)
    wanted = gradient.clone()
    gradient.zero_()
    scores = images
    for part in parts:
        scores = part.network(scores)
    functional.cross_entropy(scores, labels).backward()
    assert torch.equal(torch.cat([part.gradient for part in parts]), wanted)
    parts[1].parameters.zero_()
    assert int((model.parameters == 0).sum()) == len(parts[1].parameters)


@pytest.mark.parametrize(("name", "first", "end"), [("fnn2", 2, 4), ("fnn2", 2, 1), ("fnn2", -1, 2)])
def test_layers_that_are_not_there_are_no_part(name: str, first: int, end: int) -> None:
    with pytest.raises(ValueError, match=f"layers {first} to {end} of 3 are no part of a chain"):
        FlatModel(name, feature_count=6, class_count=3, seed=0).part(first, end)
