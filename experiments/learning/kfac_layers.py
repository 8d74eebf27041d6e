"""Which layers have a Kronecker-factored curvature, and what are their factors? Hooks that add up products by layer.

A layer maps inputs a to outputs s = W a, at one place or at T of them (a convolution, tokens of a text); a one is
appended to a where there is a bias. Over a batch of B examples with losses ℓ_i and g = ∂ℓ_i/∂s the factors are

    A = (1/(B T)) Σ_i Σ_t a aᵀ        G = (1/B) Σ_i Σ_t g gᵀ

so that A ⊗ G approximates the layer's block of the empirical Fisher matrix (1/B) Σ_i ∇ℓ_i ∇ℓ_iᵀ. It is that block
where T = 1 and the entries of a aᵀ are uncorrelated over the batch with those of g gᵀ: where a and g are independent,
and in a batch of one. That a and g are uncorrelated is not enough. Sources: Martens and Grosse 2015, arXiv 1503.05671;
Grosse and Martens 2016, arXiv 1602.01407, whose product this is, with T in the other factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrize import ParametrizationList

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


def find_layers(model: nn.Module, excluded: Sequence[str] = ()) -> tuple[list[Layer], dict[str, str]]:
    """The layers that have factors, in the order of the model, and the names of other parameters with the reason.

    A layer whose weight is frozen has none. What is left out keeps the plain gradient: parameters of other modules,
    weights that two modules share or that are computed from others, grouped convolutions and those that pad with
    anything but zeros, layers that do something else when they are called, and those within an attention, which are
    not called.

    Args:
        model: all of it.
        excluded: names of layers that are to have none.

    Raises:
        ValueError: a name of `excluded` is not that of a layer that would have factors.
    """
    owners: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        owners.setdefault(id(parameter), []).append(name)
    uncalled = {
        id(one) for part in model.modules() if isinstance(part, nn.MultiheadAttention) for one in part.modules()
    }
    modules, found = dict(model.named_modules()), dict[str, Layer]()
    reasons = {name: _obstacle(module, owners, uncalled) for name, module in modules.items()}
    for name, module in modules.items():
        if isinstance(module, nn.Linear | nn.Conv2d) and not reasons[name]:
            bias = module.bias
            found[name] = Layer(name, module, has_bias=bias is not None and bias.requires_grad)
    if unknown := [name for name in excluded if name not in found]:
        raise ValueError(f"no layers that have factors are named {unknown}; there are {', '.join(found) or 'none'}")
    layers = [layer for name, layer in found.items() if name not in excluded]
    reasons |= dict.fromkeys(excluded, "it is excluded")
    inside = {id(parameter) for layer in layers for parameter in layer.parameters}
    plain = {
        name: reasons[name.rpartition(".")[0]]
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and id(parameter) not in inside
    }
    return layers, plain


def _obstacle(module: nn.Module, owners: dict[int, list[str]], uncalled: set[int]) -> str:
    """Why a module has no factors; empty if it has some."""
    if isinstance(module, ParametrizationList):
        return "a parametrization makes another of it"
    if not isinstance(module, nn.Linear | nn.Conv2d):
        return f"{type(module).__name__} is neither Linear nor Conv2d"
    if id(module) in uncalled:
        return "a part of MultiheadAttention, which does not call it"
    own = dict(module.named_parameters(recurse=False))
    for name in ("weight", "bias"):
        if getattr(module, name) is not None and name not in own:
            return f"its {name} is computed from other parameters"
    if not _is_stock(module):
        return f"{type(module).__name__} does something else than {_stock(module).__name__} when it is called"
    for parameter in own.values():
        if len(names := owners[id(parameter)]) > 1:
            return f"one parameter is {' and '.join(names)}"
    if isinstance(module, nn.Conv2d) and module.groups != 1:
        return f"a convolution of {module.groups} groups"
    if isinstance(module, nn.Conv2d) and module.padding_mode != "zeros":
        return f"a convolution that pads with {module.padding_mode!r}"
    return "" if module.weight.requires_grad else "its weight is frozen"


def _stock(module: nn.Module) -> type[nn.Module]:
    return nn.Linear if isinstance(module, nn.Linear) else nn.Conv2d


def _is_stock(module: nn.Module) -> bool:
    """The forward pass is PyTorch's, neither overridden nor replaced in this module."""
    kind, stock = type(module), _stock(module)
    methods = [name for name in ("forward", "_conv_forward") if hasattr(stock, name)]
    return not any(name in vars(module) or getattr(kind, name) is not getattr(stock, name) for name in methods)


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

    They do nothing in evaluation mode, without gradients, while paused, or while it is not `wanted`. What a layer sees
    in several backward passes adds up.

    Args:
        model: whose call is one forward pass.
        layers: of it.
        wanted: whether products are wanted now; asked in every forward pass.
    """

    def __init__(self, model: nn.Module, layers: list[Layer], wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._pass = 0
        self._pauses = 0
        self._last_pass: dict[str, int] = {}
        self._products: dict[str, Products] = {}
        self._handles = [model.register_forward_pre_hook(self._begin)]
        self._handles += [layer.module.register_forward_hook(self._hook(layer), with_kwargs=True) for layer in layers]

    def take(self) -> dict[str, Products]:
        """What was added up since the last call, by the names of the layers that were used."""
        found, self._products = self._products, {}
        self._last_pass = {}
        return found

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within it neither forward nor backward passes are seen."""
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    def _begin(self, *_: object) -> None:
        self._pass += 1

    def _hook(self, layer: Layer) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Tensor], None]:
        def forward(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> None:
            if module.training and output.requires_grad and not self._pauses and self._wanted():
                inputs: Tensor = given[0] if given else named["input"]
                seen, number, version = inputs.detach(), self._pass, _version(inputs)

                def backward(gradient: Tensor) -> None:
                    if not self._pauses:
                        self._add_or_clear(layer, number, seen, version, gradient)

                output.register_hook(backward)

        return forward

    def _add_or_clear(self, layer: Layer, number: int, inputs: Tensor, version: int, gradient: Tensor) -> None:
        """Add products of a layer; what there is of a backward pass that fails belongs to no step."""
        try:
            if _version(inputs) != version:
                raise ValueError(f"the input of layer {layer.name!r} was changed in place after its use: no factors")
            self._add(layer, number, inputs, gradient)
        except BaseException:
            self.take()
            raise

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


def _version(tensor: Tensor) -> int:
    """How often it was changed in place; a tensor of inference mode does not count that."""
    return 0 if tensor.is_inference() else tensor._version


def factors_of(products: Products, reduction: LossReduction, example_count: int | None = None) -> tuple[Tensor, Tensor]:
    """A [a, a] and G [g, g] of all examples since the last step.

    Args:
        products: with a place at least.
        reduction: "mean" where the gradient that has gathered is the mean of the examples' gradients, each output's
            gradient then being 1/B of that of its example's loss; "sum" where it is their sum.
        example_count: B; None is what was counted along the first axis of the outputs.
    """
    examples = products.example_count if example_count is None else example_count
    scale = examples if reduction == "mean" else 1 / examples
    return products.inputs / products.place_count, products.outputs * scale
