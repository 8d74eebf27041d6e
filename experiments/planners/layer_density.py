"""How many entries of each layer may be sent so that their exchange hides under the backward pass?

The backward pass makes gradients one layer after the other; each is sent as a message of its own (a layer stands for a
bucket of several too), k_l entries of it. A message begins when it is ready and the one before has arrived, and takes
latency + bytes/bandwidth. The step ends with the last arrival, which the budget limits; the layers capture as much
energy as they can in that time. The objective is the share of the energy that is left out.

At least one entry of each is sent. That the last arrives in time is a capacity for each suffix of the messages, and
raising counts one by one where the next square is largest is exact (`nested_greedy`): here by groups of entries whose
squares are taken to be equal, so exact for what the groups say. Layers between exhausted capacities have one threshold
of magnitude (`threshold_prices`). Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

import numpy
from numpy.typing import NDArray

from sparsync.experiments.planners.parts.captured import captured_share
from sparsync.experiments.planners.plan import InfeasibleError, Plan

GROUPS_PER_OCTAVE = 8
"""Groups of squares while the rank doubles."""


@dataclass(frozen=True)
class Layer:
    """What is sent as one message.

    Args:
        backward_seconds: of the backward pass, since the layer before was ready.
        counts: entries by group, from the largest squares to the smallest.
        squares: mean square of an entry by group; must not increase.
        selection_seconds: of selection and codec, on the same device before the message is ready.

    Raises:
        ValueError: a field out of range, named with its value.
    """

    backward_seconds: float
    counts: tuple[int, ...]
    squares: tuple[float, ...]
    selection_seconds: float = 0.0

    def __post_init__(self) -> None:
        _require_seconds("backward_seconds", self.backward_seconds)
        _require_seconds("selection_seconds", self.selection_seconds)
        if not self.counts or min(self.counts) < 1 or len(self.counts) != len(self.squares):
            raise ValueError(f"counts must be at least 1, one by square, got {self.counts} for {self.squares}")
        falls = all(after <= before for before, after in zip(self.squares, self.squares[1:], strict=False))
        if not (falls and self.squares[-1] >= 0 and math.isfinite(self.squares[0])):
            raise ValueError(f"squares must be at least 0 and must not increase, got {self.squares}")

    @property
    def size(self) -> int:
        """Its entries."""
        return sum(self.counts)

    def energy(self, count: int) -> Fraction:
        """Of so many entries, the largest first."""
        total, left = Fraction(0), count
        for entries, square in zip(self.counts, self.squares, strict=True):
            taken = min(entries, left)
            total, left = total + taken * Fraction(square), left - taken
            if not left:
                break
        return total


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        layers: in the order in which the backward pass reaches them.
        latency_seconds: of a message: all rounds of its collective, and what else does not depend on its bytes.
        byte_seconds: seconds per byte on the link.
        entry_bytes: that pass the link for each entry that a worker selects: 8(n − 1) in an all-gather of n workers.
        message_bytes: that each message has besides: headers.
        budget_seconds: by which the last message has arrived, from the start of the backward pass. None allows the
            backward pass, selections, and one more message of one entry, which nothing hides: what is asked then is
            that all others hide. With a shorter message that budget is shorter too.

    Raises:
        ValueError: a field out of range, named with its value.
    """

    layers: tuple[Layer, ...]
    latency_seconds: float
    byte_seconds: float
    entry_bytes: int = 8
    message_bytes: int = 0
    budget_seconds: float | None = None

    def __post_init__(self) -> None:
        if not any(layer.squares[0] > 0 for layer in self.layers):
            raise ValueError(f"there must be a layer with energy, got {len(self.layers)} layers without")
        _require_seconds("latency_seconds", self.latency_seconds)
        if not (0 < self.byte_seconds < math.inf and self.entry_bytes >= 1 and self.message_bytes >= 0):
            raise ValueError(
                f"byte_seconds must be positive, entry_bytes at least 1 and message_bytes at least 0, got "
                f"{self.byte_seconds}, {self.entry_bytes} and {self.message_bytes}"
            )
        if self.budget_seconds is not None:
            _require_seconds("budget_seconds", self.budget_seconds)

    @property
    def entry_seconds(self) -> Fraction:
        """Of one entry on the link."""
        return Fraction(self.byte_seconds) * self.entry_bytes

    @property
    def message_seconds(self) -> Fraction:
        """Of a message without entries."""
        return Fraction(self.latency_seconds) + Fraction(self.byte_seconds) * self.message_bytes

    @property
    def ready_seconds(self) -> list[Fraction]:
        """When each message is ready."""
        own = (Fraction(layer.backward_seconds) + Fraction(layer.selection_seconds) for layer in self.layers)
        return list(accumulate(own))

    @property
    def budget(self) -> Fraction:
        """By which the last message has arrived."""
        if self.budget_seconds is not None:
            return Fraction(self.budget_seconds)
        return self.ready_seconds[-1] + self.message_seconds + self.entry_seconds


