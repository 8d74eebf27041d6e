"""The networks, each held in one flat vector of parameters with one flat vector of gradients.

Whole-vector selection needs the gradient as one vector; here it is one, and the layers are views into it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.magnitude import is_finite


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


MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "fnn2": fnn2,
    "fnn3": fnn3,
    **{f"deep{hidden_count}": partial(deep, hidden_count=hidden_count) for hidden_count in range(7)},
}


class FlatModel:
    """A network whose parameters [d] and gradient [d] are one vector each.

    Args:
        name: a key of `MODELS`.
        feature_count: length of an example.
        class_count: number of classes.
        seed: names the initial parameters, uniform on ±1/√fan-in in every linear layer.
        device: where both vectors live.

    Raises:
        ValueError: `name` is not in `MODELS`.
    """

    def __init__(
        self,
        name: str,
        *,
        feature_count: int,
        class_count: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        if name not in MODELS:
            raise ValueError(f"unknown model {name!r}; known: {', '.join(MODELS)}")
        self._network = MODELS[name](feature_count, class_count)
        _initialise(self._network, random_stream(seed, "parameters"))
        self._network.to(device)
        self.parameters, self.gradient = _flatten(self._network)
        self.block_sizes = tuple(layer.numel() for layer in self._network.parameters())
        """entries of each weight matrix and bias, in the order of the vector"""

    def loss_and_gradient(self, images: Tensor, labels: Tensor) -> tuple[float, Tensor]:
        """Mean cross-entropy of a batch and its gradient [d]; the vector is overwritten by the next call."""
        self.gradient.zero_()
        loss = functional.cross_entropy(self._network(images), labels)
        loss.backward()
        return float(loss.detach()), self.gradient

    @torch.no_grad()
    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Share of examples whose largest output is at their label.

        Raises:
            FloatingPointError: an output is not finite, so the largest is undefined.
        """
        outputs = self._network(images)
        if not is_finite(outputs.flatten()):
            raise FloatingPointError("the model's outputs are not finite; try a smaller step size")
        return float((outputs.argmax(dim=1) == labels).double().mean())


@torch.no_grad()
def _initialise(network: nn.Module, stream: torch.Generator) -> None:
    for module in network.modules():
        if isinstance(module, nn.Linear):
            bound = 1 / math.sqrt(module.in_features)
            module.weight.uniform_(-bound, bound, generator=stream)
            module.bias.uniform_(-bound, bound, generator=stream)


def _flatten(network: nn.Module) -> tuple[Tensor, Tensor]:
    """Move parameters and gradients into two vectors; the network keeps views of them."""
    layers = list(network.parameters())
    parameters = torch.cat([layer.detach().flatten() for layer in layers])
    gradient = torch.zeros_like(parameters)
    offset = 0
    for layer in layers:
        end = offset + layer.numel()
        layer.data = parameters[offset:end].view_as(layer)
        layer.grad = gradient[offset:end].view_as(layer)
        offset = end
    return parameters, gradient
