"""Entries are added inside each node, and only the nodes' sums, sparse as they are, travel between nodes.

Neighbours in rank share a node, and its first is the leader. Members send their entries to the leader, who adds them in
rank order; leaders exchange the sums, add them in node order, and tell their members the result. Between nodes travels
one union of supports a node, instead of all payloads. Selection comes before, in each worker, so created = sent + kept
at every worker as ever. Additions are those of "sparse", bracketed by nodes: the mean differs by roundings only.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sparsync.experiments.averaging.envelope import Body, Exchange, Received
from sparsync.experiments.averaging.messages import Average, Conversation, Place, Swap
from sparsync.experiments.averaging.payloads import (
    Entries,
    entry_bytes,
    mean_in_rank_order,
    mean_of_sums,
    numbers_in,
    numbers_message,
    packed,
    sum_in_order,
)
from sparsync.kernels.payload import SparsePayload

_NUMBER_BYTES = 8


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


def hierarchical(place: Place) -> Body:
    """Workers of a node meet their leader, and leaders each other."""
    first = place.rank // place.node_size * place.node_size
    members = range(first, min(first + place.node_size, place.size))
    node = _Node(members, range(0, place.size, place.node_size))

    def average(payload: SparsePayload, exchange: Exchange) -> Conversation[Average]:
        counts = exchange.counts
        if not any(counts):
            yield from exchange.close()
            return _average(mean_in_rank_order([payload]), inside=0, between=0)
        own = yield from _node_sum(payload, exchange, place, node)
        summed = yield from _sum_of_nodes(own, payload, exchange, node)
        total = yield from _told(summed, payload, exchange, node)
        yield from exchange.close()
        size, leader_count = entry_bytes(payload), len(node.leaders)
        collected_count = sum(count for rank, count in enumerate(counts) if rank not in node.leaders)
        told_bytes = 3 * _NUMBER_BYTES + len(total.entries.indices) * size
        return _average(
            mean_of_sums([total.entries], payload, place.size),
            inside=collected_count * size + (place.size - leader_count) * told_bytes,
            between=(leader_count - 1) * (2 * leader_count * _NUMBER_BYTES + total.node_entry_count * size),
        )

    return average


def _average(mean: Tensor, *, inside: int, between: int) -> Average:
    return Average(mean, inside + between, between)


def _node_sum(payload: SparsePayload, exchange: Exchange, place: Place, node: _Node) -> Conversation[Entries | None]:
    """The sum over the node, in rank order; None at those who are not its leader."""
    own, device = Entries(payload.values, payload.indices), payload.values.device
    if place.rank != node.leader:
        yield Swap({node.leader: packed(own)}, {}, device)
        return None
    size, members = entry_bytes(payload), node.members[1:]
    messages = yield Swap({}, {rank: exchange.counts[rank] * size for rank in members}, device)
    received = [
        Received(rank, message, exchange.counts[rank], exchange.checksums[rank])
        for rank, message in zip(members, messages, strict=True)
    ]
    return sum_in_order([own, *exchange.verified(received, payload.values.dtype)])


def _sum_of_nodes(
    own: Entries | None, payload: SparsePayload, exchange: Exchange, node: _Node
) -> Conversation[_Sum | None]:
    """The sum over all nodes, in their order; leaders exchange, the others are silent as often."""
    device = payload.values.device
    if own is None:
        yield Swap({}, {}, device)
        yield Swap({}, {}, device)
        return None
    others, dtype = [leader for leader in node.leaders if leader != node.leader], payload.values.dtype
    message = packed(own)
    numbers = numbers_message([len(own.indices), exchange.checksum_of(message, dtype)], device)
    answers = yield Swap(dict.fromkeys(others, numbers), dict.fromkeys(others, 2 * _NUMBER_BYTES), device)
    said = [numbers_in(answer) for answer in answers]
    counts = [exchange.require_count(count, rank) for rank, (count, _) in zip(others, said, strict=True)]
    expected = {rank: count * entry_bytes(payload) for rank, count in zip(others, counts, strict=True)}
    arrived = yield Swap(dict.fromkeys(others, message), expected, device)
    received = [
        Received(rank, theirs, count, checksum)
        for rank, theirs, (count, checksum) in zip(others, arrived, said, strict=True)
    ]
    sums = exchange.verified(received, dtype)
    sums.insert(node.leaders.index(node.leader), own)
    return _Sum(sum_in_order(sums), len(own.indices) + sum(counts))


def _told(summed: _Sum | None, payload: SparsePayload, exchange: Exchange, node: _Node) -> Conversation[_Sum]:
    """The sum over all nodes at every worker: leaders say how many entries it has, of how many, and tell them."""
    device, dtype = payload.values.device, payload.values.dtype
    if summed is not None:
        told, message = node.members[1:], packed(summed.entries)
        numbers = [len(summed.entries.indices), summed.node_entry_count, exchange.checksum_of(message, dtype)]
        yield Swap(dict.fromkeys(told, numbers_message(numbers, device)), {}, device)
        yield Swap(dict.fromkeys(told, message), {}, device)
        return summed
    (said,) = yield Swap({}, {node.leader: 3 * _NUMBER_BYTES}, device)
    count, node_entry_count, checksum = numbers_in(said)
    exchange.require_count(count, node.leader)
    (message,) = yield Swap({}, {node.leader: count * entry_bytes(payload)}, device)
    (entries,) = exchange.verified([Received(node.leader, message, count, checksum)], dtype)
    return _Sum(entries, node_entry_count)