def plan(question: Question) -> Plan:
    """The counts that leave out the least energy; exact for the groups of squares, in O(groups · layers).

    Parts: the step is backward + selection + exposed, of which exposed is what the last arrival adds; the link is busy
    for so long, hidden or not. Messages are numbered from 0.

    Raises:
        InfeasibleError: one entry of each layer takes longer than the budget.
    """
    rooms = _rooms(question, question.budget)
    counts, levels = _raised(question.layers, rooms)
    end = arrival(question, counts)
    left_out = share_left_out(question.layers, counts)
    compute = question.ready_seconds[-1]
    selection = sum((Fraction(layer.selection_seconds) for layer in question.layers), Fraction(0))
    link = len(counts) * question.message_seconds + sum(counts) * question.entry_seconds
    return Plan(
        planner="layer_density",
        choice={
            "counts": counts,
            "densities": [count / layer.size for count, layer in zip(counts, question.layers, strict=True)],
            "threshold_magnitudes": [math.sqrt(level) for level in levels],
        },
        objective=left_out,
        parts={
            "backward": float(compute - selection),
            "selection": float(selection),
            "exposed": float(end - compute),
            "link": float(link),
        },
        binding=tuple(
            f"messages {first} to {len(levels) - 1} have room for {rooms[first] + len(levels) - first} entries"
            for first, level in enumerate(levels)
            if level > (levels[first - 1] if first else 0.0)
        ),
        remarks=_remarks(question, left_out),
    )


def arrival(question: Question, counts: Sequence[int]) -> Fraction:
    """When the last message has arrived, from the start of the backward pass."""
    end = Fraction(0)
    for ready, count in zip(question.ready_seconds, counts, strict=True):
        end = max(end, ready) + question.message_seconds + count * question.entry_seconds
    return end


def share_left_out(layers: Sequence[Layer], counts: Sequence[int]) -> float:
    """Of the energy of all layers, correctly rounded."""
    total = sum((layer.energy(layer.size) for layer in layers), Fraction(0))
    captured = sum((layer.energy(count) for layer, count in zip(layers, counts, strict=True)), Fraction(0))
    return float((total - captured) / total)


