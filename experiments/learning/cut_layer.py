"""What do client and server of split learning say at the cut? Batch by batch, activations there and slopes back.

Vanilla: activations and labels go to the server, the slope of the loss in the activations comes back. U-shape: the
labels stay, so the server returns features, the client ends the network, and a slope goes each way. With a density
below one only the selected activations of a batch travel, and the slopes only of those: the mask's own adjoint. Error
feedback has no place here: it makes up later for what a sum over steps has lost, and nothing sums activations, since
those of the next batch are of other examples.
Source: Gupta and Raskar 2018; Vepakomma, Gupta, Swedish and Raskar 2018 (the U-shape); Top-k at the cut is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from sparsync.experiments.averaging.coded import CodedPayload
from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning.distance_correlation import Bias, distance_correlation
from sparsync.experiments.parties.talk import Talk, give, take
from sparsync.experiments.training.descent import Descent
from sparsync.experiments.training.models import Part
from sparsync.kernels.codec import decode
from sparsync.kernels.magnitude import is_finite
from sparsync.kernels.selection import SELECTORS, target_count

SERVER = 0
"""Its rank; clients are those from 1."""
ACTIVATIONS, LABELS, ACTIVATION_SLOPES = "activations", "labels", "activation slopes"
FEATURES, FEATURE_SLOPES = "features", "feature slopes"
HELD_OUT, HELD_OUT_REPLY = "held-out activations", "held-out reply"
WEIGHTS = "weights"


@dataclass(frozen=True)
class Shield:
    """What a client does to its activations before they leave it.

    Args:
        density: share of a batch's activations that is sent.
        selector: rule that chooses them.
        uniform_noise: s, where uniform noise on [−s, s] is added.
        leakage_weight: of the distance correlation of inputs and sent activations, added to the client's loss.
        leakage: which form of it.
    """

    density: float = 1.0
    selector: str = "top_k"
    uniform_noise: float = 0.0
    leakage_weight: float = 0.0
    leakage: Bias = "biased"


@dataclass(frozen=True, eq=False)
class Crossing:
    """Activations as they leave a client.

    Args:
        sent: [b, q], what the server reads, with its way back to the client's layers.
        message: what travels: [b, q], or the bytes of a payload.
        places: [m] int64 in the flat batch, of what was selected; None where all is sent.
    """

    sent: Tensor
    message: Tensor
    places: Tensor | None


def crossing(activations: Tensor, shield: Shield, generator: torch.Generator) -> Crossing:
    """Noise, then selection, of the activations [b, q] of a batch.

    Raises:
        FloatingPointError: an activation is not finite.
    """
    if not is_finite(activations.detach().flatten()):
        raise FloatingPointError("the client's activations are not finite; try a smaller step size")
    if shield.uniform_noise:
        drawn = torch.rand(activations.shape, generator=generator).mul_(2).sub_(1).mul_(shield.uniform_noise)
        activations = activations + drawn.to(activations.device)
    if shield.density == 1:
        return Crossing(activations, activations.detach(), None)
    flat = activations.detach().flatten()
    k = target_count(shield.density, flat.numel())
    payload = CodedPayload(SELECTORS[shield.selector](flat, k, generator), "fp32")
    places = payload.indices.long()
    mask = torch.zeros_like(flat)
    mask[places] = 1
    return Crossing(activations * mask.view_as(activations), payload.message, places)


def read_crossing(message: Tensor, width: int, rank: int) -> tuple[Tensor, Tensor | None]:
    """What a server reads of `crossing`: activations [b, width], and the places of what was selected.

    Raises:
        ExchangeError: it is of no batch of this width, or an activation is not finite.
    """
    places = None
    if message.dtype == torch.uint8:
        try:
            payload = decode(message.cpu())
        except ValueError as error:
            raise ExchangeError(f"activations of rank {rank}: {error}") from error
        places, message = payload.indices.long().to(message.device), payload.dense().to(message.device)
    if not message.numel() or message.numel() % width or (message.ndim == 2 and message.shape[1] != width):
        raise ExchangeError(f"activations of rank {rank}: expected [b, {width}], got {tuple(message.shape)}")
    if not is_finite(message.flatten()):
        raise ExchangeError(f"activations of rank {rank}: an entry is not finite")
    return message.view(-1, width), places


def _masked(slopes: Tensor, places: Tensor | None) -> Tensor:
    """The slopes that travel: all, or those [m] at the places that were selected."""
    return slopes if places is None else slopes.flatten()[places]


def _unmasked(message: Tensor, crossed: Crossing) -> Tensor:
    """The reverse, zero where nothing was selected."""
    if crossed.places is None:
        return message
    slopes = torch.zeros_like(crossed.sent).flatten()
    slopes[crossed.places] = message
    return slopes.view_as(crossed.sent)


@dataclass(eq=False)
class Layers:
    """A part of the network with its update rule.

    Args:
        part: the layers.
        descent: of their parameters.
        step_size: of every update.
    """

    part: Part
    descent: Descent
    step_size: float

    def update(self) -> None:
        """One step along the gradient, which is zero afterwards.

        Raises:
            FloatingPointError: the gradient is not finite.
        """
        if self.part.gradient.numel() and not is_finite(self.part.gradient):
            raise FloatingPointError("a gradient is not finite; try a smaller step size")
        self.descent.apply(self.part.gradient, self.step_size)
        self.part.gradient.zero_()


@dataclass(eq=False)
class Client:
    """A party with examples: it holds the first layers, and in the U-shape the last.

    Args:
        first: layers before the cut.
        last: layers behind the second cut; None where the server has them.
        shield: what is done to activations.
        generator: of its random draws.
    """

    first: Layers
    last: Layers | None
    shield: Shield
    generator: torch.Generator

    def step(self, inputs: Tensor, labels: Tensor) -> Talk[None]:
        """Train on a batch, inputs [b, …] and labels [b].

        Raises:
            FloatingPointError: something is not finite.
        """
        crossed = crossing(self.first.part.network(inputs), self.shield, self.generator)
        # The server may be at the turns of others.
        yield from give(SERVER, ACTIVATIONS, crossed.message, is_patient=True)
        if self.last is None:
            yield from give(SERVER, LABELS, labels)
        else:
            features = (yield from take(SERVER, FEATURES)).requires_grad_()
            _cross_entropy(self.last.part.network(features), labels).backward()
            assert features.grad is not None
            yield from give(SERVER, FEATURE_SLOPES, features.grad)
        slopes = _unmasked((yield from take(SERVER, ACTIVATION_SLOPES)), crossed)
        self._backward(crossed, slopes, inputs)
        self.first.update()
        if self.last is not None:
            self.last.update()

    def _backward(self, crossed: Crossing, slopes: Tensor, inputs: Tensor) -> None:
        if not self.shield.leakage_weight:
            crossed.sent.backward(slopes)
            return
        leakage = distance_correlation(inputs, crossed.sent, bias=self.shield.leakage)
        penalty = self.shield.leakage_weight * leakage
        torch.autograd.backward([crossed.sent, penalty], [slopes, None])

    @torch.no_grad()
    def sent(self, inputs: Tensor) -> Crossing:
        """What would leave it of a batch, without training."""
        return crossing(self.first.part.network(inputs), self.shield, self.generator)

    @torch.no_grad()
    def held_out(self, inputs: Tensor) -> Talk[tuple[Tensor, Tensor]]:
        """Activations [b, q] as sent, and scores [b, classes]; no label is said to anybody."""
        crossed = self.sent(inputs)
        yield from give(SERVER, HELD_OUT, crossed.message)
        reply = yield from take(SERVER, HELD_OUT_REPLY)
        return crossed.sent, reply if self.last is None else self.last.part.network(reply)

    def hand_over(self, rank: int) -> Talk[None]:
        """Weights and the memory of the update rule go to the client that is next."""
        for layers in self._all_layers():
            for tensor in (layers.part.parameters, *layers.descent.state().values()):
                yield from give(rank, WEIGHTS, tensor)

    def take_over(self, rank: int) -> Talk[None]:
        """The reverse, after the whole turns of others."""
        for layers in self._all_layers():
            layers.part.parameters.copy_((yield from take(rank, WEIGHTS, is_patient=True)))
            taken = {}
            for name in layers.descent.state():
                taken[name] = yield from take(rank, WEIGHTS, is_patient=True)
            layers.descent.restore(taken)

    def _all_layers(self) -> list[Layers]:
        return [self.first] if self.last is None else [self.first, self.last]


@dataclass(eq=False)
class Server:
    """The party that computes most, and sees no input.

    Args:
        layers: behind the cut; in the U-shape those between both cuts.
        width: q, activations of an example.
        has_labels: clients send them, so that it ends the network.
    """

    layers: Layers
    width: int
    has_labels: bool

    def step(self, rank: int) -> Talk[float | None]:
        """Train on a batch of a client; the loss, where the server has it.

        Raises:
            FloatingPointError: a loss or gradient is not finite.
            ExchangeError: what the client says is no batch.
        """
        message = yield from take(rank, ACTIVATIONS)
        activations, places = read_crossing(message, self.width, rank)
        activations.requires_grad_()
        outputs = self.layers.part.network(activations)
        loss = None
        if self.has_labels:
            labels = yield from take(rank, LABELS)
            if labels.shape != outputs.shape[:1]:
                raise ExchangeError(f"rank {rank} has {tuple(labels.shape)} labels of {len(outputs)} examples")
            taught = _cross_entropy(outputs, labels)
            taught.backward()
            loss = taught.item()
        else:
            yield from give(rank, FEATURES, outputs)
            slopes = yield from take(rank, FEATURE_SLOPES)
            if slopes.shape != outputs.shape:
                raise ExchangeError(f"rank {rank} has slopes {tuple(slopes.shape)} of features {tuple(outputs.shape)}")
            outputs.backward(slopes)
        assert activations.grad is not None
        yield from give(rank, ACTIVATION_SLOPES, _masked(activations.grad, places))
        self.layers.update()
        return loss

    @torch.no_grad()
    def held_out(self, rank: int) -> Talk[None]:
        """Its layers' outputs of a batch of a client."""
        message = yield from take(rank, HELD_OUT)
        yield from give(rank, HELD_OUT_REPLY, self.layers.part.network(read_crossing(message, self.width, rank)[0]))


def _cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean over a batch.

    Raises:
        FloatingPointError: it is not finite.
    """
    loss = functional.cross_entropy(scores, labels)
    if not math.isfinite(loss.item()):
        raise FloatingPointError(f"the loss is not finite ({loss.item()}); try a smaller step size")
    return loss
