"""Which operators of a model are replicated, which are sharded, in how many slices, and how large is a device's batch?

An operator of P parameters on n devices that share out by rings, with values of v bytes and c bytes of states a
parameter (it, its gradient, the optimiser's), q = ⌈P/n⌉:

- replicated: every device keeps cP bytes. The gradient is summed in a reduce-scatter and an all-gather, 2 passes of
  n − 1 messages of qv bytes. With a density ρ < 1 there is also Top-k with error feedback: one all-gather of
  k = ρP pairs of a value and an index, and 4P bytes of residual.
- sharded: every device keeps cq bytes, and the parameters are gathered before the forward and before the backward pass
  and the gradients reduce-scattered: 3 passes. In g slices, of which one is there at a time, a pass has g messages for
  one, and the buffer of the slice and of its gradient is 2nv⌈q/g⌉ bytes instead of 2nvq. What is gathered are
  parameters, which cannot be sparse.

A device holds the states, a batch's activations, and the *largest* buffer; a message of s bytes takes α + sβ, and
nothing overlaps. The objective is seconds per sample of all n batches, and `parts` add up to it.

For each size of the largest buffer the slices of every operator are settled, and what is left is a multiple-choice
knapsack; sizes and batches are tried in the order of a bound, until no other can be better.

Source: the setting is that of Jiang, Fu, Miao, Nie, Cui 2023 (OSDP), which was not read; the model and the search are
ours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.knapsack import ROUNDING, Items, Relaxation, cheapest
from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.kernels.selection import target_count

RESIDUAL_BYTES = 4
"""Of error feedback, for each parameter."""
REPLICATED, SPARSE, SHARDED = "replicated", "sparse", "sharded"


@dataclass(frozen=True)
class Operator:
    """A part of a model that is replicated or sharded as a whole.

    Args:
        name: its own.
        parameter_count: P, at least 1.
        activation_bytes: what a sample leaves for the backward pass.
        compute_seconds: of a sample, forward and backward.
    """

    name: str
    parameter_count: int
    activation_bytes: int = 0
    compute_seconds: float = 0.0


@dataclass(frozen=True)
class Sharding:
    """What is asked.

    Args:
        operators: of the model, with different names.
        device_count: n.
        memory_bytes: what a device has.
        link: α and β between any two devices.
        batches: samples of a device that may be chosen; () is all that fit.
        slice_counts: the g that may be chosen; those above q are left out.
        density: ρ in (0, 1].
        state_bytes: c; the default is that of Adam in mixed precision.
        value_bytes: v, of a parameter or gradient that travels.
        index_bytes: of the place of a value.

    Raises:
        ValueError: a name that is there twice, or a number out of its range.
    """

    operators: tuple[Operator, ...]
    device_count: int
    memory_bytes: int
    link: Link
    batches: tuple[int, ...] = ()
    slice_counts: tuple[int, ...] = (1, 2, 4, 8)
    density: float = 1.0
    state_bytes: int = 16
    value_bytes: int = 2
    index_bytes: int = 4

    def __post_init__(self) -> None:
        for name in ("device_count", "memory_bytes", "state_bytes", "value_bytes", "index_bytes"):
            require_count(name, getattr(self, name), least=1)
        for name in ("batches", "slice_counts"):
            for value in getattr(self, name):
                require_count(name, value, least=1)
        if not 0 < self.density <= 1:
            raise ValueError(f"density must lie in (0, 1], got {self.density}")
        if not self.operators or 1 not in self.slice_counts:
            raise ValueError(f"there must be an operator, and one slice, got {self.operators} and {self.slice_counts}")
        names = [operator.name for operator in self.operators]
        if len({*names}) < len(names):
            raise ValueError(f"operators must have different names, got {names}")
        for operator in self.operators:
            require_count(f"parameter_count of {operator.name}", operator.parameter_count, least=1)
            require_count(f"activation_bytes of {operator.name}", operator.activation_bytes, least=0)
            if not 0 <= operator.compute_seconds < math.inf:
                raise ValueError(
                    f"compute_seconds of {operator.name} must be at least 0, got {operator.compute_seconds}"
                )
        if not self.batches and not self.activation_bytes:
            raise ValueError("batches must be given where samples need no memory: any number would fit")

    @property
    def activation_bytes(self) -> int:
        """Of a sample."""
        return sum(operator.activation_bytes for operator in self.operators)

    @property
    def compute_seconds(self) -> float:
        """Of a sample."""
        return math.fsum(operator.compute_seconds for operator in self.operators)


class Way(NamedTuple):
    """One way to keep an operator.

    Args:
        kind: `REPLICATED`, `SPARSE` or `SHARDED`.
        slices: g; 1 where it is not sharded.
        state_bytes: on a device, with residuals.
        seconds: of communication in a step.
        buffer_bytes: while it is gathered.
    """

    kind: str
    slices: int
    state_bytes: int
    seconds: float
    buffer_bytes: int = 0


class Keeping(NamedTuple):
    """A batch, and by number of parameters how many operators are kept in which way."""

    batch: int
    seconds: float
    memory_bytes: int
    ways: dict[int, dict[Way, int]]


def ways(question: Sharding, parameter_count: int) -> tuple[Way, ...]:
    """Every way to keep an operator of so many parameters, by the model at the head of this file."""
    others, link = question.device_count - 1, question.link
    part = -(-parameter_count // question.device_count)
    part_seconds = part * question.value_bytes * link.seconds_per_byte
    states = question.state_bytes * parameter_count
    found = [Way(REPLICATED, 1, states, 2 * others * (link.latency_seconds + part_seconds))]
    if question.density < 1:
        pairs = target_count(question.density, parameter_count) * (question.value_bytes + question.index_bytes)
        seconds = others * (link.latency_seconds + pairs * link.seconds_per_byte)
        found.append(Way(SPARSE, 1, states + RESIDUAL_BYTES * parameter_count, seconds))
    for slices in sorted({*question.slice_counts}):
        if slices <= part:
            seconds = 3 * others * (slices * link.latency_seconds + part_seconds)
            buffer = 2 * question.device_count * question.value_bytes * -(-part // slices)
            found.append(Way(SHARDED, slices, question.state_bytes * part, seconds, buffer))
    return tuple(found)


def plan(question: Sharding) -> Plan:
    """The fewest seconds per sample.

    Raises:
        InfeasibleError: not even everything sharded, in the most slices, and the smallest batch fit.
    """
    knapsacks = [*_knapsacks(question)]
    least = min(knapsack.least_bytes for knapsack in knapsacks)
    smallest = min(question.batches, default=1)
    need = least + smallest * question.activation_bytes
    if need > question.memory_bytes:
        raise InfeasibleError(
            f"memory: the limit is {question.memory_bytes} bytes of a device, and the least need is {need}, "
            f"with batches of {smallest}"
        )
    best = _quickest(question, knapsacks)
    lighter = _lightest_better(question, knapsacks, best)
    return Plan(
        planner="osdp",
        choice={"batch": best.batch, "operators": _by_operator(question, best), "memory_bytes": best.memory_bytes},
        objective=best.seconds,
        parts=_parts(question, best),
        binding=() if lighter is None else ("memory_bytes",),
        remarks=tuple(_remarks(question, best, lighter)),
    )


class _Knapsack(NamedTuple):
    """What is left to choose where no buffer is larger than one size.

    Args:
        buffer_bytes: that size.
        sizes: numbers of parameters, each of them once.
        ways: that may be chosen, by size.
        items: the same, with bytes for weights and seconds for costs.
        least_bytes: the least states, and the buffer.
    """

    buffer_bytes: int
    sizes: tuple[int, ...]
    ways: tuple[tuple[Way, ...], ...]
    items: tuple[Items, ...]
    least_bytes: int


def _knapsacks(question: Sharding) -> Iterator[_Knapsack]:
    counts = Counter(operator.parameter_count for operator in question.operators)
    all_ways = {size: ways(question, size) for size in counts}
    for buffer in sorted({way.buffer_bytes for found in all_ways.values() for way in found}):
        allowed = [_allowed(found, buffer) for found in all_ways.values()]
        items = tuple(
            Items(count, tuple(way.state_bytes for way in found), tuple(way.seconds for way in found))
            for count, found in zip(counts.values(), allowed, strict=True)
        )
        least = buffer + sum(group.count * int(min(group.weights)) for group in items)
        yield _Knapsack(buffer, tuple(counts), tuple(allowed), items, least)


def _allowed(found: Iterable[Way], buffer: int) -> tuple[Way, ...]:
    """Ways within a buffer; of slices the fewest, as more of them cost latency and no other memory is saved."""
    fitting = [way for way in found if way.buffer_bytes <= buffer]
    sharded = [way for way in fitting if way.kind == SHARDED]
    return (*(way for way in fitting if way.kind != SHARDED), *sharded[:1])


def _batches(question: Sharding, memory_bytes: int, least: int) -> tuple[int, ...]:
    """Those that may fit."""
    if not question.batches:
        return tuple(range(1, (memory_bytes - least) // question.activation_bytes + 1))
    fitting = (batch for batch in question.batches if least + batch * question.activation_bytes <= memory_bytes)
    return tuple(sorted({*fitting}))


def _quickest(question: Sharding, knapsacks: Sequence[_Knapsack]) -> Keeping:
    """The fewest seconds per sample within the memory, in the order of what relaxations promise."""
    pairs = list[tuple[float, int, _Knapsack]]()
    for knapsack in knapsacks:
        fitting = _batches(question, question.memory_bytes, knapsack.least_bytes)
        rooms = np.asarray([_room(question, knapsack, batch) for batch in fitting])
        seconds = Relaxation(knapsack.items).curve()(rooms)
        pairs += [
            (_rate(question, value, batch), batch, knapsack) for value, batch in zip(seconds, fitting, strict=True)
        ]
    best: Keeping | None = None
    for bound, batch, knapsack in sorted(pairs, key=lambda pair: pair[:2]):
        if best is not None and bound > best.seconds * (1 + ROUNDING):
            break
        found = cheapest(knapsack.items, _room(question, knapsack, batch))
        if found is not None:
            kept = _keeping(question, knapsack, batch, found.counts)
            best = (
                kept if best is None else min(best, kept, key=lambda keeping: (keeping.seconds, keeping.memory_bytes))
            )
    assert best is not None, "the least need fits"
    return best


def _lightest_better(question: Sharding, knapsacks: Sequence[_Knapsack], best: Keeping) -> Keeping | None:
    """The least memory in which some choice is better than the best so far, and the best choice there."""
    wanted = best.seconds * (1 - 1e3 * ROUNDING)
    pairs = list[tuple[float, int, _Knapsack, float]]()
    for knapsack in knapsacks:
        turned = Relaxation([_turned(group) for group in knapsack.items]).curve()
        # Where every batch may be chosen, one more sample in the same way is better, if anything is sent at all.
        enough = best.memory_bytes + question.activation_bytes
        for batch in question.batches or _batches(question, enough, knapsack.least_bytes):
            target = wanted * batch * question.device_count - batch * question.compute_seconds
            if target >= turned.weight and best.seconds > 0:
                bound = turned(np.asarray([target]))[0] + _fixed_bytes(question, knapsack, batch)
                pairs.append((bound, batch, knapsack, target))
    lightest: int | None = None
    for bound, batch, knapsack, target in sorted(pairs, key=lambda pair: pair[:2]):
        if lightest is not None and bound > lightest * (1 + ROUNDING):
            break
        found = cheapest([_turned(group) for group in knapsack.items], target)
        if found is not None:
            memory = int(found.cost) + _fixed_bytes(question, knapsack, batch)
            lightest = memory if lightest is None else min(lightest, memory)
    return None if lightest is None else _quickest(replace(question, memory_bytes=lightest), knapsacks)


def _turned(items: Items) -> Items:
    return Items(items.count, items.costs, items.weights)


def _fixed_bytes(question: Sharding, knapsack: _Knapsack, batch: int) -> int:
    return knapsack.buffer_bytes + batch * question.activation_bytes


def _room(question: Sharding, knapsack: _Knapsack, batch: int) -> int:
    """Bytes for states."""
    return question.memory_bytes - _fixed_bytes(question, knapsack, batch)


def _rate(question: Sharding, seconds: float, batch: int) -> float:
    """Seconds per sample, of a step's communication."""
    return (seconds + batch * question.compute_seconds) / (batch * question.device_count)


