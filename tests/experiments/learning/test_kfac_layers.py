"""The factors are those of their definition, and the empirical Fisher block where that is a Kronecker product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sparsync.experiments.learning.kfac_layers import LossReduction, Products, Recorder, factors_of, find_layers
from tests.support.kfac_cases import (
    CONVOLUTIONS,
    LAYERS,
    draw,
    empirical_fisher,
    gradient_matrices,
    inputs_of,
    only_layer,
    seeded,
)

COUNT = 3
# Of PyTorch's speed, where a kernel of an even length is to keep the size.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")


def close(found: Tensor, expected: Tensor, *, terms: int) -> bool:
    """Sums of so many float64 products in two orders: each errs by its terms · 2⁻⁵³ of the sum of sizes, here < 64."""
    return bool((found - expected).abs().max() <= 2 * terms * 2.0**-53 * 64)


def recorded(model: nn.Module, loss: Tensor | Callable[[], Tensor], wanted: bool = True) -> dict[str, Products]:
    """What the hooks add up while a loss is made and goes backward."""
    recorder = Recorder(model, find_layers(model)[0], lambda: wanted)
    (loss() if callable(loss) else loss).backward()
    recorder.remove()
    return recorder.take()


def factors_by_loops(convolution: nn.Conv2d, images: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """A and G of per-example gradients at the outputs, by the definition, an entry at a time."""
    (high, across), (down, right) = convolution.kernel_size, convolution.stride
    (tall, wide), padding = convolution.dilation, convolution.padding
    if isinstance(padding, str):
        is_same = padding == "same"
        padding = (is_same * (tall * (high - 1) // 2), is_same * (wide * (across - 1) // 2))
    top, left = padding
    count, channels, height, width = images.shape
    inputs = torch.zeros((), dtype=images.dtype)
    for image in images:
        for row in range(slopes.shape[2]):
            for column in range(slopes.shape[3]):
                seen = []
                for channel in range(channels):
                    for i in range(high):
                        for j in range(across):
                            y, x = row * down + i * tall - int(top), column * right + j * wide - int(left)
                            inside = 0 <= y < height and 0 <= x < width
                            seen.append(image[channel, y, x] if inside else torch.zeros((), dtype=images.dtype))
                vector = torch.stack(
                    [*seen, *([torch.ones((), dtype=images.dtype)] if convolution.bias is not None else [])]
                )
                inputs = inputs + torch.outer(vector, vector)
    places = slopes.shape[2] * slopes.shape[3]
    outputs = torch.einsum("bgyx,bhyx->gh", slopes, slopes) / count
    return inputs / (count * places), outputs


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_at_outputs_times_inputs_are_the_gradient_of_the_weight(name: str) -> None:
    module = seeded(LAYERS[name])
    layer, inputs = only_layer(module), inputs_of(module, COUNT)
    outputs = module(inputs)
    slopes = draw(*outputs.shape, seed=2)
    (outputs * slopes).sum().backward()
    rows = layer.input_rows(inputs)
    assert rows.shape[1] == layer.input_size
    assert close(layer.output_rows(slopes).T @ rows, layer.matrix(), terms=len(rows))


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_factors_of_convolutions_are_those_of_their_definition(name: str) -> None:
    module = seeded(CONVOLUTIONS[name])
    assert isinstance(module, nn.Conv2d)
    model = nn.Sequential(module)
    images = inputs_of(module, COUNT)
    slopes = draw(*module(images).shape, seed=2)
    found = recorded(model, lambda: (model(images) * slopes).sum(dim=(1, 2, 3)).mean())
    expected = factors_by_loops(module, images, slopes)
    for one, other in zip(factors_of(found["0"], "mean"), expected, strict=True):
        assert close(one, other, terms=COUNT * slopes.shape[2] * slopes.shape[3])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["linear", "convolution"])
def test_a_batch_of_one_at_one_place_has_its_fisher_block(kind: str, bias: bool) -> None:
    make = {
        "linear": lambda: nn.Linear(4, 3, bias=bias),
        "convolution": lambda: nn.Conv2d(2, 3, (4, 3), stride=2, dilation=(2, 3), bias=bias),
    }[kind]
    module = seeded(make)
    model = nn.Sequential(module, nn.Flatten(), nn.Tanh())
    inputs = draw(1, 4) if kind == "linear" else draw(1, 2, 7, 8)
    losses = model(inputs).square().sum(dim=1) + model(inputs)[:, 0]
    inside = factors_of(recorded(model, lambda: loss_of(model, inputs).mean())["0"], "mean")
    block = empirical_fisher(model, losses)["0"]
    assert close(torch.kron(inside[1], inside[0]), block, terms=4)


def loss_of(model: nn.Module, inputs: Tensor) -> Tensor:
    """Losses of a batch from one call of the model."""
    outputs: Tensor = model(inputs)
    return outputs.square().sum(dim=1) + outputs[:, 0]


def test_a_batch_whose_inputs_and_output_gradients_are_independent_has_its_fisher_block() -> None:
    """All pairs of five inputs and four output gradients: both factors have full rank."""
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    inputs, slopes = draw(5, 4).repeat_interleave(4, dim=0), draw(4, 3, seed=2).repeat(5, 1)
    losses = (model(inputs) * slopes).sum(dim=1)
    inside, outside = factors_of(recorded(model, lambda: (model(inputs) * slopes).sum(dim=1).mean())["0"], "mean")
    assert int(torch.linalg.matrix_rank(torch.kron(outside, inside))) == 15
    assert close(torch.kron(outside, inside), empirical_fisher(model, losses)["0"], terms=20)


def test_a_convolution_that_sees_the_same_everywhere_and_is_read_at_one_place_has_its_fisher_block() -> None:
    """At six places: a factor 6 too much or too little would show."""
    model = nn.Sequential(seeded(lambda: nn.Conv2d(2, 3, 2)))
    shades = draw(4, 2)
    images = shades[:, :, None, None].expand(4, 2, 3, 4).repeat_interleave(5, dim=0)
    slopes = draw(5, 3, seed=2).repeat(4, 1)
    losses = (model(images)[:, :, 1, 2] * slopes).sum(dim=1)
    found = recorded(model, lambda: (model(images)[:, :, 1, 2] * slopes).sum(dim=1).mean())["0"]
    inside, outside = factors_of(found, "mean")
    assert close(torch.kron(outside, inside), empirical_fisher(model, losses)["0"], terms=120)


def test_tokens_are_places() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    tokens, slopes = draw(2, 5, 4), draw(2, 5, 3, seed=2)
    inside, outside = factors_of(recorded(model, lambda: (model(tokens) * slopes).sum() / 2)["0"], "mean")
    rows = functional.pad(tokens.reshape(-1, 4), (0, 1), value=1.0)
    assert close(inside, rows.T @ rows / 10, terms=10)
    assert close(outside, torch.einsum("btg,bth->gh", slopes, slopes) / 2, terms=10)


@pytest.mark.parametrize(("reduction", "share"), [("mean", 1 / 6), ("sum", 1.0)])
def test_backward_passes_before_a_step_are_one_batch(reduction: LossReduction, share: float) -> None:
    """Losses are added up with the weights that make their gradients those of one batch of six."""
    model = nn.Sequential(seeded(lambda: nn.Conv2d(2, 3, 2)), nn.Flatten(), seeded(lambda: nn.Linear(18, 2)))
    images = draw(6, 2, 3, 4)
    whole = recorded(model, lambda: loss_of(model, images).sum() * share)
    recorder = Recorder(model, find_layers(model)[0], lambda: True)
    for part in images.split([1, 3, 2]):
        (loss_of(model, part).sum() * share).backward()
    for name, found in recorder.take().items():
        for one, other in zip(factors_of(found, reduction), factors_of(whole[name], reduction), strict=True):
            assert close(one, other, terms=6 * 6)


def test_mean_and_sum_are_the_same_factors() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    inputs = draw(5, 4)
    by_mean = factors_of(recorded(model, lambda: loss_of(model, inputs).mean())["0"], "mean")
    by_sum = factors_of(recorded(model, lambda: loss_of(model, inputs).sum())["0"], "sum")
    assert all(close(one, other, terms=5) for one, other in zip(by_mean, by_sum, strict=True))


def test_what_has_no_factors_is_named_with_the_reason() -> None:
    tied, frozen, partial = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    frozen.weight.requires_grad_(False)
    partial.get_parameter("bias").requires_grad_(False)
    twin = nn.Linear(4, 4)
    twin.weight = tied.weight
    model = nn.ModuleDict(
        {
            "norm": nn.BatchNorm2d(2),
            "embedding": nn.Embedding(3, 4),
            "grouped": nn.Conv2d(4, 4, 3, groups=2),
            "circular": nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
            "tied": tied,
            "twin": twin,
            "frozen": frozen,
            "partial": partial,
            "whole": nn.Linear(4, 4),
        }
    )
    layers, plain = find_layers(model)
    assert [(layer.name, layer.has_bias, layer.input_size) for layer in layers] == [
        ("partial", False, 4),
        ("whole", True, 5),
    ]
    assert plain == {
        "norm.weight": "BatchNorm2d is neither Linear nor Conv2d",
        "norm.bias": "BatchNorm2d is neither Linear nor Conv2d",
        "embedding.weight": "Embedding is neither Linear nor Conv2d",
        "grouped.weight": "a convolution of 2 groups",
        "grouped.bias": "a convolution of 2 groups",
        "circular.weight": "a convolution that pads with 'circular'",
        "circular.bias": "a convolution that pads with 'circular'",
        "tied.weight": "one parameter is tied.weight and twin.weight",
        "tied.bias": "one parameter is tied.weight and twin.weight",
        "twin.bias": "one parameter is tied.weight and twin.weight",
        "frozen.bias": "its weight is frozen",
    }


class Doubling(nn.Linear):
    """A layer that does something else."""

    def forward(self, input: Tensor) -> Tensor:
        """Twice the outputs."""
        return 2 * super().forward(input)


class Relabelled(nn.Linear):
    """A layer that only has another name."""


class Attending(nn.Module):
    """An attention, layers whose weights are computed, others that are changed, and one that is stock."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)
        with pytest.warns(FutureWarning, match="weight_norm"):
            self.old = nn.utils.weight_norm(nn.Linear(4, 4))
        self.new = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        self.doubling, self.stock = Doubling(4, 4), Relabelled(4, 4)
        self.replaced = nn.Linear(4, 4)
        replaced = self.replaced.forward
        setattr(self.replaced, "forward", lambda inputs: replaced(inputs) + 1)  # noqa: B010 - not for type checkers
        self.double()

    def forward(self, inputs: Tensor) -> Tensor:
        """All of them."""
        seen, _ = self.attention(inputs, inputs, inputs)
        outputs: Tensor = self.stock(input=self.replaced(self.doubling(self.new(self.old(seen)))))
        return outputs


