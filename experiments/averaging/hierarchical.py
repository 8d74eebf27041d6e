"""Entries are added inside each node, and only the nodes' sums, sparse as they are, travel between nodes.

Neighbours in rank share a node, and its first is the leader. Members send their entries to the leader, who adds them in
rank order; leaders exchange the sums, add them in node order, and tell their members the result. Between nodes travels
one union of supports a node, instead of all payloads. Selection comes before, in each worker, so created = sent + kept
at every worker as ever. Additions are those of "sparse", bracketed by nodes: the mean differs by roundings only.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sparsync.experiments.averaging.messages import Average, Conversation, Place, Procedure, Swap
from sparsync.experiments.averaging.payloads import (
    Entries,
    agreed_counts,
    entry_bytes,
    mean_in_rank_order,
    mean_of_sums,
    numbers_in,
    numbers_message,
    packed,
    sum_in_order,
    unpacked,
)
from sparsync.kernels.payload import SparsePayload

_NUMBER_BYTES = 8
_HEADER_BYTES = 16
"""Of a payload, and the size of a node, on which all have to agree."""


@dataclass(frozen=True)
class _Node:
    """The ranks of a worker's node, the first of which leads it, and those of all leaders."""

    members: range
    leaders: range

    @property
    def leader(self) -> int:
        return self.members[0]


@dataclass(frozen=True)
class _Sum:
    """What all nodes' sums add up to, and how many entries these have together."""

    entries: Entries
    node_entry_count: int


def hierarchical(place: Place) -> Procedure:
    """Workers of a node meet their leader, and leaders each other."""
    first = place.rank // place.node_size * place.node_size
    members = range(first, min(first + place.node_size, place.size))
    node = _Node(members, range(0, place.size, place.node_size))

    def average(payload: SparsePayload) -> Conversation[Average]:
        counts = yield from agreed_counts(payload, place.node_size)
        if not any(counts):
            return _average(mean_in_rank_order([payload]), place, node, inside=0, between=0)
        own = yield from _node_sum(payload, counts, place, node)
        summed = yield from _sum_of_nodes(own, payload, place, node)
        total = yield from _told(summed, payload, node)
        size, leader_count = entry_bytes(payload), len(node.leaders)
        collected_count = sum(count for rank, count in enumerate(counts) if rank not in node.leaders)
        told_bytes = 2 * _NUMBER_BYTES + len(total.entries.indices) * size
        return _average(
            mean_of_sums([total.entries], payload, place.size),
            place,
            node,
            inside=collected_count * size + (place.size - leader_count) * told_bytes,
            between=(leader_count - 1) * (leader_count * _NUMBER_BYTES + total.node_entry_count * size),
        )

    return average


def _average(mean: Tensor, place: Place, node: _Node, *, inside: int, between: int) -> Average:
    """With the bytes of the headers, which are gathered by all, and so leave a node if there is another."""
    headers = _HEADER_BYTES * place.size
    return Average(mean, headers + inside + between, between + headers * (len(node.leaders) > 1))


def _node_sum(payload: SparsePayload, counts: list[int], place: Place, node: _Node) -> Conversation[Entries | None]:
    """The sum over the node, in rank order; None at those who are not its leader."""
    own, device = Entries(payload.values, payload.indices), payload.values.device
    if place.rank != node.leader:
        yield Swap({node.leader: packed(own)}, {}, device)
        return None
    received = yield Swap({}, {rank: counts[rank] * entry_bytes(payload) for rank in node.members[1:]}, device)
    return sum_in_order([own, *(unpacked(message, payload.values.dtype) for message in received)])


def _sum_of_nodes(own: Entries | None, payload: SparsePayload, place: Place, node: _Node) -> Conversation[_Sum | None]:
    """The sum over all nodes, in their order; leaders exchange, the others are silent as often."""
    device = payload.values.device
    if own is None:
        yield Swap({}, {}, device)
        yield Swap({}, {}, device)
        return None
    others = [leader for leader in node.leaders if leader != place.rank]
    number = numbers_message([len(own.indices)], device)
    counted = yield Swap(dict.fromkeys(others, number), dict.fromkeys(others, _NUMBER_BYTES), device)
    counts = [numbers_in(count)[0] for count in counted]
    expected = {rank: count * entry_bytes(payload) for rank, count in zip(others, counts, strict=True)}
    received = yield Swap(dict.fromkeys(others, packed(own)), expected, device)
    sums = [unpacked(message, payload.values.dtype) for message in received]
    sums.insert(node.leaders.index(place.rank), own)
    return _Sum(sum_in_order(sums), len(own.indices) + sum(counts))


def _told(summed: _Sum | None, payload: SparsePayload, node: _Node) -> Conversation[_Sum]:
    """The sum over all nodes at every worker: leaders say how many entries it has, of how many, and tell them."""
    device = payload.values.device
    if summed is not None:
        told = node.members[1:]
        numbers = [len(summed.entries.indices), summed.node_entry_count]
        yield Swap(dict.fromkeys(told, numbers_message(numbers, device)), {}, device)
        yield Swap(dict.fromkeys(told, packed(summed.entries)), {}, device)
        return summed
    (said,) = yield Swap({}, {node.leader: 2 * _NUMBER_BYTES}, device)
    count, node_entry_count = numbers_in(said)
    (message,) = yield Swap({}, {node.leader: count * entry_bytes(payload)}, device)
    return _Sum(unpacked(message, payload.values.dtype), node_entry_count)
