"""The flat vectors are the network: same loss, same gradient, and an update of one is an update of the other."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sparsync.experiments.training.models import MODELS, FlatModel


def flat(name: str, seed: int = 0) -> FlatModel:
    return FlatModel(name, feature_count=784, class_count=10, seed=seed)


def examples() -> tuple[torch.Tensor, torch.Tensor]:
    stream = torch.Generator().manual_seed(5)
    return torch.rand(16, 784, generator=stream), torch.randint(10, (16,), generator=stream)


def test_fnn3_has_the_published_number_of_parameters() -> None:
    assert flat("fnn3").parameters.numel() == 784 * 200 + 200 + 200 * 200 + 200 + 200 * 10 + 10 == 199_210


def test_the_other_networks_have_layers_of_32_units() -> None:
    first, between, last = 784 * 32 + 32, 32 * 32 + 32, 32 * 10 + 10
    assert flat("fnn2").parameters.numel() == first + last == 25_450
    deep = [flat(f"deep{hidden_count}").parameters.numel() for hidden_count in range(7)]
    assert deep == [784 * 10 + 10, *(first + more * between + last for more in range(6))]


def test_blocks_are_the_weights_and_biases_of_the_layers_in_order() -> None:
    assert flat("fnn2").block_sizes == (784 * 32, 32, 32 * 10, 10)


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradient_are_those_of_the_plain_network(name: str) -> None:
    model, (images, labels) = flat(name), examples()
    plain = MODELS[name](784, 10)
    nn.utils.vector_to_parameters(model.parameters.clone(), plain.parameters())
    loss = nn.functional.cross_entropy(plain(images), labels)
    loss.backward()
    measured_loss, gradient = model.loss_and_gradient(images, labels)
    assert measured_loss == loss.item()
    assert torch.equal(gradient, torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None]))


@pytest.mark.parametrize("name", MODELS)
def test_moving_the_parameters_moves_the_network(name: str) -> None:
    model, (images, labels) = flat(name), examples()
    before, gradient = model.loss_and_gradient(images, labels)
    model.parameters.sub_(gradient, alpha=0.01)
    after, _ = model.loss_and_gradient(images, labels)
    assert after < before


def test_gradients_do_not_accumulate_over_calls() -> None:
    model, (images, labels) = flat("fnn3"), examples()
    first = model.loss_and_gradient(images, labels)[1].clone()
    assert torch.equal(model.loss_and_gradient(images, labels)[1], first)


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


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(ValueError, match="'resnet'"):
        flat("resnet")
