"""How long is a step of data-parallel training, sent in one way or another? Buckets on the planner's timeline.

The parts are those of `experiments/plan.py`: operators of a network in buckets, a processor that computes, selects and
codes, and a link that sends a bucket while the next is computed. An exchange takes what the statements of the
collectives say; each worker holds all of the network, whatever memory that takes. Of PowerSGD a worker sends what the
two factors of each matrix have, evenly over the buckets, and its arithmetic is left out. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners.parts.collective_seconds import IN_NODES, Question, count_at, seconds_of
from sparsync.experiments.sizing.buckets import bucketed, named_operators
from sparsync.experiments.sizing.measured_times import CodecTimes, MeasuredTimes
from sparsync.experiments.sizing.networks import NETWORKS
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.timeline import Timeline, Work, timeline
from sparsync.experiments.training.low_rank import sent_count

VALUE_BYTES, INDEX_BYTES = 2, 4
"""Of a value that travels, selected or not, and of a selected value's position."""
_RINGS = ("ring_all_reduce", "doubling_all_reduce", "tree_all_reduce")
_GATHERS = ("ring_all_gather", "doubling_all_gather")


@dataclass(frozen=True)
class Way:
    """A way of sending gradients.

    Args:
        collectives: of which the quickest is taken.
        contender: whose seconds of selecting it takes, by its name among the kernels; empty where all is sent.
        is_coded: messages go through the codec.
        rank: of PowerSGD; 0 of all others.
    """

    collectives: tuple[str, ...]
    contender: str = ""
    is_coded: bool = False
    rank: int = 0

    @property
    def is_sparse(self) -> bool:
        """Whether entries are selected."""
        return self.contender != ""


WAYS: dict[str, Way] = {
    "dense_ring": Way(("ring_all_reduce",)),
    "dense": Way(_RINGS),
    "dense_nodes": Way(("hierarchical_all_reduce",)),
    "powersgd": Way(_RINGS, rank=4),
    "gather": Way(_GATHERS, "top_k, warm"),
    "owners": Way(("balanced_all_reduce",), "top_k, warm"),
    "global_top_k": Way(("global_top_k",), "top_k, warm"),
    "gather_nodes": Way(("hierarchical_gather",), "top_k, warm"),
    "chunks_coded": Way(_GATHERS, "chunked_top_k", is_coded=True),
    "gather_gaussian": Way(_GATHERS, "gaussian_k, warm"),
    "gather_torch": Way(_GATHERS, "torch.topk, unsorted"),
    "gather_released": Way(_GATHERS, "released, PyTorch"),
}
"""By name; the last three send as `gather` does and select otherwise."""


@dataclass(frozen=True)
class Machine:
    """What was measured of the devices, and what is taken of their network.

    Args:
        hardware: on which selecting was timed.
        selection: seconds of selecting, by contender.
        codec: seconds of coding messages.
        entry_bytes: of an entry of a coded message, by density.
        merge_seconds_per_byte: of adding what arrives.
        latency_seconds: of a message between any two workers.
        node_size: workers of a node, where a way needs nodes.
        inner_link: of two workers of a node.
    """

    hardware: str
    selection: tuple[tuple[str, MeasuredTimes], ...]
    codec: CodecTimes
    entry_bytes: tuple[tuple[float, float], ...]
    merge_seconds_per_byte: float
    latency_seconds: float
    node_size: int
    inner_link: Link


@dataclass(frozen=True)
class Place:
    """Where a way is tried.

    Args:
        workers: whole nodes.
        bits_per_second: of a worker's link, in each direction.
        density: of what is selected.
        operations_per_second: that a device sustains.
        slowness: a factor on the seconds of selecting.
    """

    workers: int
    bits_per_second: float
    density: float
    operations_per_second: float
    slowness: float = 1.0


