"""Which k of the entries of one vector are largest, when every rank has a part of it, as of a sharded gradient?

Shards are disjoint (FSDP, ZeRO); every rank ends with those of its own entries that are selected. `exact_top_k` finds
the k largest magnitudes of all, ties by rank and index, in a fixed number of rounds, each of regular samples: sample m
of those that can still be k-th largest is early enough that all up to it are selected, sample m' late enough that none
behind it is, and between them are at most L(P − ⌊P/L⌋) + (P − 1)(L − 1) candidates, whatever the entries are. The last
round has L = 1, which leaves none. The others are what one does instead: one round of samples and a threshold off by
(P(L − 1) + 1)/2 at most; the threshold of a Gaussian law, off by any number; and k/P entries of each rank, which sends
nothing. Theorems: `theory/cost/global_selection.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllGather, Conversation, Place
from sparsync.experiments.averaging.payloads import gathered_numbers
from sparsync.experiments.bulk.regular_samples import (
    RegularSamples,
    candidate_numbers,
    narrowing_segments,
    samples_of,
    threshold_number,
)
from sparsync.experiments.bulk.supersteps import opened, to_everyone
from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.kernels.magnitude import magnitude_bits
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import two_sided_quantile
from sparsync.kernels.selection import SELECTORS

ROUNDS = 2
SAMPLE_COUNT = 64
"""Of each rank, where one round has to do."""
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True, eq=False)
class _Sorted:
    """What of a shard can be among the k largest of all.

    Args:
        shard: itself.
        positions: [m], in it, from the largest magnitude down, ties by index.
        keys: [m], minus the bits of the magnitudes: ascending.
    """

    shard: Tensor
    positions: Tensor
    keys: Tensor

    def first(self, count: int) -> SparsePayload:
        """The first so many entries."""
        indices = self.positions[:count].sort().values
        return SparsePayload(self.shard[indices], indices.to(torch.int32), len(self.shard))


def exact_top_k(shard: Tensor, k: int, place: Place, *, rounds: int = ROUNDS) -> Conversation[SparsePayload]:
    """Those of this rank's entries that are among the k largest magnitudes of all ranks' together; of all, exactly k.

    Args:
        shard: [d] float16, bfloat16, float32 or float64, finite; other ranks may have more or fewer, or none.
        k: 1 ≤ k ≤ entries of all ranks.
        place: of this rank.
        rounds: R ≥ 1, in which samples are told; the first one tells about the R-th root of (2P)^(R−1)·kP.

    Raises:
        ValueError: no vector of such a dtype, or k or rounds below 1; on every rank alike: an entry that is not finite,
            fewer than k entries, or ranks with different dtypes or settings.
    """
    require_count("rounds", rounds, least=1)
    mine, counts = yield from _begun("exact top-k", shard, k, {"rounds": rounds})
    first, end, left = 0, len(mine.keys), k
    for length in narrowing_segments(sum(counts), place.size, rounds):
        keys = mine.keys[first:end]
        told = yield from to_everyone(samples_of(keys, length), [count // length for count in counts], place)
        samples = RegularSamples(told, length)
        low, high = (
            samples.keys_up_to(keys, place.rank, number) for number in candidate_numbers(left, place.size, length)
        )
        first, end = first + low, first + high
        if length > 1:
            rows = yield from gathered_numbers([low, high - low], shard.device)
            left -= sum(surely for surely, _ in rows)
            counts = [candidates for _, candidates in rows]
    return mine.first(end)


def sampled_top_k(
    shard: Tensor, k: int, place: Place, *, sample_count: int = SAMPLE_COUNT
) -> Conversation[SparsePayload]:
    """The entries up to a sample of those that can be among the k largest: k, or up to (P(L − 1) + 1)/2 more or fewer.

    Where they are k or fewer they are the largest of all; of more, a rank can have k at most. L is ⌈m/(P·sample_count)⌉
    of the m ≤ kP entries that can be selected, so that the error is below kP/(2·sample_count) + P/2, for every law.

    Args:
        shard: as of `exact_top_k`.
        k: likewise.
        place: of this rank.
        sample_count: of a rank that has as many of those entries as others have.

    Raises:
        ValueError: as `exact_top_k`.
    """
    require_count("sample_count", sample_count, least=1)
    mine, counts = yield from _begun("sampled top-k", shard, k, {"sample_count": sample_count})
    total = sum(counts)
    length = max(1, -(-total // (place.size * sample_count)))
    told = yield from to_everyone(samples_of(mine.keys, length), [count // length for count in counts], place)
    samples = RegularSamples(told, length)
    number = threshold_number(k, total, len(samples), place.size, length)
    return mine.first(samples.keys_up_to(mine.keys, place.rank, number))


def gaussian_top_k(shard: Tensor, k: int, place: Place) -> Conversation[SparsePayload]:
    """The entries with |u| > μ + zσ, μ and σ of all ranks' entries, P(|N(0, 1)| > z) = k/d: any number of them.

    Where the rule of Shi, Chu, Cheung, See 2019 begins, as it is released; nothing is refined.

    Args:
        shard: as of `exact_top_k`.
        k: likewise.
        place: of this rank.

    Raises:
        ValueError: as `exact_top_k`; on every rank alike: entries whose squares are more than float64 holds.
    """
    del place
    counts = yield from _opened("gaussian top-k", shard, k, {})
    shard = shard.detach()
    wide = shard.double()
    own_mean = wide.sum() / max(1, len(wide))
    rows = yield AllGather(torch.stack([own_mean, (wide - own_mean).square().sum()]))
    total, (means, squares) = sum(counts), torch.stack(rows).T.tolist()
    mean = sum_in_order(count * own / total for count, own in zip(counts, means, strict=True))
    # Deviations from the mean of all: the square of that itself may be far larger than what they differ by.
    between = (count * (own - mean) * (own - mean) for count, own in zip(counts, means, strict=True))
    variance = (sum_in_order(squares) + sum_in_order(between)) / total
    if not math.isfinite(mean + variance):
        raise ValueError(f"gaussian top-k: entries are too large for a variance in float64, the mean is {mean}")
    threshold = mean + two_sided_quantile(k, total) * math.sqrt(variance)
    indices = (shard.abs() > torch.tensor(threshold, dtype=shard.dtype, device=shard.device)).nonzero().flatten()
    return SparsePayload(shard[indices], indices.to(torch.int32), len(shard))


def own_top_k(shard: Tensor, k: int, place: Place) -> Conversation[SparsePayload]:
    """The k/P largest of this rank's own entries, the first ranks one more if P does not divide k; all if it has fewer.

    Only the opening is said, for k to be refused alike.

    Args:
        shard: as of `exact_top_k`.
        k: likewise.
        place: of this rank.

    Raises:
        ValueError: as `exact_top_k`.
    """
    yield from _opened("own top-k", shard, k, {})
    share = share_sizes(k, place.size)[place.rank]
    return _sorted(shard, share).first(share)


def share_sizes(total: int, rank_count: int) -> list[int]:
    """How many of so many each rank gets: equally many, or the first ones one more."""
    share, more = divmod(total, rank_count)
    return [share + (rank < more) for rank in range(rank_count)]


def _begun(kind: str, shard: Tensor, k: int, settings: dict[str, object]) -> Conversation[tuple[_Sorted, list[int]]]:
    """What of this rank's entries can be among the k largest, and how many each rank has of those."""
    counts = yield from _opened(kind, shard, k, settings)
    return _sorted(shard, k), [min(k, count) for count in counts]


