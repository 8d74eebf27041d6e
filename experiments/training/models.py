"""The networks, each held in one flat vector of parameters with one flat vector of gradients.

Whole-vector selection needs the gradient as one vector; here it is one, and the layers are views into it. What a
network takes is said by the dict that it is in: vectors, images or text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparsync.experiments.training.image_networks import ImageShape, conv3, lenet5, resnet20, vgg16
from sparsync.experiments.training.seeding import random_stream
from sparsync.experiments.training.text_networks import gpt, lstm
from sparsync.kernels.magnitude import is_finite

if TYPE_CHECKING:
    # A machine with a GPU may lack what reading data needs.
    from sparsync.experiments.training.data import DataKind


def fnn2(feature_count: int, class_count: int) -> nn.Module:
    """One hidden layer of 32 units, for many short runs: on 784 features and 10 classes it has 25,450 parameters."""
    return nn.Sequential(nn.Linear(feature_count, 32), nn.ReLU(), nn.Linear(32, class_count))


def fnn3(feature_count: int, class_count: int) -> nn.Module:
    """The fully connected network with two hidden layers of 200 units that Shi et al. 2019 call FNN-3.

    On 784 features and 10 classes it has 199,210 parameters.
    """
    widths = [feature_count, 200, 200, class_count]
    layers = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def deep(feature_count: int, class_count: int, *, hidden_count: int) -> nn.Module:
    """So many hidden layers of 32 units, for comparisons between depths; none is softmax regression."""
    widths = [feature_count, *[32] * hidden_count, class_count]
    layers = [layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


VECTOR_MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "fnn2": fnn2,
    "fnn3": fnn3,
    **{f"deep{hidden_count}": partial(deep, hidden_count=hidden_count) for hidden_count in range(7)},
}
"""By number of features and of classes; an image is the vector of its pixels."""
IMAGE_MODELS: dict[str, Callable[[ImageShape, int], nn.Module]] = {
    "conv3": conv3,
    "lenet5": lenet5,
    "resnet20": resnet20,
    "vgg16": vgg16,
}
"""By shape of an image and number of classes."""
TEXT_MODELS: dict[str, Callable[[int, int], nn.Module]] = {"lstm": lstm, "gpt": gpt}
"""By tokens of an example and number of different tokens."""
MODELS: dict[str, Callable[..., nn.Module]] = {**VECTOR_MODELS, **IMAGE_MODELS, **TEXT_MODELS}

EVALUATED_TOGETHER = 128
"""Images or windows; vectors are evaluated all at once."""
_WARM_UP_COUNT = 3


def require_pair(model: str, kind: DataKind) -> None:
    """A model trains on examples that it takes.

    Raises:
        ValueError: unknown model; or images for a model of text, or the reverse.
    """
    if model not in MODELS:
        raise ValueError(f"unknown model {model!r}; known: {', '.join(MODELS)}")
    takes: DataKind = "text" if model in TEXT_MODELS else "images"
    if takes != kind:
        fitting = [name for name in MODELS if (name in TEXT_MODELS) == (kind == "text")]
        raise ValueError(
            f"model {model!r} takes {takes}, and the data are {kind}; models of {kind}: {', '.join(fitting)}"
        )


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive layers of a model, as whoever holds only these needs them.

    Args:
        network: the layers; their gradients are added to, until they are set to zero.
        parameters: theirs [d'], a part of the model's vector.
        gradient: likewise.
    """

    network: nn.Sequential
    parameters: Tensor
    gradient: Tensor


