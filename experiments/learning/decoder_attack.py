"""How much of an input can be read from what was sent of it? A decoder learns from leaked pairs, judged on others.

The attacker of NoPeek (Vepakomma et al. 2020, as described to us) owns some activations with the inputs they came from.
What it reads is the share of the inputs' variance that its decoder explains on examples that it has not seen: 1 is the
input itself, 0 what guessing the mean input gives, and below 0 a decoder that is worse than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sparsync.experiments.training.seeding import random_stream

_CUT_OFF = 5.0
"""In standard deviations."""


@dataclass(frozen=True)
class Attack:
    """How hard the attacker tries.

    Args:
        steps: updates of the decoder, by Adam with a step size that falls to zero.
        hidden: width of its hidden layer.
        batch_size: pairs in an update.
        step_size: the first.

    Raises:
        ValueError: one of them is not positive.
    """

    steps: int = 400
    hidden: int = 256
    batch_size: int = 128
    step_size: float = 2e-3

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} of an attack must be positive, got {value}")


@dataclass(frozen=True)
class Leak:
    """What an attacker read.

    Args:
        explained_share: of the variance of the held-out inputs, R².
        mean_square_error: of a pixel.
        variance: of a pixel around the mean leaked input.
    """

    explained_share: float
    mean_square_error: float
    variance: float


def attacked(
    leaked: tuple[Tensor, Tensor], held_out: tuple[Tensor, Tensor], *, seed: int, attack: Attack | None = None
) -> Leak:
    """Train a decoder on leaked activations [n, q] with their inputs [n, p], and judge it on held-out ones.

    Activations are standardised by what was leaked and cut off at ±5, since a unit that rarely fires has no spread to
    speak of. One that is constant there stays zero, so that of constant ones only the mean input can be learned.
    Everything is computed in float64 if one of the four tensors is, else in float32; integers are taken as numbers.

    Raises:
        ValueError: there are no pairs, or not as many activations as inputs; a dtype is not real; or the held-out
            inputs are all the mean of the leaked ones, so that there is no variance to explain.
        FloatingPointError: the decoder diverged.
    """
    attack = Attack() if attack is None else attack
    for activations, inputs in (leaked, held_out):
        if len(activations) != len(inputs) or not len(inputs):
            raise ValueError(f"expected pairs, got {len(activations)} activations and {len(inputs)} inputs")
    activations, inputs, unseen, wanted = _alike(*leaked, *held_out)
    middle, spread = activations.mean(dim=0), activations.std(dim=0, unbiased=False)
    spread = torch.where(spread > 0, spread, torch.full_like(spread, math.inf))
    activations, unseen = (((each - middle) / spread).clamp(-_CUT_OFF, _CUT_OFF) for each in (activations, unseen))
    mean_input = inputs.mean(dim=0)
    variance = float((wanted - mean_input).square().mean(dtype=torch.float64))
    if variance == 0:
        raise ValueError("the held-out inputs are all the mean of the leaked ones: there is no variance to explain")
    decoder = _trained(activations, inputs - mean_input, seed, attack)
    with torch.no_grad():
        error = float((decoder(unseen) + mean_input - wanted).square().mean(dtype=torch.float64))
    if not math.isfinite(error):
        raise FloatingPointError("the decoder's outputs are not finite; try a smaller step size")
    return Leak(1 - error / variance, error, variance)


def _alike(*tensors: Tensor) -> list[Tensor]:
    """Each [n, …] of one dtype, an example a row."""
    for each in tensors:
        if each.is_complex():
            raise ValueError(f"expected activations and inputs of real numbers, got {each.dtype}")
    dtype = torch.float64 if any(each.dtype == torch.float64 for each in tensors) else torch.float32
    return [each.detach().unsqueeze(-1).flatten(1).to(dtype) for each in tensors]


def _trained(activations: Tensor, aims: Tensor, seed: int, attack: Attack) -> nn.Module:
    layers = nn.Linear(activations.shape[1], attack.hidden), nn.Linear(attack.hidden, aims.shape[1])
    decoder = nn.Sequential(layers[0], nn.ReLU(), layers[1])
    stream = random_stream(seed, "decoder")
    with torch.no_grad():
        for layer in layers:
            bound = 1 / math.sqrt(layer.in_features)
            layer.weight.uniform_(-bound, bound, generator=stream)
            layer.bias.zero_()
    decoder.to(activations.device, activations.dtype)
    optimiser = torch.optim.Adam(decoder.parameters(), lr=attack.step_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / attack.steps)
    for _ in range(attack.steps):
        batch = torch.randint(len(aims), (attack.batch_size,), generator=stream).to(activations.device)
        optimiser.zero_grad()
        (decoder(activations[batch]) - aims[batch]).square().mean().backward()
        optimiser.step()
        schedule.step()
    return decoder
