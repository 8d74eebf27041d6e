"""What crosses the cut is what was selected, slopes come back through the same mask, bad messages are refused."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning.cut_layer import (
    ACTIVATION_SLOPES,
    ACTIVATIONS,
    LABELS,
    SERVER,
    Client,
    Layers,
    Server,
    Shield,
    crossing,
    read_crossing,
)
from sparsync.experiments.learning.distance_correlation import distance_correlation
from sparsync.experiments.parties.talk import Books, Talk, give, side_by_side, take
from sparsync.experiments.training.descent import new_descent
from sparsync.experiments.training.models import Part
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import SELECTORS

BATCH, WIDTH = 6, 10


def activations(seed: int = 0) -> Tensor:
    return torch.randn(BATCH, WIDTH, generator=random_stream(seed, "activations")).relu()


@pytest.mark.parametrize("selector", SELECTORS)
def test_the_server_reads_what_the_client_thinks_it_sent(selector: str) -> None:
    shield = Shield(density=0.3, selector=selector)
    crossed = crossing(activations(), shield, random_stream(0, "draws"))
    read, places = read_crossing(crossed.message, WIDTH, 1)
    assert torch.equal(read, crossed.sent)
    assert places is not None
    assert crossed.places is not None
    assert torch.equal(places, crossed.places)
    assert torch.equal(read.flatten()[places], activations().flatten()[places])
    assert read.count_nonzero() <= len(places)


def test_a_selection_of_nothing_is_a_batch_of_zeros() -> None:
    crossed = crossing(
        torch.zeros(4, 3), Shield(density=0.5, selector="gaussian_k_released"), random_stream(0, "draws")
    )
    read, places = read_crossing(crossed.message, 3, 1)
    assert places is not None
    assert not len(places)
    assert torch.equal(read, torch.zeros(4, 3))


def test_noise_is_uniform_and_has_the_slope_one() -> None:
    given = activations().repeat(40, 2).requires_grad_()
    crossed = crossing(given, Shield(uniform_noise=0.5), random_stream(0, "draws"))
    noise = (crossed.sent.detach() - given.detach()).flatten().sort().values
    # Adding rounds: half a unit in the last place of numbers below four.
    rounding, count = 2**-22, len(noise)
    assert float(noise.abs().max()) <= 0.5 + rounding
    # Massart: of draws from the distribution the shares below any point are further off than this once in a million.
    bound = math.sqrt(math.log(2e6) / (2 * count)) + rounding
    below = torch.arange(count + 1) / count
    assert float((below[1:] - (noise + 0.5)).abs().max()) < bound
    assert float((below[:-1] - (noise + 0.5)).abs().max()) < bound
    crossed.sent.sum().backward()
    assert given.grad is not None
    assert torch.equal(given.grad, torch.ones_like(given))


class _Recorder(nn.Module):
    """Passes on its input, and keeps the slope that comes back."""

    slope: Tensor

    def forward(self, inputs: Tensor) -> Tensor:
        outputs = inputs.clone().requires_grad_()
        outputs.register_hook(lambda slope: setattr(self, "slope", slope.clone()))
        return outputs


def layers_of(network: nn.Sequential) -> Layers:
    parameters = list(network.parameters())
    vector = torch.cat([torch.empty(0), *[each.detach().flatten() for each in parameters]])
    gradient = torch.zeros_like(vector)
    first = 0
    for each in parameters:
        places = slice(first, first + each.numel())
        each.data, each.grad = vector[places].view_as(each), gradient[places].view_as(each)
        first += each.numel()
    descent = new_descent("sgd", vector, momentum=0.0, weight_decay=0.0, step_location="outside")
    return Layers(Part(network, vector, gradient), descent, 0.1)


def echo(slopes: Tensor, places: Tensor | None) -> Talk[Tensor]:
    """A server that answers with given slopes; what it took."""
    message = yield from take(1, ACTIVATIONS)
    yield from take(1, LABELS)
    read, found = read_crossing(message, WIDTH, 1)
    yield from give(1, ACTIVATION_SLOPES, slopes if found is None else slopes.flatten()[found])
    return read


@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_slopes_come_back_through_the_adjoint_of_what_left(density: float, weight: float) -> None:
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩ of the activations v and the slopes w there, with those of the penalty on what was sent."""
    shield = Shield(density=density, leakage_weight=weight)
    recorder, slopes = _Recorder(), torch.randn(BATCH, WIDTH, generator=random_stream(0, "slopes"))
    client = Client(layers_of(nn.Sequential(recorder)), None, shield, random_stream(0, "draws"))
    inputs = activations(3)
    read, _ = side_by_side([echo(slopes, None), client.step(inputs, torch.zeros(BATCH))], Books())
    assert isinstance(read, Tensor)
    mask = torch.ones_like(inputs) if density == 1 else (read != 0).float()
    assert torch.equal(read, inputs * mask)
    there = slopes
    if weight:
        leaf = read.clone().requires_grad_()
        (weight * distance_correlation(inputs, leaf)).backward()
        assert leaf.grad is not None
        there = slopes + leaf.grad
    assert torch.equal(recorder.slope, mask * there)
    # Sums of the same numbers in the same order.
    assert float((read * there).sum()) == float((inputs * recorder.slope).sum())


@pytest.mark.parametrize("density", [1.0, 0.3])
def test_the_slope_map_is_the_adjoint_of_the_map_of_any_activations(density: float) -> None:
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩, where places are drawn and so are the same for every v: J is what a server reads of v."""
    shield = Shield(density=density, selector="random_k")
    recorder, slopes = _Recorder(), torch.randn(BATCH, WIDTH, generator=random_stream(0, "slopes"))
    client = Client(layers_of(nn.Sequential(recorder)), None, shield, random_stream(0, "draws"))
    side_by_side([echo(slopes, None), client.step(activations(3), torch.zeros(BATCH))], Books())
    for seed in range(3):
        v = torch.randn(BATCH, WIDTH, generator=random_stream(seed, "v"))
        read, _ = read_crossing(crossing(v, shield, random_stream(0, "draws")).message, WIDTH, 1)
        assert read.count_nonzero() == round(density * v.numel())
        assert float((read * slopes).sum()) == float((v * recorder.slope).sum())


def test_a_server_refuses_what_is_no_batch() -> None:
    for message, complaint in (
        (torch.zeros(2, 3), r"expected \[b, 10\], got \(2, 3\)"),
        (torch.zeros(0, WIDTH), r"expected \[b, 10\]"),
        (torch.full((2, WIDTH), torch.nan), "not finite"),
        (torch.zeros(40, dtype=torch.uint8), "rank 1: not a message"),
    ):
        with pytest.raises(ExchangeError, match=complaint):
            read_crossing(message, WIDTH, 1)


def bad_labels() -> Talk[None]:
    yield from give(SERVER, ACTIVATIONS, activations())
    yield from give(SERVER, LABELS, torch.zeros(BATCH - 1, dtype=torch.int64))


def test_labels_of_another_number_of_examples_are_refused() -> None:
    server = Server(layers_of(nn.Sequential(nn.Linear(WIDTH, 2))), WIDTH, has_labels=True)
    with pytest.raises(ExchangeError, match=r"rank 1 has \(5,\) labels of 6 examples"):
        side_by_side([server.step(1), bad_labels()], Books())


def test_activations_that_are_not_finite_end_the_run_at_the_client() -> None:
    with pytest.raises(FloatingPointError, match="activations are not finite"):
        crossing(torch.full((2, 2), torch.inf), Shield(), random_stream(0, "draws"))