class FlatModel:
    """A network whose parameters [d] and gradient [d] are one vector each.

    Args:
        name: a key of `MODELS`.
        feature_count: length of an example.
        class_count: number of classes.
        seed: names the initial parameters, see `_initialise`.
        device: where the vectors live.
        image_shape: (channels, height, width), for a model of images; examples are flat all the same.

    Raises:
        ValueError: `name` is not in `MODELS`, or it takes images and their shape is missing or of another length.
    """

    def __init__(
        self,
        name: str,
        *,
        feature_count: int,
        class_count: int,
        seed: int,
        device: torch.device | str = "cpu",
        image_shape: ImageShape | None = None,
    ) -> None:
        self._network = new_network(name, feature_count, class_count, image_shape)
        self._together = None if name in VECTOR_MODELS else EVALUATED_TOGETHER
        _initialise(self._network, random_stream(seed, "parameters"))
        self._network.to(device)
        self.parameters, self.gradient = _flatten(self._network)
        self.statistics = _flatten_statistics(self._network, device)
        """[b], running means and variances of all layers that normalise over the batch: read by `quality`, moved by
        `loss_and_gradient`; empty if there are none"""
        self.block_shapes = tuple(tuple(layer.shape) for layer in self._network.parameters())
        """shape of each weight and bias, in the order of the vector"""
        self.block_sizes = tuple(map(math.prod, self.block_shapes))
        """their entries"""
        self._recorded: dict[tuple[int, ...], _Recorded] = {}

    def part(self, first: int, end: int) -> Part:
        """Layers `first` to `end` − 1 of a model of `VECTOR_MODELS`, whose layers are a chain.

        Raises:
            ValueError: there are no such layers.
        """
        layers = list(self._network) if isinstance(self._network, nn.Sequential) else []
        if not 0 <= first <= end <= len(layers):
            raise ValueError(f"layers {first} to {end} of {len(layers)} are no part of a chain")
        sizes = [sum(each.numel() for each in layer.parameters()) for layer in layers]
        places = slice(sum(sizes[:first]), sum(sizes[:end]))
        return Part(nn.Sequential(*layers[first:end]), self.parameters[places], self.gradient[places])

    @property
    def network(self) -> nn.Module:
        """The network itself, for whoever hangs hooks on it; parameters and gradients are views into the vectors."""
        return self._network

    def loss_and_gradient(self, images: Tensor, labels: Tensor) -> tuple[float, Tensor]:
        """Mean cross-entropy of a batch and its gradient [d]; the vector is overwritten by the next call."""
        if not images.is_cuda:
            return float(self.backward(images, labels)), self.gradient
        shape = tuple(images.shape)
        if shape not in self._recorded:
            self._recorded[shape] = _Recorded(self, images, labels)
        return float(self._recorded[shape].replay(images, labels)), self.gradient

    def backward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Fill the gradient, and return the loss where it was computed: nothing waits for the device."""
        self.gradient.zero_()
        loss = functional.cross_entropy(*scores_and_classes(self._network(images), labels))
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def gather_statistics(self, images: Tensor) -> None:
        """`statistics` become the means of those of these examples, [m, features], taken some at a time.

        For parameters that nobody's own statistics belong to; nothing happens where no layer normalises over the batch.

        Source: the idea is Wu and Johnson 2021, arXiv 2105.07576.
        """
        normalising = [module for module in self._network.modules() if isinstance(module, nn.BatchNorm2d)]
        momenta = [module.momentum for module in normalising]
        for module in normalising:
            module.reset_running_stats()
            module.momentum = None
        if normalising:
            for some in images.split(EVALUATED_TOGETHER):
                self._network(some)
        for module, momentum in zip(normalising, momenta, strict=True):
            module.momentum = momentum

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Share of examples, or of tokens of a text, whose largest output is at their label; see `quality`."""
        return self.quality(images, labels)[0]

    @torch.no_grad()
    def quality(self, images: Tensor, labels: Tensor) -> tuple[float, float]:
        """Accuracy, and mean cross-entropy; layers that normalise over the batch use `statistics` instead.

        Raises:
            FloatingPointError: an output is not finite, so the largest is undefined.
        """
        right, loss = 0, 0.0
        together = self._together or len(images)
        for some, theirs in zip(images.split(together), labels.split(together), strict=True):
            self._network.eval()
            scores, classes = scores_and_classes(self._network(some), theirs)
            self._network.train()
            if not is_finite(scores.flatten()):
                raise FloatingPointError("the model's outputs are not finite; try a smaller step size")
            right += int((scores.argmax(dim=1) == classes).sum())
            # In float64 the difference of two finite outputs is finite.
            loss += float(functional.cross_entropy(scores.double(), classes, reduction="sum"))
        return right / labels.numel(), loss / labels.numel()


