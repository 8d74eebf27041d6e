"""Which messages make up a collective? Each is a schedule: rounds of messages made from what workers have by then.

Payloads are copied when a round begins, so that all messages of a round are sent at once. Rings and trees are textbook
algorithms; Bruck et al. 1997 is where the all-gather by doubling for any number of workers comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from sparsync.verify.cost.simulated.schedules import Block, Message, Payload, Schedule, Store, sums

Stores = Sequence[Store]
Parts = Sequence[Sequence[Block]]
"""The blocks of each part of the coordinates."""


def ring_all_reduce(stores: Stores, ring: Sequence[int], parts: Parts) -> Schedule:
    """Parts are added round a ring of workers, and shared round it."""
    yield from ring_reduce_scatter(stores, ring, parts)
    yield from ring_share(stores, ring, parts)


def ring_reduce_scatter(stores: Stores, ring: Sequence[int], parts: Parts) -> Schedule:
    """Worker i of the ring ends with part i of all, added."""
    size = len(ring)
    for turn in range(size - 1):
        sent = [parts[(place - 1 - turn) % size] for place in range(size)]
        yield [
            Message(ring[place], ring[(place + 1) % size], (cut(stores[ring[place]], sent[place]),), is_added=True)
            for place in range(size)
        ]


def ring_share(stores: Stores, ring: Sequence[int], parts: Parts) -> Schedule:
    """Worker i of the ring has part i, and all end with all parts."""
    size = len(ring)
    for turn in range(size - 1):
        sent = [parts[(place - turn) % size] for place in range(size)]
        yield [
            Message(ring[place], ring[(place + 1) % size], (cut(stores[ring[place]], sent[place]),), is_added=False)
            for place in range(size)
        ]


def doubling_all_reduce(stores: Stores, parts: Parts) -> Schedule:
    """The rounds of an all-gather by doubling backwards, in which parts are added, and then forwards."""
    size = len(stores)
    rounds = list(doublings(size))
    for step, count in reversed(rounds):
        yield [
            Message(place, (place + step) % size, (_run(stores[place], parts, place + step, count),), is_added=True)
            for place in range(size)
        ]
    for step, count in rounds:
        yield [
            Message(place, (place - step) % size, (_run(stores[place], parts, place, count),), is_added=False)
            for place in range(size)
        ]


def doublings(size: int) -> Iterator[tuple[int, int]]:
    """Of each round of an all-gather by doubling: how far a worker sends, and how many of the parts that it has."""
    step = 1
    while step < size:
        yield step, min(step, size - step)
        step *= 2


def tree_all_reduce(stores: Stores) -> Schedule:
    """All that workers have is added up a binomial tree, and the sum is told down again."""
    size = len(stores)
    steps = [step for step, _ in doublings(size)]
    for step in steps:
        yield [
            Message(place, place - step, (dict(stores[place]),), is_added=True) for place in range(step, size, 2 * step)
        ]
    yield from tree_broadcast(stores)


def tree_broadcast(stores: Stores) -> Schedule:
    """What worker 0 has, at all."""
    size = len(stores)
    for step, _ in reversed(list(doublings(size))):
        yield [
            Message(place, place + step, (dict(stores[place]),), is_added=False)
            for place in range(0, size - step, 2 * step)
        ]


def ring_all_gather(stores: Stores, ring: Sequence[int]) -> Schedule:
    """Every payload goes round the ring, and is added wherever it comes."""
    size = len(ring)
    passing: list[Payload] = [dict(stores[worker]) for worker in ring]
    for _ in range(size - 1):
        yield [
            Message(ring[place], ring[(place + 1) % size], (passing[place],), is_added=True) for place in range(size)
        ]
        passing = passing[-1:] + passing[:-1]


def doubling_all_gather(stores: Stores) -> Schedule:
    """Worker i gathers the payloads of workers i, i + 1, … , twice as many in each round, and adds them."""
    size = len(stores)
    gathered: list[list[Payload]] = [[dict(store)] for store in stores]
    for step, count in doublings(size):
        sent = [tuple(payloads[:count]) for payloads in gathered]
        yield [Message(place, (place - step) % size, sent[place], is_added=True) for place in range(size)]
        for place in range(size):
            gathered[place].extend(sent[(place + step) % size])


def recursive_doubling_all_gather(stores: Stores) -> Schedule:
    """Of 2^D workers those whose numbers differ in one bit exchange all that they have, bit by bit.

    Raises:
        ValueError: there are not 2^D.
    """
    size = len(stores)
    if size & (size - 1):
        raise ValueError(f"recursive doubling needs 2^D workers, got {size}")
    gathered: list[list[Payload]] = [[dict(store)] for store in stores]
    for step, _ in doublings(size):
        sent = [tuple(payloads) for payloads in gathered]
        yield [Message(place, place ^ step, sent[place], is_added=True) for place in range(size)]
        for place in range(size):
            gathered[place].extend(sent[place ^ step])


def global_top_k(stores: Stores, kept_count: int, dropped: list[Payload]) -> Schedule:
    """Pairs merge up a tree and keep their largest sums, which are told down again; of equal ones the first are kept.

    Args:
        stores: of all workers.
        kept_count: blocks that a merge keeps.
        dropped: grows by what each merge does not keep.
    """
    size = len(stores)
    for step, _ in doublings(size):
        yield [
            Message(place, place - step, (dict(stores[place]),), is_added=True) for place in range(step, size, 2 * step)
        ]
        for place in range(0, size - step, 2 * step):
            dropped.append(_keep_largest(stores[place], kept_count))
    for store in stores[1:]:
        # They have been told up, and are not part of the result.
        store.clear()
    yield from tree_broadcast(stores)


def balanced_all_reduce(stores: Stores, regions: Parts) -> Schedule:
    """Entries go to the owners of their regions, who add them; the sums are shared on a ring."""
    size = len(stores)
    for step in range(1, size):
        yield [
            Message(
                place,
                (place + step) % size,
                (cut(stores[place], regions[(place + step) % size]),),
                is_added=True,
            )
            for place in range(size)
        ]
    yield from ring_share(stores, range(size), regions)


def hierarchical_all_reduce(stores: Stores, node_size: int, parts: Parts) -> Schedule:
    """Rings inside nodes add, rings between workers of equal place add and share, rings inside nodes share.

    Args:
        stores: of all workers, node by node.
        node_size: workers of a node.
        parts: as many as workers; of each share of a node's worker, one for each node.
    """
    nodes = list(_nodes(stores, node_size))
    shares = [
        [block for part in parts[place * len(nodes) : (place + 1) * len(nodes)] for block in part]
        for place in range(node_size)
    ]
    yield from together(ring_reduce_scatter(stores, node, shares) for node in nodes)
    yield from together(
        ring_all_reduce(stores, [node[place] for node in nodes], parts[place * len(nodes) : (place + 1) * len(nodes)])
        for place in range(node_size)
    )
    yield from together(ring_share(stores, node, shares) for node in nodes)


def hierarchical_gather(stores: Stores, node_size: int) -> Schedule:
    """Members tell their leader, leaders pass their nodes' sums round a ring, and tell their members the total."""
    nodes = list(_nodes(stores, node_size))
    for place in range(1, node_size):
        yield [Message(node[place], node[0], (dict(stores[node[place]]),), is_added=True) for node in nodes]
    yield from ring_all_gather(stores, [node[0] for node in nodes])
    for place in range(1, node_size):
        yield [Message(node[0], node[place], (dict(stores[node[0]]),), is_added=False) for node in nodes]


def together(schedules: Iterable[Schedule]) -> Schedule:
    """Schedules of different workers, round by round at the same time."""
    for rounds in zip_longest(*schedules, fillvalue=()):
        yield [message for messages in rounds for message in messages]


def cut(store: Payload, blocks: Sequence[Block]) -> Store:
    """What a store has of some blocks."""
    return {block: store[block] for block in blocks if block in store}


def _run(store: Payload, parts: Parts, first: int, count: int) -> Payload:
    """So many parts one after the other, round the end."""
    return sums(cut(store, parts[place % len(parts)]) for place in range(first, first + count))


def _nodes(stores: Stores, node_size: int) -> Iterator[range]:
    for first in range(0, len(stores), node_size):
        yield range(first, first + node_size)


def _keep_largest(store: Store, count: int) -> Payload:
    """Leave so many blocks of the largest magnitudes; what is taken out."""
    ranked = sorted(store, key=lambda block: (-abs(store[block]), block))
    return {block: store.pop(block) for block in ranked[count:]}