def test_layers_that_are_not_stock_stay_plain_and_others_take_inputs_by_name() -> None:
    model = Attending()
    layers, plain = find_layers(model)
    assert [layer.name for layer in layers] == ["stock"]
    attention = "MultiheadAttention is neither Linear nor Conv2d"
    assert plain == {
        "attention.in_proj_weight": attention,
        "attention.in_proj_bias": attention,
        **dict.fromkeys(
            ["attention.out_proj.weight", "attention.out_proj.bias"],
            "a part of MultiheadAttention, which does not call it",
        ),
        **dict.fromkeys(["old.weight_g", "old.weight_v", "old.bias"], "its weight is computed from other parameters"),
        "new.bias": "its weight is computed from other parameters",
        "new.parametrizations.weight.original0": "a parametrization makes another of it",
        "new.parametrizations.weight.original1": "a parametrization makes another of it",
        **dict.fromkeys(
            ["doubling.weight", "doubling.bias"], "Doubling does something else than Linear when it is called"
        ),
        **dict.fromkeys(
            ["replaced.weight", "replaced.bias"], "Linear does something else than Linear when it is called"
        ),
    }
    inputs = draw(3, 2, 4)
    found = recorded(model, lambda: model(inputs).sum())["stock"]
    assert found.place_count == 6


