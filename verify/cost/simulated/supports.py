"""Which coordinates do workers select, so that each has k, a node u and all of them U? Arcs of circles.

The U selected coordinates are a circle. Nodes have arcs of u of it, that begin at equal distances; workers have arcs of
k of their node's u, likewise, which then counts as a circle too. Sizes need not be whole. Ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from sparsync.verify.cost.simulated.schedules import Block, Store

Arc = tuple[Fraction, Fraction]
"""Start, and end that lies behind it."""


def overlapping(worker_count: int, count: Fraction, union: Fraction) -> list[list[Block]]:
    """Blocks of so many coordinates for each worker, and of the union's coordinates for all workers together.

    Args:
        worker_count: at least 1.
        count: coordinates of each worker.
        union: coordinates of all.

    Raises:
        ValueError: so many workers cannot cover the union, or one covers more.
    """
    return in_nodes(1, worker_count, count=count, node_union=union, union=union)


def in_nodes(
    node_count: int, node_size: int, *, count: Fraction, node_union: Fraction, union: Fraction
) -> list[list[Block]]:
    """The same for workers of nodes, node by node, where the workers of each node cover so many coordinates.

    Args:
        node_count: at least 1.
        node_size: workers of a node.
        count: coordinates of each worker.
        node_union: coordinates of each node.
        union: coordinates of all.

    Raises:
        ValueError: so many workers or nodes cannot cover a union, or one covers more.
    """
    _require_cover(node_size, count, node_union)
    _require_cover(node_count, node_union, union)
    arcs = [
        [
            piece
            for inner in _arcs(place, node_size, count, node_union)
            for piece in _wrapped(start + inner[0], start + inner[1], union)
        ]
        for start in (node * union / node_count for node in range(node_count))
        for place in range(node_size)
    ]
    ends = sorted({end for pieces in arcs for piece in pieces for end in piece})
    blocks = [(start, Block(place, end - start)) for place, (start, end) in enumerate(pairwise(ends))]
    return [[block for start, block in blocks if any(low <= start < high for low, high in pieces)] for pieces in arcs]


def even_parts(part_count: int, dimension: Fraction) -> list[list[Block]]:
    """The coordinates in parts of one length, of one block each."""
    return [[Block(place, dimension / part_count)] for place in range(part_count)]


def with_values(supports: Sequence[Sequence[Block]], numbers: random.Random) -> list[Store]:
    """Workers who have these blocks, with whole values from −99 to 99."""
    return [{block: Fraction(numbers.randint(-99, 99)) for block in blocks} for blocks in supports]


def _arcs(place: int, size: int, count: Fraction, around: Fraction) -> list[Arc]:
    """The arc of one of so many on a circle, in one piece or in two."""
    start = place * around / size
    return _wrapped(start, start + count, around)


def _wrapped(start: Fraction, end: Fraction, around: Fraction) -> list[Arc]:
    """An arc that begins at most once round, cut where the circle begins."""
    if start >= around:
        return [(start - around, end - around)]
    return [(start, end)] if end <= around else [(start, around), (Fraction(0), end - around)]


def _require_cover(size: int, count: Fraction, union: Fraction) -> None:
    if not count <= union <= size * count:
        raise ValueError(f"{size} of {count} coordinates each cannot select {union} together")
