"""Which layers have a Kronecker-factored curvature, and what are their factors? Hooks that add up products by layer.

A layer maps inputs a to outputs s = W a, at one place or at T of them (a convolution, tokens of a text); a one is
appended to a where there is a bias. Over a batch of B examples with losses ℓ_i and g = ∂ℓ_i/∂s the factors are

    A = (1/(B T)) Σ_i Σ_t a aᵀ        G = (1/B) Σ_i Σ_t g gᵀ

so that A ⊗ G approximates the layer's block of the empirical Fisher matrix (1/B) Σ_i ∇ℓ_i ∇ℓ_iᵀ. It is that block
where T = 1 and a and g are uncorrelated over the batch, a batch of one above all. Sources: Martens and Grosse 2015,
arXiv 1503.05671; Grosse and Martens 2016, arXiv 1602.01407, whose product this is, with T in the other factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

LossReduction = Literal["mean", "sum"]
LOSS_REDUCTIONS: tuple[LossReduction, ...] = ("mean", "sum")


@dataclass(eq=False)
class Products:
    """What a layer's hooks have added up since the last step.

    Args:
        inputs: [a, a], Σ a aᵀ.
        outputs: [g, g], Σ of the outer products of the loss's gradients at the outputs.
        place_count: of the inputs that were added, B·T.
        example_count: B.
    """

    inputs: Tensor
    outputs: Tensor
    place_count: int
    example_count: int


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear map or convolution of a model.

    Args:
        name: within the model.
        module: itself.
        has_bias: a bias is trained with the weight, and its ones are the last row of the inputs.
    """

    name: str
    module: nn.Linear | nn.Conv2d
    has_bias: bool

    @property
    def parameters(self) -> list[Tensor]:
        """The weight, and the bias if it is trained."""
        bias = self.module.bias
        return [self.module.weight, *([bias] if self.has_bias and bias is not None else [])]

    @property
    def input_size(self) -> int:
        """Rows of A: entries of a filter or row of the weight, and one more for a bias."""
        return self.module.weight[0].numel() + self.has_bias

    @property
    def output_size(self) -> int:
        """Rows of G."""
        return len(self.module.weight)

    def input_rows(self, inputs: Tensor) -> Tensor:
        """What the weight is applied to, [places, a], with a one behind each where there is a bias."""
        rows = (
            inputs.reshape(-1, inputs.shape[-1])
            if isinstance(self.module, nn.Linear)
            else _patches(inputs, self.module)
        )
        return functional.pad(rows, (0, 1), value=1.0) if self.has_bias else rows

    def output_rows(self, outputs: Tensor) -> Tensor:
        """Outputs, or gradients at them, [places, g], in the order of `input_rows`."""
        if isinstance(self.module, nn.Linear):
            return outputs.reshape(-1, outputs.shape[-1])
        return outputs.movedim(-3, -1).reshape(-1, outputs.shape[-3])

    def example_count(self, outputs: Tensor) -> int:
        """B: the first dimension, but 1 where there is no such dimension."""
        axes = 1 if isinstance(self.module, nn.Linear) else 3
        return len(outputs) if outputs.dim() > axes else 1

    def matrix(self) -> Tensor:
        """The gradient of weight and bias together, [g, a]."""
        weight, *bias = [parameter.grad for parameter in self.parameters]
        assert weight is not None
        return torch.cat([weight.flatten(1), *(one[:, None] for one in bias if one is not None)], dim=1)

    def set_gradient(self, matrix: Tensor) -> None:
        """Put a matrix [g, a] in the place of the gradients of weight and bias."""
        weight, *bias = self.parameters
        assert weight.grad is not None
        weight.grad.copy_(matrix[:, : matrix.shape[1] - self.has_bias].view_as(weight))
        for one in bias:
            assert one.grad is not None
            one.grad.copy_(matrix[:, -1])


def find_layers(model: nn.Module) -> tuple[list[Layer], dict[str, str]]:
    """The layers that have factors, in the order of the model, and the names of other parameters with the reason.

    A layer whose weight is frozen has none. What is left out keeps the plain gradient: parameters of other modules,
    weights that two modules share, grouped convolutions and those that pad with anything but zeros.
    """
    owners: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        owners.setdefault(id(parameter), []).append(name)
    layers = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d) and module.weight.requires_grad and not _obstacle(module, owners):
            bias = module.bias
            layers.append(Layer(name, module, has_bias=bias is not None and bias.requires_grad))
    inside = {id(parameter) for layer in layers for parameter in layer.parameters}
    modules = dict(model.named_modules())
    plain = {
        name: _obstacle(modules[name.rpartition(".")[0]], owners)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and id(parameter) not in inside
    }
    return layers, plain