def _keeping(question: Sharding, knapsack: _Knapsack, batch: int, counts: Sequence[Sequence[int]]) -> Keeping:
    chosen = {
        size: {way: count for way, count in zip(found, taken, strict=True) if count}
        for size, found, taken in zip(knapsack.sizes, knapsack.ways, counts, strict=True)
    }
    taken = [(way, count) for by_way in chosen.values() for way, count in by_way.items()]
    states = sum(count * way.state_bytes for way, count in taken)
    buffer = max(way.buffer_bytes for way, _ in taken)
    seconds = math.fsum(count * way.seconds for way, count in taken)
    memory = states + buffer + batch * question.activation_bytes
    return Keeping(batch, _rate(question, seconds, batch), memory, chosen)


def _by_operator(question: Sharding, best: Keeping) -> dict[str, dict[str, object]]:
    """Of operators with the same size the first ones are kept in the first way."""
    left = {size: [way for way, count in chosen.items() for _ in range(count)] for size, chosen in best.ways.items()}
    found = {operator.name: left[operator.parameter_count].pop(0) for operator in question.operators}
    return {name: {"kept": way.kind, "slices": way.slices} for name, way in found.items()}


def _parts(question: Sharding, best: Keeping) -> dict[str, float]:
    """Seconds per sample of computing, and of each way to keep."""
    samples = best.batch * question.device_count
    taken = [(way, count) for chosen in best.ways.values() for way, count in chosen.items()]
    parts = {
        kind: math.fsum(count * way.seconds for way, count in taken if way.kind == kind) / samples
        for kind in (REPLICATED, SPARSE, SHARDED)
    }
    return {"compute": question.compute_seconds / question.device_count, **parts}


def _remarks(question: Sharding, best: Keeping, lighter: Keeping | None) -> Iterator[str]:
    replicated = sum(
        size * count for size, chosen in best.ways.items() for way, count in chosen.items() if way.kind != SHARDED
    )
    total = sum(operator.parameter_count for operator in question.operators)
    yield (
        f"{replicated} of {total} parameters are replicated; a batch of {best.batch} a device needs "
        f"{best.memory_bytes} bytes"
    )
    if lighter is None:
        yield "no amount of memory would make a sample quicker"
    else:
        yield (
            f"{lighter.memory_bytes - question.memory_bytes} bytes more a device would do a sample in "
            f"{lighter.seconds:.6g} s instead of {best.seconds:.6g} s, with batches of {lighter.batch}"
        )
