"""Does a plan for sharding do what it says? A perceptron with layers replicated or sharded, trained on real devices.

Every layer is a matrix of rows [weights of an output, its bias], cut into slices of whole rows; a device's part of a
slice is one n-th of its values. A sharded layer's slices are gathered before the forward and again before the backward
pass, one at a time, and their gradients reduce-scattered; a replicated layer's gradients are reduce-scattered and
gathered. Parts are added in rank order whichever it is: where products are exact, what is trained does not depend on
the plan in any bit.

What a device does is a conversation; `converse` carries it over a process group, `answer_each_other` those of all
devices in one process. Each device notes what it passes on: to n − 1 others a part each, in a pass. Ours; what it
should come to is the model of `experiments/planners/osdp.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllGather, Conversation, Swap
from sparsync.experiments.engine.counts import require_count

Update = Callable[[Tensor, Tensor], Tensor]
"""From some parameters and the mean of their gradients to new ones, value by value."""


@dataclass(frozen=True)
class Kept:
    """How a layer is kept.

    Args:
        is_sharded: every device has an n-th of it, or all of it.
        slices: so many are computed with one after the other, and gathered if the layer is sharded.

    Raises:
        ValueError: there is no slice.
    """

    is_sharded: bool
    slices: int = 1

    def __post_init__(self) -> None:
        require_count("slices", self.slices, least=1)


@dataclass(frozen=True)
class Device:
    """One of several.

    Args:
        rank: its own, from 0.
        size: n.
        update: of its parameters, the same everywhere.

    Raises:
        ValueError: the rank is none of so many devices.
    """

    rank: int
    size: int
    update: Update

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.size:
            raise ValueError(f"rank must be at least 0 and below {self.size}, the number of devices, got {self.rank}")


@dataclass
class Books:
    """What a device passed on and held.

    Args:
        bytes: passed on, by layer.
        messages: likewise.
        buffer_bytes: the most that was gathered of a layer and not kept, with its gradient.
        state_bytes: parameters that were kept between steps.
    """

    bytes: Counter[int] = field(default_factory=Counter)
    messages: Counter[int] = field(default_factory=Counter)
    buffer_bytes: int = 0
    state_bytes: int = 0

    def note(self, layer: int, part: Tensor, devices: int) -> None:
        """A pass of parts of one size."""
        self.bytes[layer] += (devices - 1) * part.numel() * part.element_size()
        self.messages[layer] += devices - 1


@dataclass
class _Layer:
    """A layer on a device: all of its slices, or its parts of them, each as one row of values."""

    place: int
    kept: Kept
    shape: tuple[int, int]
    values: list[Tensor]


def train(
    device: Device,
    layers: Sequence[Tensor],
    plan: Sequence[Kept],
    batches: Sequence[tuple[Tensor, Tensor]],
    books: Books,
) -> Conversation[list[Tensor]]:
    """Train on this device's batches, for half the squared error; the layers in the end, gathered once more, unnoted.

    Args:
        device: this one.
        layers: [outputs, inputs + 1] each, the same on all devices; all but the last are followed by a ReLU.
        plan: how each is kept.
        batches: inputs [samples, inputs] and targets [samples, outputs], one for each step.
        books: where bytes are noted.

    Raises:
        ValueError: there is no layer, layers and plan are not equally many, or a layer's rows cannot be cut into its
            slices, or those not into parts.
    """
    if not layers or len(layers) != len(plan):
        raise ValueError(f"a perceptron needs layers, and each a plan, got {len(layers)} and {len(plan)}")
    state = [_placed(device, place, *pair) for place, pair in enumerate(zip(layers, plan, strict=True))]
    books.state_bytes = sum(value.numel() * value.element_size() for layer in state for value in layer.values)
    for inputs, targets in batches:
        activations = [inputs]
        for layer in state:
            output = yield from _forward(device, layer, activations[-1], books)
            activations.append(output if layer is state[-1] else output.relu())
        gradient = activations[-1] - targets
        for layer in reversed(state):
            if layer is not state[-1]:
                gradient = gradient * (activations[layer.place + 1] > 0)
            gradient = yield from _backward(device, layer, activations[layer.place], gradient, books)
    whole = list[Tensor]()
    for layer in state:
        rows = list[Tensor]()
        for place in range(layer.kept.slices):
            rows.append((yield from _slice(device, layer, place, Books())))
        whole.append(torch.cat(rows))
    return whole


def _placed(device: Device, place: int, layer: Tensor, kept: Kept) -> _Layer:
    outputs, width = layer.shape
    if outputs % kept.slices or outputs // kept.slices * width % device.size:
        raise ValueError(
            f"{outputs} rows of {width} values cannot be {kept.slices} slices with {device.size} equal parts each"
        )
    slices = [own.reshape(-1) for own in layer.chunk(kept.slices)]
    values = [_part(device, own).clone() if kept.is_sharded else own.clone() for own in slices]
    return _Layer(place, kept, (outputs // kept.slices, width), values)


def _part(device: Device, values: Tensor) -> Tensor:
    """The n-th of a row that is this device's."""
    return values.view(device.size, -1)[device.rank]