@dataclass(frozen=True)
class Trainee:
    """A network, and how many examples a device has in a step.

    Args:
        network: key of `NETWORKS`.
        batch: examples.
    """

    network: str
    batch: int

    @property
    def parameter_count(self) -> int:
        """d."""
        return sum(one.parameter_count for one in _operators(self.network))

    def operations(self) -> float:
        """Of a device in a step: the backward pass has two products for each of the forward pass."""
        return 3 * self.batch * sum(one.forward_flops for one in _operators(self.network))

    def buckets(self, bucket_bytes: int) -> tuple[Operator, ...]:
        """In the order of the forward pass, of so many bytes at most; one operator may have more."""
        return _buckets(self.network, min(bucket_bytes // VALUE_BYTES, self.parameter_count))


def step_of(trainee: Trainee, way: Way, machine: Machine, place: Place, bucket_bytes: int) -> Timeline:
    """One step, on the timeline of its buckets.

    Raises:
        ValueError: nodes that the workers do not fill, or a density out of range.
    """
    works = []
    for bucket in trainee.buckets(bucket_bytes):
        forward = trainee.batch * bucket.forward_flops / place.operations_per_second
        works.append(
            Work(
                bucket.name,
                forward_seconds=forward,
                backward_seconds=2 * forward,
                select_seconds=selecting_seconds(way, machine, place, bucket.parameter_count),
                exchange_seconds=exchange_seconds(way, machine, place, _sent(way, trainee.network, bucket)),
            )
        )
    return timeline(works)


def quickest_step(
    trainee: Trainee, way: Way, machine: Machine, place: Place, bucket_sizes: Sequence[int]
) -> tuple[int, Timeline]:
    """The best of some sizes of buckets, and its step."""
    steps = ((size, step_of(trainee, way, machine, place, size)) for size in bucket_sizes)
    return min(steps, key=lambda found: found[1].step_seconds)


def selecting_seconds(way: Way, machine: Machine, place: Place, length: int) -> float:
    """Of selecting from so many entries, making the message, and reading those of the others."""
    if not way.is_sparse:
        return 0.0
    seconds = place.slowness * dict(machine.selection)[way.contender].seconds(length)
    if way.is_coded:
        seconds += machine.codec.seconds(count_at(place.density, length), place.workers - 1)
    return seconds


def exchange_seconds(way: Way, machine: Machine, place: Place, length: int) -> float:
    """Of the quickest of its collectives, for so many entries."""
    count = count_at(place.density if way.is_sparse else 1.0, length)
    if way.is_coded:
        # Seconds of a gather hang on bytes alone.
        count = max(1, round(count * dict(machine.entry_bytes)[place.density] / (VALUE_BYTES + INDEX_BYTES)))
    return _exchange_seconds(way.collectives, machine, place.workers, place.bits_per_second, length, count)


@cache
def _exchange_seconds(
    collectives: tuple[str, ...], machine: Machine, workers: int, bits_per_second: float, length: int, count: int
) -> float:
    nodes: dict[str, Any] = {}
    if set(collectives) <= set(IN_NODES):
        nodes = {"node_size": machine.node_size, "inner_link": machine.inner_link}
    question = Question(
        workers,
        length,
        1.0,
        Link(machine.latency_seconds, 8 / bits_per_second),
        machine.merge_seconds_per_byte,
        value_bytes=VALUE_BYTES,
        index_bytes=INDEX_BYTES,
        **nodes,
    )
    return min(float(seconds_of(question, name, workers, count)) for name in collectives)


def _sent(way: Way, network: str, bucket: Operator) -> int:
    """Numbers of a bucket that take part in the exchange."""
    if not way.rank:
        return bucket.parameter_count
    return max(1, round(low_rank_share(network, way.rank) * bucket.parameter_count))


@cache
def low_rank_share(network: str, rank: int) -> float:
    """Of a network's numbers that a worker sends as PowerSGD of a rank."""
    shapes = [tuple(parameter.shape) for parameter in NETWORKS[network]()[0].parameters()]
    return sent_count(shapes, rank) / sum(one.parameter_count for one in _operators(network))


@cache
def _operators(network: str) -> tuple[Operator, ...]:
    return tuple(named_operators(network))


@cache
def _buckets(network: str, parameter_count: int) -> tuple[Operator, ...]:
    return tuple(bucketed(_operators(network), parameter_count))
