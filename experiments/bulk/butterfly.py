"""An all-reduce in which each rank adds up its own part of the vector for all: parts may differ, and may be none.

All send everybody the part that it adds, and it sends its sum back to all. So a rank whose part has d_i of d values
sends (d − d_i) + (n − 1)d_i = d + (n − 2)d_i of them, and receives as many: what `planners/collaborations/` plans with.
Each part is added once, in the order of ranks, so that all ranks have the same bits.

Source: the setting is that of Diskin et al. 2021 (DeDLOC), which was not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.messages import Conversation, Swap
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call
from sparsync.experiments.training.collectives import converse


@dataclass(frozen=True, eq=False)
class Reduced:
    """What a rank has when all have spoken.

    Args:
        total: [d], the sum of all ranks' vectors.
        sent_bytes: what it handed over.
    """

    total: Tensor
    sent_bytes: int


def all_reduce(
    mine: Tensor,
    parts: Sequence[int],
    *,
    group: dist.ProcessGroup | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Reduced:
    """The sum of all ranks' vectors, by `butterfly` over a process group.

    Args:
        mine: [d], of any dtype, the same on all ranks.
        parts: how many values each rank adds up; the same on all ranks.
        group: None is the default one.
        timeout_seconds: how long it waits for another rank.

    Raises:
        ValueError: parts that are not the vector, or not for all ranks.
        ExchangeError: another rank is lost, or does not come in time.
    """
    if len(parts) != dist.get_world_size(group):
        raise ValueError(f"{dist.get_world_size(group)} ranks need as many parts, got {list(parts)}")
    return converse(butterfly(mine, parts, dist.get_rank(group)), Call("butterfly", group, timeout_seconds))


def butterfly(mine: Tensor, parts: Sequence[int], rank: int) -> Conversation[Reduced]:
    """What one rank says in an all-reduce, in two swaps; `answer_each_other` carries those of all in one process.

    Args:
        mine: [d], of any dtype, the same on all ranks.
        parts: how many values each rank adds up.
        rank: its own.

    Raises:
        ValueError: a part is negative, or they are not the vector together.
    """
    if min(parts) < 0 or sum(parts) != mine.numel() or mine.dim() != 1:
        raise ValueError(f"parts {list(parts)} are not a vector of shape {tuple(mine.shape)}")
    ends = list(accumulate(parts))
    pieces = [mine[end - size : end] for end, size in zip(ends, parts, strict=True)]
    others = [other for other in range(len(parts)) if other != rank]
    size, own = mine.element_size(), parts[rank]
    given = {other: _as_bytes(pieces[other]) for other in others}
    heard = yield Swap(given, dict.fromkeys(others, own * size), mine.device)
    added = _sum_in_rank_order(pieces[rank], dict(zip(others, heard, strict=True)), rank)
    told = dict.fromkeys(others, _as_bytes(added))
    sums = yield Swap(told, {other: parts[other] * size for other in others}, mine.device)
    by_rank = {rank: added} | dict(zip(others, (_as_values(one, mine.dtype) for one in sums), strict=True))
    sent = sum(piece.numel() for swap in (given, told) for piece in swap.values())
    return Reduced(torch.cat([by_rank[other] for other in range(len(parts))]), sent)


def _sum_in_rank_order(own: Tensor, heard: dict[int, Tensor], rank: int) -> Tensor:
    total = torch.zeros_like(own)
    for other in sorted({*heard, rank}):
        total += own if other == rank else _as_values(heard[other], own.dtype)
    return total


def _as_bytes(values: Tensor) -> Tensor:
    return values.contiguous().view(torch.uint8) if values.numel() else values.new_empty(0, dtype=torch.uint8)


def _as_values(message: Tensor, dtype: torch.dtype) -> Tensor:
    return message.view(dtype) if message.numel() else message.new_empty(0, dtype=dtype)
