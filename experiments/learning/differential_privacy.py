"""What does a client's gradient say of one example? With clipping and noise at most ε, which an accountant adds up.

Poisson sample → gradient of each example, clipped to length C → their sum + N(0, (σC)²I) → over the expected batch.
Without or with one example the sums differ by C at most, see `theory/learning/privacy_losses.py`; whatever is done to
the noisy sum, such as a selection with error feedback, costs nothing more. Selecting first would: the statement there
says by how much.

The accountant is Opacus's and must be told what was done: a Poisson sample at every step, and that σ is relative to C.
Noise and samples are drawn from the operating system, so that nobody can draw them again; or from a generator, for
simulations: ε then holds only against those who do not know its seed. Noise is rounded to float32, which the account
does not count (Mironov 2012). Source: Abadi et al. 2016, arXiv 1607.00133.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from sparsync.experiments.training.models import VECTOR_MODELS, FlatModel, new_network

if TYPE_CHECKING:
    from sparsync.experiments.training.data import Dataset

Accountant = Literal["rdp", "prv"]
"""By Rényi divergences, an upper bound (Mironov, Talwar and Zhang 2019); or by the law of the loss itself, up to an
error that it is given (Gopi, Lee and Wutschitz 2021)."""


@dataclass(frozen=True)
class Mechanism:
    """Noise for one step.

    Args:
        clip: C, to which the gradient of an example is shortened.
        noise: σ, the noise's deviation over C; 0 clips and hides nothing.

    Raises:
        ValueError: C is not positive and finite, or σ is negative.
    """

    clip: float
    noise: float

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise ValueError(f"clip must be positive and finite, got {self.clip}")
        if not 0 <= self.noise < math.inf:
            raise ValueError(f"noise must be at least 0 and finite, got {self.noise}")

    def clipped_sum(self, gradients: Tensor) -> Tensor:
        """[d], the sum over rows [b, d] of min(1, C/‖g‖)·g; zeros of none."""
        norms = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
        clipped: Tensor = gradients * (self.clip / norms.clamp(min=self.clip))
        return clipped.sum(dim=0)

    def noisy(self, total: Tensor, generator: torch.Generator | None) -> Tensor:
        """[d], with noise from a generator of the CPU; None is the operating system's, which nobody can repeat."""
        if generator is None:
            drawn: Tensor = torch.special.ndtri(secret_uniform(total.numel())).view(total.shape).to(total.dtype)
        else:
            drawn = torch.randn(total.shape, generator=generator, dtype=total.dtype)
        return total + self.noise * self.clip * drawn.to(total.device)


class ExampleGradients:
    """The gradient of each example by itself, at the parameters of a model.

    Args:
        name: of a model of vectors, in which no example sees another.
        data: what it is trained on.
        model: whose parameters are read at every call.

    Raises:
        ValueError: layers of the model may look at several examples at once.
    """

    def __init__(self, name: str, data: Dataset, model: FlatModel) -> None:
        if name not in VECTOR_MODELS:
            raise ValueError(f"gradients of single examples need a model of {', '.join(VECTOR_MODELS)}, got {name!r}")
        self._network: nn.Module = new_network(name, data.feature_count, data.class_count, None)
        self._model = model
        self._names = [key for key, _ in self._network.named_parameters()]

        def loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
            scores = functional_call(self._network, parameters, (image[None],))
            return functional.cross_entropy(scores, label[None])

        self._gradients = vmap(grad(loss), in_dims=(None, 0, 0))

    def __call__(self, images: Tensor, labels: Tensor) -> Tensor:
        """[b, d], in the order of the model's vector; b may be 0."""
        if not len(labels):
            return self._model.parameters.new_zeros((0, self._model.parameters.numel()))
        parts = self._model.parameters.split(self._model.block_sizes)
        blocks = [part.view(shape) for part, shape in zip(parts, self._model.block_shapes, strict=True)]
        found = self._gradients(dict(zip(self._names, blocks, strict=True)), images, labels)
        return torch.cat([found[name].flatten(1) for name in self._names], dim=1)


def secret_uniform(count: int) -> Tensor:
    """[count] float64 in (0, 1), of 52 bits each from the operating system.

    A generator seeded from there would not do: PyTorch's keeps 32 bits of a seed, which a server could try.
    """
    words = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)
    return torch.from_numpy(((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52)


def poisson_sample(count: int, rate: float, generator: torch.Generator | None) -> Tensor:
    """[b] int64: each of so many places with this probability, whatever becomes of the others; b may be 0.

    Args:
        count: of the places.
        rate: the probability.
        generator: of the CPU; None is the operating system's.

    Raises:
        ValueError: the rate is not in (0, 1].
    """
    if not 0 < rate <= 1:
        raise ValueError(f"rate must lie in (0, 1], got {rate}")
    if generator is None:
        return torch.nonzero(secret_uniform(count) < rate).flatten()
    return torch.nonzero(torch.rand(count, generator=generator, dtype=torch.float64) < rate).flatten()


def epsilon(
    noise: float, sample_rate: float, step_count: int, *, delta: float, accountant: Accountant = "rdp"
) -> float:
    """ε of (ε, δ)-differential privacy, of adding or removing one example, after so many Poisson-sampled steps.

    Args:
        noise: σ > 0, relative to the clipping length.
        sample_rate: of the Poisson samples.
        step_count: how many.
        delta: δ.
        accountant: which of Opacus's.

    Raises:
        ImportError: Opacus is not installed.
        ValueError: without noise there is no ε; or a number is out of range.
    """
    if not (0 < noise < math.inf and 0 < sample_rate <= 1 and step_count >= 0 and 0 < delta < 1):
        given = (noise, sample_rate, step_count, delta)
        raise ValueError(f"ε needs noise > 0, a rate in (0, 1], steps ≥ 0 and δ in (0, 1), got {given}")
    try:
        from opacus.accountants import PRVAccountant, RDPAccountant
    except ImportError as error:
        raise ImportError("the accountant is Opacus's: pip install 'sparsync[learning]'") from error
    if not step_count:
        return 0.0
    found = {"rdp": RDPAccountant, "prv": PRVAccountant}[accountant]()
    found.history = [(noise, sample_rate, step_count)]
    return float(found.get_epsilon(delta))
