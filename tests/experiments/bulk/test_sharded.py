"""Real devices train the same bits whatever is sharded, and pass on and hold the bytes that the planner counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.averaging.messages import AllGather, Message, Swap, answer_each_other
from sparsync.experiments.bulk.sharded import Books, Device, Kept, train
from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.osdp import Operator, Sharding, Way
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import converse
from tests.support.workers import run_workers

LAYERS, WIDTH, STEPS, SAMPLES, BYTES = 4, 8, 3, 4, 8
SHAPE = (WIDTH, WIDTH + 1)
SHARDED, REPLICATED, SLICED = Kept(is_sharded=True), Kept(is_sharded=False), Kept(is_sharded=True, slices=2)
Batches = list[tuple[Tensor, Tensor]]


def whole_numbers(most: int, *shape: int, generator: torch.Generator) -> Tensor:
    return torch.randint(-most, most + 1, shape, generator=generator).double()


def made(devices: int) -> tuple[list[Tensor], list[Batches]]:
    """Layers, and the batches of each device: eighths and whole numbers, whose sums and products are exact."""
    generator = torch.Generator().manual_seed(devices)
    layers = [whole_numbers(8, *SHAPE, generator=generator) / 8 for _ in range(LAYERS)]
    batches = [
        [
            (
                whole_numbers(1, SAMPLES, WIDTH, generator=generator),
                whole_numbers(2, SAMPLES, WIDTH, generator=generator),
            )
            for _ in range(STEPS)
        ]
        for _ in range(devices)
    ]
    return layers, batches


def on_eighths(parameters: Tensor, gradient: Tensor) -> Tensor:
    """A step of an eighth, to the nearest eighth in [−1, 1]."""
    return ((8 * parameters - gradient).round() / 8).clamp(-1, 1)


def dense(devices: int) -> list[Tensor]:
    """What one device trains on all batches, by automatic differentiation."""
    layers, batches = made(devices)
    for step in range(STEPS):
        layers = [layer.requires_grad_() for layer in layers]
        for inputs, targets in (own[step] for own in batches):
            values = inputs
            for place, layer in enumerate(layers):
                values = values @ layer[:, :-1].T + layer[:, -1]
                values = values.relu() if place < LAYERS - 1 else values
            ((values - targets) ** 2 / 2).sum().backward()
        layers = [on_eighths(layer.detach(), gradient / devices) for layer, gradient in gradients(layers)]
    return layers


def gradients(layers: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    for layer in layers:
        assert layer.grad is not None
        yield layer, layer.grad


def simulated(devices: int, plan: Sequence[Kept]) -> tuple[list[Tensor], list[Books]]:
    layers, batches = made(devices)
    books = [Books() for _ in range(devices)]
    talks = [
        train(Device(rank, devices, on_eighths), layers, plan, batches[rank], books[rank]) for rank in range(devices)
    ]
    return answer_each_other(talks), books


def real(plans: Sequence[Sequence[Kept]]) -> list[tuple[list[Tensor], Books, int]]:
    """On this rank, for each plan: layers, books, and the bytes of the messages that it gave to others."""
    rank, devices = dist.get_rank(), dist.get_world_size()
    layers, batches = made(devices)
    found = []
    for plan in plans:
        given, books = list[int](), Books()

        def watch(message: Message, given: list[int] = given) -> None:
            given.append(given_bytes(message, devices))

        talk = train(Device(rank, devices, on_eighths), layers, plan, batches[rank], books)
        found.append((converse(talk, Call("sharded", None), watch), books, sum(given)))
    return found


def given_bytes(message: Message, devices: int) -> int:
    match message:
        case AllGather(mine):
            return (devices - 1) * mine.numel() * mine.element_size()
        case Swap(parts):
            return sum(part.numel() for part in parts.values())
    raise AssertionError(f"unexpected {message}")


def question(devices: int, **options: Any) -> Sharding:
    """The perceptron, with parameters alone for states."""
    operators = tuple(Operator(f"layer {place}", SHAPE[0] * SHAPE[1], 1) for place in range(LAYERS))
    numbers = {
        "memory_bytes": 10**4,
        "batches": (1,),
        "state_bytes": BYTES,
        "value_bytes": BYTES,
        "slice_counts": (1, 2),
    }
    return Sharding(operators=operators, device_count=devices, **{"link": Link(0, 1), **numbers, **options})


def way(kept: Kept, devices: int, link: Link) -> Way:
    """The planner's numbers: with a link of one second a byte, seconds are bytes, and of one a message, messages."""
    kind = osdp.SHARDED if kept.is_sharded else osdp.REPLICATED
    found = osdp.ways(question(devices, link=link), SHAPE[0] * SHAPE[1])
    return next(own for own in found if (own.kind, own.slices) == (kind, kept.slices))