class _Recorded:
    """Forward and backward on batches of one shape as a CUDA graph: a small network takes longer to start than to run.

    Args:
        model: on a GPU; its running statistics stay what they are.
        images: a batch.
        labels: its classes.
    """

    def __init__(self, model: FlatModel, images: Tensor, labels: Tensor) -> None:
        self._images, self._labels = images.clone(), labels.clone()
        statistics = model.statistics.clone()
        stream = torch.cuda.Stream(images.device)
        stream.wait_stream(torch.cuda.current_stream(images.device))
        with torch.cuda.stream(stream):
            # Libraries choose their kernels and take their workspaces before anything is recorded.
            for _ in range(_WARM_UP_COUNT):
                model.backward(self._images, self._labels)
        torch.cuda.current_stream(images.device).wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream):
            self._loss = model.backward(self._images, self._labels)
        model.statistics.copy_(statistics)

    def replay(self, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of another batch, in a tensor that the next one overwrites; the model's gradient is filled."""
        self._images.copy_(images)
        self._labels.copy_(labels)
        self._graph.replay()
        return self._loss


class _Indices(nn.Module):
    """Bytes as indices of an embedding."""

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens.long()


def new_network(name: str, feature_count: int, class_count: int, image_shape: ImageShape | None) -> nn.Module:
    """The network, taking examples as a `Dataset` has them, with the parameters that PyTorch gives it.

    Raises:
        ValueError: see `FlatModel`.
    """
    if name in VECTOR_MODELS:
        return VECTOR_MODELS[name](feature_count, class_count)
    if name in TEXT_MODELS:
        return nn.Sequential(_Indices(), TEXT_MODELS[name](feature_count, class_count))
    if name not in IMAGE_MODELS:
        raise ValueError(f"unknown model {name!r}; known: {', '.join(MODELS)}")
    if image_shape is None or math.prod(image_shape) != feature_count:
        raise ValueError(f"model {name!r} takes images of {feature_count} entries, got the shape {image_shape}")
    return nn.Sequential(nn.Unflatten(1, image_shape), IMAGE_MODELS[name](image_shape, class_count))


def scores_and_classes(outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Scores [m, classes] and classes [m] of all predictions: one an example, or one a token."""
    return outputs.flatten(0, -2), labels.flatten().long()


@torch.no_grad()
def _initialise(network: nn.Module, stream: torch.Generator) -> None:
    """Uniform on ±1/√fan-in in linear layers, ±1/√width in an LSTM; normal with variance 1/width in embeddings.

    Convolutions are normal with variance 2/(entries of a filter's output), He et al. (2015), arXiv 1502.01852, without
    a bias; layers that normalise begin as the identity.
    """
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.LSTM):
            bound = 1 / math.sqrt(module.in_features if isinstance(module, nn.Linear) else module.hidden_size)
            for parameter in module.parameters():
                parameter.uniform_(-bound, bound, generator=stream)
        elif isinstance(module, nn.Conv2d):
            places = math.prod(module.kernel_size)
            module.weight.normal_(0.0, math.sqrt(2 / (places * module.out_channels)), generator=stream)
            if module.bias is not None:
                module.bias.zero_()
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(0.0, 1 / math.sqrt(module.embedding_dim), generator=stream)


def _flatten(network: nn.Module) -> tuple[Tensor, Tensor]:
    """Move parameters and gradients into two vectors; the network keeps views of them."""
    layers = list(network.parameters())
    parameters = torch.cat([layer.detach().flatten() for layer in layers])
    gradient = torch.zeros_like(parameters)
    views = zip(layers, _views(parameters, layers), _views(gradient, layers), strict=True)
    for layer, values, slopes in views:
        layer.data, layer.grad = values, slopes
    return parameters, gradient


def _flatten_statistics(network: nn.Module, device: torch.device | str) -> Tensor:
    """Move running means and variances into one vector; the network keeps views of it."""
    normalising = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    kept = [
        buffer for module in normalising for buffer in (module.running_mean, module.running_var) if buffer is not None
    ]
    statistics = torch.cat([torch.empty(0, device=device), *kept])
    for buffer, view in zip(kept, _views(statistics, kept), strict=True):
        buffer.data = view
    return statistics


def _views(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Consecutive parts of a vector, in the shapes of some tensors."""
    parts = vector.split([tensor.numel() for tensor in like])
    return [part.view_as(tensor) for part, tensor in zip(parts, like, strict=True)]