def test_excluded_layers_stay_plain_and_unknown_names_are_refused() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    layers, plain = find_layers(model, ["0"])
    assert [layer.name for layer in layers] == ["2"]
    assert plain == {"0.weight": "it is excluded", "0.bias": "it is excluded"}
    with pytest.raises(ValueError, match=r"no layers that have factors are named \['head', '1'\]; there are 0, 2"):
        find_layers(model, ["0", "head", "1"])


def test_an_input_that_is_changed_in_place_after_its_use_is_refused() -> None:
    """Under autocast the gradient is that of a copy, and PyTorch does not notice."""
    model = nn.Sequential(nn.Linear(4, 3))
    recorder = Recorder(model, find_layers(model)[0], lambda: True)
    inputs = torch.ones(2, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(inputs).float().sum()
    inputs.mul_(2)
    with pytest.raises(ValueError, match="the input of layer '0' was changed in place after its use"):
        loss.backward()
    assert recorder.take() == {}
    with torch.inference_mode():
        uncounted = torch.ones(2, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(uncounted).float().sum()
    loss.backward()
    assert set(recorder.take()) == {"0"}


def test_the_examples_may_be_said_where_tokens_are_flattened() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    tokens, slopes = draw(2, 5, 4), draw(2, 5, 3, seed=2)
    whole = factors_of(recorded(model, lambda: (model(tokens) * slopes).sum() / 2)["0"], "mean")
    flat = recorded(model, lambda: (model(tokens.flatten(0, 1)) * slopes.flatten(0, 1)).sum() / 2)["0"]
    for one, other in zip(factors_of(flat, "mean", 2), whole, strict=True):
        assert close(one, other, terms=10)
    assert close(factors_of(flat, "mean")[1], 5 * whole[1], terms=50)


def test_nothing_is_added_up_in_evaluation_without_gradients_or_unasked() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    inputs = draw(2, 4)
    assert recorded(model, lambda: model(inputs).sum(), wanted=False) == {}
    recorder = Recorder(model, find_layers(model)[0], lambda: True)
    with torch.no_grad():
        model(inputs)
    model(inputs)
    model.eval()
    model(inputs).sum().backward()
    assert recorder.take() == {}


def test_activations_in_place_change_no_factor() -> None:
    def found(inplace: bool) -> dict[str, Any]:
        model = nn.Sequential(seeded(lambda: nn.Linear(4, 4)), nn.ReLU(inplace), seeded(lambda: nn.Linear(4, 2)))
        return recorded(model, lambda: loss_of(model, draw(5, 4)).mean())

    for one, other in zip(found(True).values(), found(False).values(), strict=True):
        assert torch.equal(one.inputs, other.inputs)
        assert torch.equal(one.outputs, other.outputs)


class Twice(nn.Module):
    """A layer that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = seeded(lambda: nn.Linear(4, 4))

    def forward(self, inputs: Tensor) -> Tensor:
        """Both uses."""
        outputs: Tensor = self.shared(torch.tanh(self.shared(inputs)))
        return outputs


def test_a_layer_that_is_used_twice_in_a_pass_is_refused() -> None:
    model = Twice()
    with pytest.raises(ValueError, match="layer 'shared' was used twice in one forward pass"):
        recorded(model, lambda: model(draw(2, 4)).sum())


def test_a_batch_of_no_examples_is_refused() -> None:
    model = nn.Sequential(seeded(lambda: nn.Linear(4, 3)))
    with pytest.raises(ValueError, match=r"layer '0' was given no examples: shape \(0, 4\)"):
        recorded(model, lambda: model(draw(0, 4)).sum())


def test_a_gradient_goes_back_where_it_came_from() -> None:
    layer = only_layer(seeded(lambda: nn.Conv2d(2, 3, (2, 3))))
    images = draw(2, 2, 4, 4)
    layer.module(images).square().sum().backward()
    matrix = layer.matrix()
    assert matrix.shape == (3, 13)
    bias = layer.module.bias
    assert bias is not None
    assert bias.grad is not None
    assert layer.module.weight.grad is not None
    assert torch.equal(matrix[:, -1], bias.grad)
    assert torch.equal(matrix[:, :-1].reshape(3, 2, 2, 3), layer.module.weight.grad)
    layer.set_gradient(2 * matrix)
    assert torch.equal(layer.matrix(), 2 * matrix)
    assert torch.equal(gradient_matrices(nn.Sequential(layer.module), layer.module(images).square().sum())["0"], matrix)
