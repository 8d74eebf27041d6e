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
knapsack. Ranges of sizes are halved in the order of what their relaxations promise, until nothing can be better.

Source: the setting is that of Jiang, Fu, Miao, Nie, Cui 2023 (OSDP), which was not read; the model and the search are
ours.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.parts.knapsack import ROUNDING, Items, Relaxation, cheapest
from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.kernels.selection import target_count

RESIDUAL_BYTES = 4
"""Of error feedback, for each parameter."""
MOST_BATCHES = 10_000
"""That are tried where they are not given."""
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
        if not self.batches and self.memory_bytes > MOST_BATCHES * self.activation_bytes:
            raise ValueError(
                f"batches must be given where over {MOST_BATCHES} samples could fit, "
                f"of {self.activation_bytes} bytes each in {self.memory_bytes}"
            )

    @cached_property
    def activation_bytes(self) -> int:
        """Of a sample."""
        return sum(operator.activation_bytes for operator in self.operators)

    @cached_property
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
    menu = _Menu(question)
    smallest = min(question.batches, default=1)
    need = menu.least_bytes + smallest * question.activation_bytes
    if need > question.memory_bytes:
        raise InfeasibleError(
            f"memory: the limit is {question.memory_bytes} bytes of a device, and the least need is {need}, "
            f"with batches of {smallest}"
        )
    best = _quickest(menu, question.memory_bytes)
    lighter = _lightest_better(menu, best)
    return Plan(
        planner="osdp",
        choice={"batch": best.batch, "operators": _by_operator(question, best), "memory_bytes": best.memory_bytes},
        objective=best.seconds,
        parts=_parts(question, best),
        binding=() if lighter is None else ("memory_bytes",),
        remarks=tuple(_remarks(question, best, lighter)),
    )


