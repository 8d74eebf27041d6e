"""How long does everything take? Step durations by worker and step, links, and who comes and goes.

Durations are functions of (worker, step) and the seed alone, never of a generator shared between workers, so that two
policies meet the same luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from sparsync.experiments.engine.counts import require_count

CHUNK = 256
"""Durations drawn at a time."""
TICKS_PER_SECOND = 8_000_000_000
"""Of a simulated clock, see `on_clock`."""


class Durations(Protocol):
    """Seconds of a worker's steps, usual batch."""

    def __call__(self, worker: int, step: int) -> float:
        """Seconds of step number `step` (from 0), positive."""
        ...


@dataclass(frozen=True)
class Constant:
    """Every step of a worker takes equally long.

    Args:
        seconds: by worker; read cyclically.
    """

    seconds: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        _require_positive("seconds", self.seconds)

    def __call__(self, worker: int, step: int) -> float:
        """See `Durations`."""
        del step
        return self.seconds[worker % len(self.seconds)]


Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Independent draws of a positive law, times a factor by worker.

    Args:
        draw: (generator, count) to that many draws.
        factors: by worker; read cyclically.
        seed: names the draws.
    """

    draw: Draw
    factors: tuple[float, ...] = (1.0,)
    seed: int = 0
    _chunks: dict[tuple[int, int], list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_positive("factors", self.factors)

    def __call__(self, worker: int, step: int) -> float:
        """See `Durations`."""
        number, place = divmod(step, CHUNK)
        chunk = self._chunks.get((worker, number))
        if chunk is None:
            generator = np.random.default_rng([self.seed, worker, number])
            chunk = (self.factors[worker % len(self.factors)] * self.draw(generator, CHUNK)).tolist()
            self._chunks[worker, number] = chunk
            self._chunks.pop((worker, number - 2), None)
        return chunk[place]


def exponential(mean: float = 1.0) -> Draw:
    """Exponential durations."""
    _require_positive("mean", (mean,))
    return lambda generator, count: generator.exponential(mean, count)


def pareto(shape: float = 2.5, least: float = 0.6) -> Draw:
    """Pareto durations: P(longer than t) = (least/t)^shape; of mean least·shape/(shape − 1)."""
    _require_positive("least", (least,))
    if not 1 < shape < math.inf:
        raise ValueError(f"shape must exceed 1, so that there is a mean, got {shape}")
    return lambda generator, count: least * (1 + generator.pareto(shape, count))


@dataclass(frozen=True, eq=False)
class Slowdowns:
    """Another law, slowed down in episodes that groups of workers share.

    Args:
        usual: durations otherwise.
        factor: how much longer a step takes during an episode.
        period: steps of a period; in each, a group is slow throughout or not at all.
        share: probability that a period is slow.
        group_size: neighbours that are slow together.
        seed: names the draws.
    """

    usual: Durations
    factor: float = 5.0
    period: int = 20
    share: float = 0.2
    group_size: int = 2
    seed: int = 0
    _slow: dict[tuple[int, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_positive("factor", (self.factor,))
        if not 0 <= self.share <= 1:
            raise ValueError(f"share must lie in [0, 1], got {self.share}")
        require_count("period", self.period, least=1)
        require_count("group_size", self.group_size, least=1)

    def __call__(self, worker: int, step: int) -> float:
        """See `Durations`."""
        episode = (worker // self.group_size, step // self.period)
        if episode not in self._slow:
            self._slow[episode] = bool(np.random.default_rng([self.seed, 7, *episode]).random() < self.share)
        return self.usual(worker, step) * (self.factor if self._slow[episode] else 1.0)


@dataclass(frozen=True)
class Recorded:
    """Durations that were measured.

    Args:
        seconds: by worker, then by step; both read cyclically.
        first_count: steps at the beginning that do not come again: a network is not loaded twice. A worker that has
            recorded no more steps repeats its last one.
    """

    seconds: tuple[tuple[float, ...], ...]
    first_count: int = 0

    def __post_init__(self) -> None:
        if not self.seconds:
            raise ValueError("there are no recorded seconds")
        require_count("first_count", self.first_count, least=0)
        for row in self.seconds:
            _require_positive("seconds", row)

    def __call__(self, worker: int, step: int) -> float:
        """See `Durations`."""
        row = self.seconds[worker % len(self.seconds)]
        if step < len(row):
            return row[step]
        begin = min(self.first_count, len(row) - 1)
        return row[begin + (step - begin) % (len(row) - begin)]


@dataclass(frozen=True)
class BatchCost:
    """How a step's time depends on its batch x: φ + (1 − φ) max(x, s) times that of a usual one, whose batch is 1.

    Args:
        fixed_share: φ in [0, 1), the share of a usual step that passes whatever the batch is.
        flat_until: s in [0, 1], up to which batches cost the same, as on a GPU that is not full.

    Source: ours; that times are flat and then straight is as described to us of Chen, Weng, Wang, Li, Li 2020.
    """

    fixed_share: float = 0.0
    flat_until: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.fixed_share < 1:
            raise ValueError(f"fixed_share must lie in [0, 1), got {self.fixed_share}")
        if not 0 <= self.flat_until <= 1:
            raise ValueError(f"flat_until must lie in [0, 1], got {self.flat_until}")

    def __call__(self, batch: float) -> float:
        """The time of a step on so many usual batches, over that of a usual one."""
        return self.fixed_share + (1 - self.fixed_share) * max(batch, self.flat_until)


PROPORTIONAL = BatchCost()
"""A batch takes as many times longer as it is larger."""


@dataclass(frozen=True)
class Link:
    """What lies between a worker and those who hold the shared model, in one direction.

    Args:
        latency_seconds: of each transfer, in addition.
        bytes_per_second: of the line.
        message_seconds: that a transfer occupies the line besides its bytes: headers, or the server's own work.
        is_shared: one line for all workers, first come, first served; else one for each.
        own_rates: bytes per second of each worker's own end; a transfer takes the longer of the two. None: no limit.
    """

    latency_seconds: float = 0.0
    bytes_per_second: float = math.inf
    message_seconds: float = 0.0
    is_shared: bool = False
    own_rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("latency_seconds", "message_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")
        if not self.bytes_per_second > 0:
            raise ValueError(f"bytes_per_second must be positive, got {self.bytes_per_second}")
        if not all(rate > 0 for rate in self.own_rates):
            raise ValueError(f"own_rates must be positive, got {self.own_rates}")

    def occupied_seconds(self, sent_bytes: int) -> float:
        """How long a transfer keeps the line busy."""
        return self.message_seconds + sent_bytes / self.bytes_per_second


@dataclass(frozen=True)
class Change:
    """A worker joins, leaves (between steps) or crashes (at once).

    Raises:
        ValueError: another kind, or a time that is negative or infinite.
    """

    time: float
    worker: int
    kind: Literal["join", "leave", "crash"]

    def __post_init__(self) -> None:
        if self.kind not in ("join", "leave", "crash"):
            raise ValueError(f"a worker can join, leave or crash, got {self.kind!r}")
        if not 0 <= self.time < math.inf:
            raise ValueError(f"the time of a change must be at least 0 and finite, got {self.time}")


@dataclass(frozen=True)
class Cluster:
    """Workers, their speeds, their links and their comings and goings.

    Args:
        worker_count: n.
        durations: of steps on usual batches.
        batch_costs: what other batches cost, by worker; read cyclically.
        upload: to the shared model; also between peers, where models are mixed.
        download: from it.
        changes: in order of time; of each worker coming and going by turns.
        absent: workers that are not there at the beginning.
        order_seconds: from the order to begin a step until it begins, where no shared model travels with it.
        rack_size: workers of a rack, from worker 0 on; None: all stand in one.
        between: out of each rack, for models that are mixed with those of another rack; besides `upload`.

    Raises:
        ValueError: nobody is there; there is no cost of batches; an order takes less than no time, or for ever; an
            unknown worker is named; changes come out of order, or let one join that is there or go that is gone; a
            rack holds nobody.
    """

    worker_count: int
    durations: Durations = field(default_factory=Constant)
    batch_costs: tuple[BatchCost, ...] = (PROPORTIONAL,)
    upload: Link = field(default_factory=Link)
    download: Link = field(default_factory=Link)
    changes: tuple[Change, ...] = ()
    absent: frozenset[int] = frozenset()
    order_seconds: float = 0.0
    rack_size: int | None = None
    between: Link = field(default_factory=Link)

    def __post_init__(self) -> None:
        if self.rack_size is not None:
            require_count("rack_size", self.rack_size, least=1)
        require_count("worker_count", self.worker_count, least=1)
        if not self.batch_costs:
            raise ValueError(f"batch_costs must name one cost at least, got {self.batch_costs}")
        if not 0 <= self.order_seconds < math.inf:
            raise ValueError(f"order_seconds must be at least 0 and finite, got {self.order_seconds}")
        if len(self.absent) >= self.worker_count:
            raise ValueError(f"no worker is there: {self.worker_count} workers, {len(self.absent)} of them absent")
        named = {*self.absent, *(change.worker for change in self.changes)}
        strangers = sorted(worker for worker in named if not 0 <= worker < self.worker_count)
        if strangers:
            raise ValueError(f"there are workers 0 to {self.worker_count - 1}, got {strangers}")
        for before, after in pairwise(self.changes):
            if before.time > after.time:
                raise ValueError(f"changes must come in order of time, got {before} before {after}")
        gone = set(self.absent)
        for change in self.changes:
            if (change.worker in gone) != (change.kind == "join"):
                raise ValueError(f"worker {change.worker} is {'gone' if change.worker in gone else 'there'}: {change}")
            gone ^= {change.worker}

    @property
    def rack_count(self) -> int:
        """How many racks hold the workers."""
        return self._rack(self.worker_count - 1) + 1

    def _rack(self, worker: int) -> int:
        return 0 if self.rack_size is None else worker // self.rack_size

    def racks_left(self, members: Sequence[int]) -> list[int]:
        """The racks out of which a ring of members, in this order, leads: each as often as it does."""
        racks = [self._rack(member) for member in members]
        return [rack for rack, following in zip(racks, [*racks[1:], racks[0]], strict=True) if rack != following]

    def step_seconds(self, worker: int, step: int, batch: float) -> float:
        """Seconds of step number `step` (from 0) of a worker, on `batch` usual batches."""
        return self.durations(worker, step) * self.batch_costs[worker % len(self.batch_costs)](batch)


def _require_positive(name: str, values: Sequence[float]) -> None:
    if not values or not all(0 < value < math.inf for value in values):
        raise ValueError(f"{name} must be positive and finite, got {tuple(values)}")


def on_clock(seconds: float) -> float:
    """The nearest time that the clock shows: times that decimal or binary fractions sum up to are equal if they are.

    The clock ticks 8·10⁹ times a second, so that it shows 0.1 s and 2⁻¹² s exactly; sums of floats do not.
    """
    return round(seconds * TICKS_PER_SECOND) / TICKS_PER_SECOND if seconds < math.inf else seconds


def ring_share(members: Sequence[int], sent_bytes: int) -> int:
    """Bytes that each of m members of a ring sends: 2 (m − 1)/m of what one of them publishes; all: `sent_bytes`."""
    return round(2 * (len(members) - 1) * sent_bytes / len(members) ** 2)


class Line:
    """The state of a link: when it is free again.

    Raises:
        ValueError: own ends of another number of workers.
    """

    def __init__(self, link: Link, worker_count: int) -> None:
        if len(link.own_rates) not in (0, worker_count):
            raise ValueError(f"a link with {len(link.own_rates)} own rates cannot serve {worker_count} workers")
        self._link = link
        self._free = [0.0] * (1 if link.is_shared else worker_count)
        self._own_free = [0.0] * len(link.own_rates)

    def arrival(self, worker: int, now: float, sent_bytes: int) -> float:
        """When a transfer that is ordered now ends; it waits for those ordered before it."""
        place = 0 if self._link.is_shared else worker
        end = on_clock(max(now, self._free[place]) + self._link.occupied_seconds(sent_bytes))
        self._free[place] = end
        if self._own_free:
            own_end = on_clock(max(now, self._own_free[worker]) + sent_bytes / self._link.own_rates[worker])
            self._own_free[worker] = own_end
            end = max(end, own_end)
        return end + self._link.latency_seconds

    def ring_end(self, members: Sequence[int], now: float, sent_bytes: int) -> float:
        """When members have passed round in a ring what they publish, `sent_bytes` together."""
        share = ring_share(members, sent_bytes)
        return max(self.arrival(member, now, share) for member in members)
