"""In which orders are keys sorted over ranks? Drawn ones, ones that are sorted already, and those that crowd a bucket.

Each is the keys of all ranks, of given numbers; what a sort by regular samples does follows from their order alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream

Sizes = Sequence[int]


def _random(sizes: Sizes, _length: int, seed: int) -> list[Tensor]:
    """Each key is anywhere."""
    return list(torch.randperm(sum(sizes), generator=random_stream(seed, "keys")).split(list(sizes)))


def _sorted(sizes: Sizes, _length: int, _seed: int) -> list[Tensor]:
    """Rank after rank."""
    return list(torch.arange(sum(sizes)).split(list(sizes)))


def _reversed(sizes: Sizes, _length: int, _seed: int) -> list[Tensor]:
    """The last rank has the smallest keys, and each rank its largest first."""
    parts = torch.arange(sum(sizes)).split([*reversed(sizes)])
    return [part.flip(0) for part in reversed(parts)]


def _in_turns(sizes: Sizes, _length: int, _seed: int) -> list[Tensor]:
    """As cards are dealt."""
    return [torch.arange(size) * len(sizes) + rank for rank, size in enumerate(sizes)]


def _equal(sizes: Sizes, _length: int, _seed: int) -> list[Tensor]:
    """One key, that all have."""
    return [torch.zeros(size, dtype=torch.int64) for size in sizes]


def _crowding(sizes: Sizes, length: int, _seed: int) -> list[Tensor]:
    """L − 1 keys of each rank but the first, which no sample tells of; all keys of the first; then the others."""
    early = [0, *[min(length - 1, size) for size in sizes[1:]]]
    late = [0, *[size - first for size, first in zip(sizes[1:], early[1:], strict=True)]]
    begins = [0, *accumulate(early)][:-1]
    middle = sum(early)
    late_begins = [middle + sizes[0] + before for before in [0, *accumulate(late)][:-1]]
    first = torch.arange(middle, middle + sizes[0])
    return [first] + [
        torch.cat([torch.arange(begin, begin + few), torch.arange(later, later + many)])
        for begin, few, later, many in zip(begins[1:], early[1:], late_begins[1:], late[1:], strict=True)
    ]


ORDERS: dict[str, Callable[[Sizes, int, int], list[Tensor]]] = {
    "random": _random,
    "sorted": _sorted,
    "reversed": _reversed,
    "in turns": _in_turns,
    "equal keys": _equal,
    "crowding": _crowding,
}
"""By name: the int64 keys of each rank, of the numbers of keys, the length L of a segment, and a seed."""