def grouped(
    squares: NDArray[numpy.float64], per_octave: int = GROUPS_PER_OCTAVE
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Counts and mean squares of groups of ranks, each of which reaches 2^(1/per_octave) times as far as the last.

    What is captured of whole groups is exact, and in between more than the groups say.

    Args:
        squares: of all entries of a layer, in any order.
        per_octave: groups while the rank doubles.
    """
    ends = _ends(len(squares), per_octave)
    starts = numpy.concatenate(([0], ends[:-1]))
    # Sums of doubles: a mean may exceed the one before by a rounding.
    means = numpy.add.reduceat(numpy.sort(squares)[::-1], starts) / (ends - starts)
    return _as_groups(ends - starts, means)


def grouped_law(
    label: str, size: int, energy: float, per_octave: int = GROUPS_PER_OCTAVE
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The same of a layer of which only a law of its entries is known, and its energy.

    Args:
        label: of the statement that gives the law's ratio, one of `CAPTURES`.
        size: entries of the layer.
        energy: sum of their squares.
        per_octave: groups while the rank doubles.
    """
    ends = _ends(size, per_octave)
    captured = numpy.concatenate(([0.0], captured_share(label)(ends / size)))
    entries = numpy.diff(numpy.concatenate(([0], ends)))
    return _as_groups(entries, energy * numpy.diff(captured) / entries)


def _ends(size: int, per_octave: int) -> NDArray[numpy.int64]:
    if size < 1 or per_octave < 1:
        raise ValueError(f"size and per_octave must be at least 1, got {size} and {per_octave}")
    places = numpy.arange(per_octave * size.bit_length() + 1)
    ends = numpy.minimum(numpy.ceil(2.0 ** (places / per_octave)), size)
    return numpy.unique(ends).astype(numpy.int64)


def _as_groups(
    entries: NDArray[numpy.int64], means: NDArray[numpy.float64]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    falling = numpy.minimum.accumulate(numpy.maximum(means, 0.0))
    return tuple(int(count) for count in entries), tuple(float(mean) for mean in falling)


def _rooms(question: Question, budget: Fraction) -> list[int]:
    """By message, entries for which it and those behind it have room besides one each."""
    least = question.message_seconds + question.entry_seconds
    messages = range(len(question.layers), 0, -1)
    spare = [budget - ready - behind * least for ready, behind in zip(question.ready_seconds, messages, strict=True)]
    if min(spare) < 0:
        raise InfeasibleError(
            f"budget_seconds allows {float(budget):.6g}, and one entry each needs {float(budget - min(spare)):.6g}"
        )
    return [int(seconds // question.entry_seconds) for seconds in spare]


def _raised(layers: Sequence[Layer], rooms: Sequence[int]) -> tuple[list[int], list[float]]:
    """Counts raised group by group, the largest squares first, and the square at which each layer's room ended.

    That square is 0 where all entries with energy are sent.
    """
    groups = [
        (square, layer, count - (place == 0))
        for layer, own in enumerate(layers)
        for place, (count, square) in enumerate(zip(own.counts, own.squares, strict=True))
    ]
    groups.sort(key=lambda group: -group[0])
    counts, levels = [1] * len(layers), [0.0] * len(layers)
    left = numpy.array(rooms, dtype=numpy.int64)
    # From this message on there is no room: whoever is behind shares its capacity.
    closed = len(layers)
    for square, layer, count in [(groups[0][0], 0, 0), *groups]:
        if layer < closed and square > 0:
            taken = min(count, int(left[: layer + 1].min()))
            counts[layer] += taken
            left[: layer + 1] -= taken
            first = int(numpy.argmin(left[:closed] > 0)) if not left[:closed].all() else closed
            levels[first:closed] = [square] * (closed - first)
            closed = first
    return counts, levels


def _remarks(question: Question, left_out: float) -> tuple[str, ...]:
    """What one density for all, and a link of twice the bandwidth, would leave out."""
    layers = question.layers
    lower, middle, upper = 0.0, 1.0, 1.0
    for _ in range(50):
        fits = arrival(question, _at_density(layers, middle)) <= question.budget
        lower, upper = (middle, upper) if fits else (lower, middle)
        middle = (lower + upper) / 2
    common = share_left_out(layers, _at_density(layers, lower))
    faster = replace(question, byte_seconds=question.byte_seconds / 2)
    doubled = share_left_out(layers, _raised(layers, _rooms(faster, question.budget))[0])
    return (
        f"one density for all layers, {lower:.4g}, would leave out {common:.4g} instead of {left_out:.4g}",
        f"a link of twice the bandwidth would leave out {doubled:.4g} in the same time",
    )


def _at_density(layers: Sequence[Layer], density: float) -> list[int]:
    return [max(1, math.floor(density * layer.size)) for layer in layers]


def _require_seconds(name: str, seconds: float) -> None:
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{name} must be at least 0, got {seconds}")