class _Menu:
    """The ways to keep operators by number of parameters, and the sizes that the largest buffer may have, ascending."""

    def __init__(self, question: Sharding) -> None:
        """Operators of one size are drawn together."""
        self.question = question
        self.counts = Counter(operator.parameter_count for operator in question.operators)
        self._ways = [ways(question, size) for size in self.counts]
        self.buffers = sorted({way.buffer_bytes for found in self._ways for way in found})
        self.least_bytes = min(
            buffer + sum(group.count * int(min(group.weights)) for group in self.items(place))
            for place, buffer in enumerate(self.buffers)
        )

    def ways(self, place: int) -> list[tuple[Way, ...]]:
        """By size, those within a buffer; of slices the fewest, as more of them cost latency and save nothing else."""
        return [_allowed(found, self.buffers[place]) for found in self._ways]

    def items(self, place: int) -> list[Items]:
        """The same, with bytes for weights and seconds for costs."""
        return [
            Items(count, tuple(way.state_bytes for way in found), tuple(way.seconds for way in found))
            for count, found in zip(self.counts.values(), self.ways(place), strict=True)
        ]

    def turned(self, place: int) -> list[Items]:
        """The same, with seconds for weights and bytes for costs."""
        return [Items(group.count, group.costs, group.weights) for group in self.items(place)]

    def fixed_bytes(self, place: int, batch: Any) -> Any:
        """Of a batch, or of an array of them, and a largest buffer."""
        return self.buffers[place] + batch * self.question.activation_bytes

    def batches(self, memory_bytes: int) -> tuple[int, ...]:
        """Those that may fit into so much memory."""
        question, room = self.question, memory_bytes - self.least_bytes
        fitting = question.batches or range(1, room // question.activation_bytes + 1)
        return tuple(sorted({batch for batch in fitting if batch * question.activation_bytes <= room}))


Answer = TypeVar("Answer")
Bounds = Callable[[int, int], Sequence[float]]
"""By case, what no answer of it is below whose place is from the first to the last of two."""
Solve = Callable[[int, int], "tuple[float, Answer] | None"]
"""The best answer at a place and in a case, with its value."""


def _least(place_count: int, bounds: Bounds, solve: Solve[Answer]) -> Answer | None:
    """The answer of least value at any place and in any case: ranges of places are halved, the most promising first."""

    def opened(first: int, last: int) -> tuple[float, int, int, int]:
        return min(bounds(first, last), default=math.inf), first, last, -1

    waiting = [opened(0, place_count - 1)]
    best: tuple[float, Answer] | None = None
    while waiting:
        bound, first, last, case = heapq.heappop(waiting)
        if bound == math.inf or (best is not None and bound > best[0] * (1 + ROUNDING)):
            break
        if case >= 0:
            found = solve(first, case)
            best = min((answer for answer in (best, found) if answer is not None), key=itemgetter(0), default=None)
        elif first == last:
            for own, value in enumerate(bounds(first, last)):
                heapq.heappush(waiting, (value, first, last, own))
        else:
            middle = (first + last) // 2
            heapq.heappush(waiting, opened(first, middle))
            heapq.heappush(waiting, opened(middle + 1, last))
    return None if best is None else best[1]


def _quickest(menu: _Menu, memory_bytes: int) -> Keeping:
    """The fewest seconds per sample within the memory, which is enough for something."""
    question, batches = menu.question, menu.batches(memory_bytes)
    sizes = np.asarray(batches)

    def bounds(first: int, last: int) -> list[float]:
        curve, rooms = Relaxation(menu.items(last)).curve(), memory_bytes - menu.fixed_bytes(first, sizes)
        rates: list[float] = np.where(rooms < curve.weight, np.inf, _rate(question, curve(rooms), sizes)).tolist()
        return rates

    def solve(place: int, case: int) -> tuple[float, Keeping] | None:
        found = cheapest(menu.items(place), memory_bytes - menu.fixed_bytes(place, batches[case]))
        kept = None if found is None else _keeping(menu, place, batches[case], found.counts)
        return None if kept is None else (kept.seconds, kept)

    best = _least(len(menu.buffers), bounds, solve)
    assert best is not None, "the least need fits"
    return best


def _lightest_better(menu: _Menu, best: Keeping) -> Keeping | None:
    """The least memory in which some choice is better than the best so far, and the best choice there."""
    question = menu.question
    # Where every batch may be chosen, one more sample in the same way is better, if anything is sent at all.
    batches = question.batches or menu.batches(best.memory_bytes + question.activation_bytes)
    sizes = np.asarray(batches)
    wanted = best.seconds * (1 - 1e3 * ROUNDING)
    targets = (wanted * question.device_count - question.compute_seconds) * sizes

    def bounds(first: int, last: int) -> list[float]:
        curve = Relaxation(menu.turned(last)).curve()
        bytes_ = curve(targets) + menu.fixed_bytes(first, sizes)
        least: list[float] = np.where((targets < curve.weight) | (best.seconds == 0), np.inf, bytes_).tolist()
        return least

    def solve(place: int, case: int) -> tuple[float, int] | None:
        found = cheapest(menu.turned(place), float(targets[case]))
        memory = None if found is None else int(found.cost) + menu.fixed_bytes(place, batches[case])
        return None if memory is None else (memory, memory)

    lightest = _least(len(menu.buffers), bounds, solve)
    return None if lightest is None else _quickest(menu, lightest)


def _allowed(found: Iterable[Way], buffer: int) -> tuple[Way, ...]:
    fitting = [way for way in found if way.buffer_bytes <= buffer]
    sharded = [way for way in fitting if way.kind == SHARDED]
    return (*(way for way in fitting if way.kind != SHARDED), *sharded[:1])


def _rate(question: Sharding, seconds: Any, batch: Any) -> Any:
    """Seconds per sample, of a step's communication; of arrays, one by one."""
    return (seconds + batch * question.compute_seconds) / (batch * question.device_count)


def _keeping(menu: _Menu, place: int, batch: int, counts: Sequence[Sequence[int]]) -> Keeping:
    chosen = {
        size: {way: count for way, count in zip(found, taken, strict=True) if count}
        for size, found, taken in zip(menu.counts, menu.ways(place), counts, strict=True)
    }
    taken = [(way, count) for by_way in chosen.values() for way, count in by_way.items()]
    states = sum(count * way.state_bytes for way, count in taken)
    buffer = max(way.buffer_bytes for way, _ in taken)
    seconds = math.fsum(count * way.seconds for way, count in taken)
    memory = states + buffer + batch * menu.question.activation_bytes
    return Keeping(batch, float(_rate(menu.question, seconds, batch)), memory, chosen)


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