def _opened(kind: str, shard: Tensor, k: int, settings: dict[str, object]) -> Conversation[list[int]]:
    """How many entries each rank has."""
    is_vector = isinstance(shard, Tensor) and shard.ndim == 1 and shard.layout == torch.strided
    if not is_vector or shard.dtype not in _DTYPES:
        is_tensor = isinstance(shard, Tensor)
        facts = f"{shard.dtype} {tuple(shard.shape)}, {shard.layout}" if is_tensor else type(shard).__name__
        raise ValueError(f"a shard must be a dense vector of {', '.join(map(str, _DTYPES))}, got {facts}")
    if len(shard) > torch.iinfo(torch.int32).max:
        raise ValueError(f"{len(shard)} entries of one rank do not fit int32 indices")
    require_count("k", k, least=1)
    wrong = (~shard.isfinite()).nonzero().flatten()[:1].tolist()
    facts_of_all = {"dtype": str(shard.dtype), "k": k, **settings}
    counts = yield from opened(
        kind, facts_of_all, fault=wrong[0] if wrong else None, count=len(shard), device=shard.device
    )
    if k > sum(counts):
        raise ValueError(f"{kind}: k = {k} entries are wanted of {sum(counts)}")
    return counts


def _sorted(shard: Tensor, count: int) -> _Sorted:
    """The largest so many entries of a shard, or all, without their history."""
    shard = shard.detach()
    count = min(count, len(shard))
    if count == 0:
        nothing = torch.empty(0, dtype=torch.int64, device=shard.device)
        return _Sorted(shard, nothing, -magnitude_bits(shard[:0]))
    payload = SELECTORS["top_k"](shard, count)
    # Indices ascend, and the sort is stable.
    keys, order = (-magnitude_bits(payload.values)).sort(stable=True)
    return _Sorted(shard, payload.indices[order].long(), keys)
