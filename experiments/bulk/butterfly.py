"""An all-reduce in which each rank adds up its own part of the vector for all: parts may differ, and may be none.

All send everybody the part that it adds, and it sends its sum back to all. So a rank whose part has d_i of d values
sends (d − d_i) + (n − 1)d_i = d + (n − 2)d_i of them, and receives as many: what `planners/collaborations/` plans with.
Each part is added once, in the order of ranks, so that all ranks have the same bits.

Source: the setting is that of Diskin et al. 2021 (DeDLOC), which was not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.messages import Conversation, Swap
from sparsync.experiments.bulk.supersteps import opened
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call
from sparsync.experiments.training.collectives import converse


@dataclass(frozen=True, eq=False)
class Reduced:
    """What a rank has when all have spoken.

    Args:
        total: the sum of all ranks' vectors, [d] or this rank's part of it.
        sent_bytes: what it handed over of vectors; 24 bytes to each other rank come before.
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
        ValueError: parts that are not the vector, or not for all ranks; this rank is not in the group; on every rank
            alike: vectors or parts that differ between ranks.
        ExchangeError: another rank is lost, or does not come in time.
    """
    if dist.get_rank(group) < 0:
        raise ValueError("this rank is not in the group")
    if len(parts) != dist.get_world_size(group):
        raise ValueError(f"{dist.get_world_size(group)} ranks need as many parts, got {list(parts)}")
    return converse(butterfly(mine, parts, dist.get_rank(group)), Call("butterfly", group, timeout_seconds))


def butterfly(mine: Tensor, parts: Sequence[int], rank: int) -> Conversation[Reduced]:
    """What one rank says in an all-reduce: an opening, then two swaps; `answer_each_other` carries all in one process.

    Args:
        mine: [d], of any dtype, the same on all ranks.
        parts: how many values each rank adds up.
        rank: its own.

    Raises:
        ValueError: see `reduce_scatter`.
    """
    scattered = yield from reduce_scatter(mine, parts, rank)
    others, size = [other for other in range(len(parts)) if other != rank], mine.element_size()
    message = _as_bytes(scattered.total)
    sums = yield Swap(dict.fromkeys(others, message), {other: parts[other] * size for other in others}, mine.device)
    by_rank = {rank: scattered.total} | dict(zip(others, (_as_values(one, mine.dtype) for one in sums), strict=True))
    sent = scattered.sent_bytes + len(others) * message.numel()
    return Reduced(torch.cat([by_rank[other] for other in range(len(parts))]), sent)


def reduce_scatter(mine: Tensor, parts: Sequence[int], rank: int) -> Conversation[Reduced]:
    """The first half of it, after which each rank has the sum of its own part, [parts[rank]].

    Args:
        mine: as of `butterfly`.
        parts: likewise.
        rank: likewise.

    Raises:
        ValueError: no vector, a part is negative, or they are not the vector together; on every rank alike: vectors of
            different lengths or dtypes, or other parts.
    """
    if not _is_vector(mine) or min(parts, default=-1) < 0 or sum(parts) != mine.numel():
        facts = f"a vector of shape {tuple(mine.shape)}" if isinstance(mine, Tensor) else type(mine).__name__
        raise ValueError(f"parts {list(parts)} are not {facts}")
    mine = mine.detach()
    # Messages of another length than is expected would end the process in gloo's own thread.
    settings = {"dtype": str(mine.dtype), "parts": list(parts)}
    yield from opened("butterfly", settings, fault=None, count=len(mine), device=mine.device)
    pieces = mine.split(list(parts))
    others = [other for other in range(len(parts)) if other != rank]
    given = {other: _as_bytes(pieces[other]) for other in others}
    heard = yield Swap(given, dict.fromkeys(others, parts[rank] * mine.element_size()), mine.device)
    added = _sum_in_rank_order(pieces[rank], dict(zip(others, heard, strict=True)), rank)
    return Reduced(added, sum(piece.numel() for piece in given.values()))


def _is_vector(mine: object) -> bool:
    return isinstance(mine, Tensor) and mine.dim() == 1 and mine.layout == torch.strided


def _sum_in_rank_order(own: Tensor, heard: dict[int, Tensor], rank: int) -> Tensor:
    total = torch.zeros_like(own)
    for other in sorted({*heard, rank}):
        total += own if other == rank else _as_values(heard[other], own.dtype)
    return total


def _as_bytes(values: Tensor) -> Tensor:
    return values.contiguous().view(torch.uint8) if values.numel() else values.new_empty(0, dtype=torch.uint8)


def _as_values(message: Tensor, dtype: torch.dtype) -> Tensor:
    return message.view(dtype) if message.numel() else message.new_empty(0, dtype=dtype)