def _obstacle(module: nn.Module, owners: dict[int, list[str]]) -> str:
    """Why a module has no factors; empty if it has some."""
    if not isinstance(module, nn.Linear | nn.Conv2d):
        return f"{type(module).__name__} is neither Linear nor Conv2d"
    for parameter in module.parameters(recurse=False):
        if len(names := owners[id(parameter)]) > 1:
            return f"one parameter is {' and '.join(names)}"
    if isinstance(module, nn.Conv2d) and module.groups != 1:
        return f"a convolution of {module.groups} groups"
    if isinstance(module, nn.Conv2d) and module.padding_mode != "zeros":
        return f"a convolution that pads with {module.padding_mode!r}"
    return "" if module.weight.requires_grad else "its weight is frozen"


def _patches(images: Tensor, convolution: nn.Conv2d) -> Tensor:
    """What a filter sees at each place, [examples × places, channels × height × width]."""
    batch = images if images.dim() == 4 else images[None]
    padded = functional.pad(batch, _padding(convolution))
    found = functional.unfold(padded, convolution.kernel_size, dilation=convolution.dilation, stride=convolution.stride)
    return found.transpose(1, 2).reshape(-1, found.shape[1])


def _padding(convolution: nn.Conv2d) -> tuple[int, int, int, int]:
    """Zeros to the left, right, top and bottom of an image."""
    if convolution.padding == "same":
        wide = [gap * (size - 1) for gap, size in zip(convolution.dilation, convolution.kernel_size, strict=True)]
        (top, bottom), (left, right) = [(total // 2, total - total // 2) for total in wide]
        return left, right, top, bottom
    if isinstance(convolution.padding, str):
        return 0, 0, 0, 0
    high, across = convolution.padding
    return across, across, high, high


class Recorder:
    """Hooks on the layers of a model that add up products of inputs, and of gradients at outputs, while it is asked.

    They do nothing in evaluation mode, without gradients, or while it is not `wanted`. What a layer sees in several
    backward passes adds up.

    Args:
        model: whose call is one forward pass.
        layers: of it.
        wanted: whether products are wanted now; asked in every forward pass.
    """

    def __init__(self, model: nn.Module, layers: list[Layer], wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._pass = 0
        self._last_pass: dict[str, int] = {}
        self._products: dict[str, Products] = {}
        self._handles = [model.register_forward_pre_hook(self._begin)]
        self._handles += [layer.module.register_forward_hook(self._hook(layer)) for layer in layers]

    def take(self) -> dict[str, Products]:
        """What was added up since the last call, by the names of the layers that were used."""
        found, self._products = self._products, {}
        self._last_pass = {}
        return found

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    def _begin(self, *_: object) -> None:
        self._pass += 1

    def _hook(self, layer: Layer) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def forward(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            if module.training and output.requires_grad and self._wanted():
                seen, number = inputs[0].detach(), self._pass
                output.register_hook(lambda gradient: self._add(layer, number, seen, gradient))

        return forward

    @torch.no_grad()
    def _add(self, layer: Layer, number: int, inputs: Tensor, gradient: Tensor) -> None:
        if self._last_pass.get(layer.name) == number:
            raise ValueError(
                f"layer {layer.name!r} was used twice in one forward pass of the model (or went backward twice, or the "
                "model was not called as a whole): Kfac has no factors for that"
            )
        if not gradient.numel():
            raise ValueError(f"layer {layer.name!r} was given no examples: shape {tuple(inputs.shape)}")
        self._last_pass[layer.name] = number
        dtype = torch.promote_types(layer.module.weight.dtype, torch.float32)
        with torch.autocast(gradient.device.type, enabled=False):
            rows, slopes = layer.input_rows(inputs.to(dtype)), layer.output_rows(gradient.to(dtype))
            made = Products(rows.T @ rows, slopes.T @ slopes, len(rows), layer.example_count(gradient))
        if (old := self._products.get(layer.name)) is not None:
            made.inputs += old.inputs
            made.outputs += old.outputs
            made.place_count += old.place_count
            made.example_count += old.example_count
        self._products[layer.name] = made


def factors_of(products: Products, reduction: LossReduction) -> tuple[Tensor, Tensor]:
    """A [a, a] and G [g, g] of all examples since the last step.

    Args:
        products: with a place at least.
        reduction: "mean" where the gradient that has gathered is the mean of the examples' gradients, each output's
            gradient then being 1/B of that of its example's loss; "sum" where it is their sum.
    """
    examples = products.example_count
    scale = examples if reduction == "mean" else 1 / examples
    return products.inputs / products.place_count, products.outputs * scale
