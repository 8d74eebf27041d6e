"""Tiny networks for the tests of K-FAC, in float64, and a dense Fisher matrix that knows nothing of factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparsync.experiments.learning.kfac import Kfac
from sparsync.experiments.learning.kfac_layers import Layer, find_layers
from sparsync.experiments.learning.kfac_settings import KfacSettings
from sparsync.experiments.training.data import Dataset, load_dataset

Loss = Callable[[nn.Module, Tensor], Tensor]
"""The losses [B] of a batch."""
EXACT = KfacSettings(factor_period=1, decomposition_period=1, clip=None, damping=0.01)
"""Every step has factors and decompositions of its own batch."""

CONVOLUTIONS: dict[str, Callable[[], nn.Conv2d]] = {
    "plain": lambda: nn.Conv2d(2, 3, 3),
    "no bias": lambda: nn.Conv2d(2, 3, 3, bias=False),
    "stride": lambda: nn.Conv2d(2, 3, (3, 2), stride=(2, 1)),
    "padding": lambda: nn.Conv2d(2, 3, 3, padding=(2, 1)),
    "dilation": lambda: nn.Conv2d(2, 3, (2, 3), dilation=(3, 2)),
    "all three": lambda: nn.Conv2d(2, 3, (3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 3)),
    "same": lambda: nn.Conv2d(2, 3, (4, 3), padding="same", dilation=(1, 2)),
    "valid": lambda: nn.Conv2d(2, 3, (1, 2), padding="valid"),
}
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "linear": lambda: nn.Linear(4, 3),
    "linear, no bias": lambda: nn.Linear(4, 3, bias=False),
    **{f"convolution, {name}": make for name, make in CONVOLUTIONS.items()},
}


def seeded(make: Callable[[], nn.Module], seed: int = 0) -> nn.Module:
    """A module in float64 with parameters of its own seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make().double()


def draw(*shape: int, seed: int = 1) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def inputs_of(module: nn.Module, count: int, seed: int = 1) -> Tensor:
    """A batch that a layer takes."""
    return draw(count, 2, 7, 8, seed=seed) if isinstance(module, nn.Conv2d) else draw(count, 4, seed=seed)


def only_layer(module: nn.Module) -> Layer:
    """The one layer of a module."""
    ((layer,), _) = find_layers(nn.Sequential(module))
    return layer


def gradient_matrices(model: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    """∂loss/∂(weight, bias) of every layer [g, a], by autograd alone."""
    found = {}
    for layer in find_layers(model)[0]:
        weight, *bias = torch.autograd.grad(loss, layer.parameters, retain_graph=True)
        found[layer.name] = torch.cat([weight.flatten(1), *(one[:, None] for one in bias)], dim=1)
    return found


def empirical_fisher(model: nn.Module, losses: Tensor) -> dict[str, Tensor]:
    """(1/B) Σ_i ∇ℓ_i ∇ℓ_iᵀ of every layer [g·a, g·a], rows as in a matrix [g, a] read row by row."""
    each = [gradient_matrices(model, loss) for loss in losses]
    blocks = {}
    for name in each[0]:
        flat = torch.stack([one[name].flatten() for one in each])
        blocks[name] = flat.T @ flat / len(losses)
    return blocks


def solved(block: Tensor, damping: float, gradient: Tensor) -> Tensor:
    """(F + γI)⁻¹ vec W as a matrix, by a dense solver."""
    damped = block + damping * torch.eye(len(block), dtype=block.dtype)
    found: Tensor = torch.linalg.solve(damped, gradient.flatten())
    return found.view_as(gradient)


def solution_error(block: Tensor, damping: float, gradient: Tensor) -> float:
    """How far two ways to solve with F + γI may be apart, in norm, by roundings.

    Each step, a product or decomposition with n rows and columns, errs by n · 2⁻⁵³ of the norm of its result; there are
    fewer than 16, and 1/γ for the smallest eigenvalue makes λ/γ + 1 of it, twice for the solver and the basis.
    """
    condition = float(torch.linalg.matrix_norm(block, ord=2)) / damping + 1
    return 32 * len(block) * 2.0**-53 * condition * float(gradient.norm()) / damping


def step_once(
    model: nn.Module, loss: Loss, inputs: Tensor, settings: KfacSettings = EXACT
) -> tuple[dict[str, Tensor], dict[str, Tensor], Kfac]:
    """One step of a fresh preconditioner: gradients before it, after it, and itself.

    Args:
        model: in training mode.
        loss: of a batch, reduced by the mean, or by the sum if the settings say so.
        inputs: the batch.
        settings: of the preconditioner.
    """
    kfac = Kfac(model, settings)
    losses = loss(model, inputs)
    (losses.mean() if settings.loss_reduction == "mean" else losses.sum()).backward()
    layers = find_layers(model)[0]
    before = {layer.name: layer.matrix() for layer in layers}
    kfac.step()
    after = {layer.name: layer.matrix() for layer in layers}
    kfac.remove()
    return before, after, kfac


def losses_of(model: nn.Module, inputs: Tensor) -> Tensor:
    """A loss for each example that is neither linear nor quadratic in the outputs."""
    outputs: Tensor = model(inputs).flatten(1)
    return torch.logsumexp(outputs, dim=1) + outputs.square().sum(dim=1) / 2


def small_network(seed: int = 0) -> nn.Module:
    """Convolution, normalisation and two linear layers, one without a bias."""
    return nn.Sequential(
        seeded(lambda: nn.Conv2d(1, 2, 2), seed),
        nn.BatchNorm2d(2).double(),
        nn.ReLU(),
        nn.Flatten(),
        seeded(lambda: nn.Linear(8, 3, bias=False), seed),
        nn.Tanh(),
        seeded(lambda: nn.Linear(3, 2), seed),
    )


@cache
def small_data() -> Dataset:
    """The embedded images, each of 7 by 7 means of 4 by 4 pixels, so that a first layer has a small factor."""
    data = load_dataset("embedded")

    def pooled(images: Tensor) -> Tensor:
        return functional.avg_pool2d(images.view(-1, 1, 28, 28), 4).flatten(1)

    return replace(
        data,
        train_images=pooled(data.train_images[:400]),
        train_labels=data.train_labels[:400],
        test_images=pooled(data.test_images[:50]),
        test_labels=data.test_labels[:50],
        image_shape=(1, 7, 7),
    )
