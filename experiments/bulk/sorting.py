"""Sorting by regular samples over all ranks: afterwards rank 0 has the smallest keys, and so on, in bounded buckets.

Four supersteps: how many keys each has; samples of each rank's sorted keys to everyone; how many keys go to whom; and
the keys with their indices. Every rank finds the same splitters, and merges what arrives. Equal keys stay in the order
of rank and index, so the sort is stable and a key that all have fills no bucket. −0 and +0 are equal; a NaN is refused
on all ranks. A bucket holds at most d/P + (P − 1)(L − 1) + (P − 1)L/P of d keys, theorem `largest_bucket`.

The exchange is of single messages, as that of all other collectives here; torch.distributed has an all-to-all of
unequal parts for gloo too (`all_to_all_single`), which would also send empty ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import Conversation, Place, Swap
from sparsync.experiments.averaging.payloads import Entries, numbers_in, numbers_message, packed, unpacked
from sparsync.experiments.bulk.regular_samples import (
    RegularSamples,
    best_segment,
    oversampled_segment,
    samples_of,
    splitter_numbers,
)
from sparsync.experiments.bulk.supersteps import NUMBER_BYTES, opened, to_everyone
from sparsync.experiments.engine.counts import require_count

DTYPES = (torch.float32, torch.float64, torch.int64)
_INDEX = torch.int32
_MOST_KEYS = torch.iinfo(_INDEX).max


@dataclass(frozen=True, eq=False)
class Bucket:
    """The keys of all ranks that a rank has in the end; behind them are those of the next rank.

    Args:
        keys: [m], ascending.
        ranks: [m] int32, which rank each came from; it does not descend among equal keys.
        indices: [m] int32, its place there; it ascends among equal keys of a rank.
    """

    keys: Tensor
    ranks: Tensor
    indices: Tensor


def sample_sort(keys: Tensor, place: Place, *, oversampling: int | None = None) -> Conversation[Bucket]:
    """This rank's bucket of all ranks' keys.

    Args:
        keys: [m] float32, float64 or int64, of this rank; other ranks may have other numbers of keys, or none.
        place: of this rank.
        oversampling: r; of equal shards each rank tells rP samples. None chooses what costs fewest bytes.

    Raises:
        ValueError: no vector of such a dtype, too long for int32 indices, or an oversampling below 1; on every rank
            alike: a NaN, or ranks with different dtypes or settings.
    """
    _require_keys(keys, oversampling)
    keys = keys.detach()
    nan = keys.isnan().nonzero().flatten()[:1].tolist()
    settings = {"dtype": str(keys.dtype), "oversampling": oversampling}
    counts = yield from opened(
        "sample sort", settings, fault=nan[0] if nan else None, count=len(keys), device=keys.device
    )
    total, size = sum(counts), keys.element_size()
    length = (
        best_segment(total, place.size, size, _INDEX.itemsize)
        if oversampling is None
        else oversampled_segment(total, place.size, oversampling)
    )
    own, order = keys.sort(stable=True)
    told = yield from to_everyone(samples_of(own, length), [count // length for count in counts], place)
    samples = RegularSamples(told, length)
    ends = [samples.keys_up_to(own, place.rank, number) for number in splitter_numbers(len(samples), place.size)]
    parts = [Entries(own[first:end], order[first:end].to(_INDEX)) for first, end in pairwise([0, *ends, len(own)])]
    return _merged((yield from _exchanged(parts, place)))


def _exchanged(parts: list[Entries], place: Place) -> Conversation[list[Entries]]:
    """What all ranks have for this one, in rank order."""
    own = parts[place.rank]
    dtype, device = own.values.dtype, own.values.device
    others = [rank for rank in range(place.size) if rank != place.rank]
    answers = yield Swap(
        {rank: numbers_message([len(parts[rank].values)], device) for rank in others},
        dict.fromkeys(others, NUMBER_BYTES),
        device,
    )
    size = dtype.itemsize + _INDEX.itemsize
    expected = {rank: numbers_in(answer)[0] * size for rank, answer in zip(others, answers, strict=True)}
    arrived = yield Swap({rank: packed(parts[rank]) for rank in others}, expected, device)
    theirs = [unpacked(message, dtype) for message in arrived]
    return [*theirs[: place.rank], own, *theirs[place.rank :]]


def _merged(runs: list[Entries]) -> Bucket:
    """Runs that ascend, as one that does; equal keys in the order of runs."""
    keys, order = torch.cat([run.values for run in runs]).sort(stable=True)
    counts = torch.tensor([len(run.values) for run in runs], device=keys.device)
    ranks = torch.arange(len(runs), dtype=_INDEX, device=keys.device).repeat_interleave(counts)
    return Bucket(keys, ranks[order], torch.cat([run.indices for run in runs])[order])


def _require_keys(keys: Tensor, oversampling: int | None) -> None:
    if not isinstance(keys, Tensor) or keys.ndim != 1 or keys.layout != torch.strided:
        raise ValueError(f"expected a vector of keys, got {tuple(getattr(keys, 'shape', ())) or type(keys).__name__}")
    if keys.dtype not in DTYPES:
        raise ValueError(f"keys must be {', '.join(map(str, DTYPES))}, got {keys.dtype}")
    if len(keys) > _MOST_KEYS:
        raise ValueError(f"{len(keys)} keys of one rank do not fit int32 indices")
    if oversampling is not None:
        require_count("oversampling", oversampling, least=1)