def _slice(device: Device, layer: _Layer, place: int, books: Books) -> Conversation[Tensor]:
    """All values of a slice, as rows."""
    values = layer.values[place]
    if layer.kept.is_sharded:
        values = yield from _gathered(device, layer, values, books)
    return values.view(layer.shape)


def _gathered(device: Device, layer: _Layer, part: Tensor, books: Books) -> Conversation[Tensor]:
    books.note(layer.place, part, device.size)
    parts = yield AllGather(part)
    return torch.cat(list(parts))


def _scattered(device: Device, layer: _Layer, values: Tensor, books: Books) -> Conversation[Tensor]:
    """The mean of this device's part over all devices.

    Every device sends every other one its part, so that bytes are known, and parts are added in rank order. Gloo's own
    reduce-scatter promises neither.
    """
    parts = values.view(device.size, -1)
    books.note(layer.place, parts[0], device.size)
    others = [rank for rank in range(device.size) if rank != device.rank]
    size = parts[0].numel() * parts.element_size()
    expected: dict[int, int] = dict.fromkeys(others, size)
    given = {rank: parts[rank].view(torch.uint8) for rank in others}
    received = yield Swap(given, expected, values.device)
    theirs = {rank: part.view(values.dtype) for rank, part in zip(others, received, strict=True)}
    total = torch.zeros_like(parts[0])
    for rank in range(device.size):
        total += theirs.get(rank, parts[device.rank])
    return total / device.size


def _forward(device: Device, layer: _Layer, inputs: Tensor, books: Books) -> Conversation[Tensor]:
    outputs = list[Tensor]()
    for place in range(layer.kept.slices):
        rows = yield from _slice(device, layer, place, books)
        outputs.append(inputs @ rows[:, :-1].T + rows[:, -1])
    return torch.cat(outputs, dim=1)


def _backward(device: Device, layer: _Layer, inputs: Tensor, gradient: Tensor, books: Books) -> Conversation[Tensor]:
    """The gradient by the inputs; the layer takes its step on the way."""
    by_inputs = torch.zeros_like(inputs)
    for place, own in enumerate(gradient.chunk(layer.kept.slices, dim=1)):
        rows = yield from _slice(device, layer, place, books)
        by_inputs = by_inputs + own @ rows[:, :-1]
        by_rows = torch.cat([own.T @ inputs, own.sum(dim=0)[:, None]], dim=1).reshape(-1)
        mean = yield from _scattered(device, layer, by_rows, books)
        if layer.kept.is_sharded:
            held = (rows.numel() + by_rows.numel()) * rows.element_size()
            books.buffer_bytes = max(books.buffer_bytes, held)
        else:
            mean = yield from _gathered(device, layer, mean, books)
        layer.values[place] = device.update(layer.values[place], mean)
    return by_inputs