def require_model(books: Books, plan: Sequence[Kept], devices: int) -> None:
    ways = [way(kept, devices, Link(0, 1)) for kept in plan]
    assert [books.bytes[place] for place in range(LAYERS)] == [STEPS * own.seconds for own in ways]
    messages = [way(kept, devices, Link(1, 0)).seconds for kept in plan]
    assert [books.messages[place] for place in range(LAYERS)] == [STEPS * count for count in messages]
    assert books.buffer_bytes == max(own.buffer_bytes for own in ways)
    assert books.state_bytes == sum(own.state_bytes for own in ways)


PLANS = (
    (REPLICATED,) * LAYERS,
    (SHARDED,) * LAYERS,
    (SLICED,) * LAYERS,
    (REPLICATED, SHARDED, SLICED, REPLICATED),
    (SLICED, REPLICATED, REPLICATED, SHARDED),
)


@pytest.mark.parametrize("devices", [2, 3, 4])
def test_every_plan_trains_the_same_bits_on_real_devices(devices: int) -> None:
    expected = dense(devices)
    for rank_found in run_workers(partial(real, PLANS), devices):
        for plan, (layers, books, given) in zip(PLANS, rank_found, strict=True):
            assert all(torch.equal(mine, wanted) for mine, wanted in zip(layers, expected, strict=True))
            require_model(books, plan, devices)
            # Sharded layers are gathered once more in the end, to be looked at.
            last = sum((devices - 1) * SHAPE[0] * SHAPE[1] // devices * BYTES for kept in plan if kept.is_sharded)
            assert given == sum(books.bytes.values()) + last


@pytest.mark.parametrize("devices", [1, 2, 3, 4])
def test_the_simulation_trains_them_too(devices: int) -> None:
    expected = dense(devices)
    for plan in product((REPLICATED, SHARDED, SLICED), repeat=LAYERS):
        layers, books = simulated(devices, plan)
        assert all(torch.equal(mine, wanted) for mine, wanted in zip(layers, expected, strict=True))
        for own in books:
            require_model(own, plan, devices)


def test_training_changes_every_layer_in_every_device_count() -> None:
    for devices in (2, 3, 4):
        before, after = made(devices)[0], dense(devices)
        assert not any(torch.equal(*pair) for pair in zip(before, after, strict=True))


@pytest.mark.parametrize(("memory", "replicated"), [(1500, 0), (1750, 1), (2200, 2), (2500, 4)])
def test_a_plan_of_the_planner_passes_on_what_it_says(memory: int, replicated: int) -> None:
    devices = 3
    asked = question(devices, memory_bytes=memory)
    found = osdp.plan(asked)
    operators = found.choice["operators"]
    assert isinstance(operators, dict)
    plan = [Kept(own["kept"] == osdp.SHARDED, own["slices"]) for own in operators.values()]
    assert sum(not kept.is_sharded for kept in plan) == replicated
    _, books = simulated(devices, plan)
    for own in books:
        assert sum(own.bytes.values()) == pytest.approx(STEPS * found.objective * devices, rel=1e-12)
        assert own.state_bytes + own.buffer_bytes + LAYERS == found.choice["memory_bytes"]


def test_layers_that_cannot_be_shared_out_are_refused() -> None:
    layers, batches = made(2)
    for kept, devices in ((Kept(True, 3), 2), (SLICED, 5)):
        talk = train(Device(0, devices, on_eighths), layers, [kept] * LAYERS, batches[0], Books())
        with pytest.raises(ValueError, match="8 rows of 9 values cannot be"):
            next(talk)


def test_what_is_no_perceptron_on_no_devices_is_refused() -> None:
    layers, batches = made(2)
    with pytest.raises(ValueError, match="slices must be at least 1, got 0"):
        Kept(True, 0)
    with pytest.raises(ValueError, match="rank must be at least 0 and below 2, the number of devices, got 2"):
        Device(2, 2, on_eighths)
    for some in ([], layers[:1]):
        talk = train(Device(0, 2, on_eighths), some, [SHARDED] * LAYERS, batches[0], Books())
        with pytest.raises(
            ValueError, match=f"a perceptron needs layers, and each a plan, got {len(some)} and {LAYERS}"
        ):
            next(talk)
