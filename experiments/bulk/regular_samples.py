"""Which keys of all ranks are splitters or thresholds, when each tells every L-th of its own? Ours.

A rank's keys are in order; equal keys are ordered by rank and index, so that no two are the same. A sample is the last
of L keys of its rank, and says how many keys lie up to it within (P − 1)(L − 1): theorems `sample_excess` and
`largest_bucket` of `theory/cost/regular_sampling.py`. It is told without its rank and place: they follow from where it
came from, and as which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


class RegularSamples:
    """The samples of all ranks, in the order of all keys, as every rank has them.

    Args:
        by_rank: what each rank told, ascending.
        segment_length: L.
    """

    def __init__(self, by_rank: Sequence[Tensor], segment_length: int) -> None:
        counts, device = [len(own) for own in by_rank], by_rank[0].device
        self._keys, order = torch.cat(list(by_rank)).sort(stable=True)
        ranks = torch.arange(len(counts), device=device).repeat_interleave(torch.tensor(counts, device=device))
        places = torch.cat([torch.arange(1, count + 1, device=device) for count in counts]) * segment_length
        self._ranks, self._places = ranks[order], places[order]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._keys)

    def keys_up_to(self, own: Tensor, rank: int, number: int) -> int:
        """How many of a rank's keys are no later than a sample.

        Args:
            own: [m], the rank's keys, ascending; those that it told samples of.
            rank: whose.
            number: of the sample, from 1; before the first is none of the keys, and behind the last are all.
        """
        if number < 1:
            return 0
        if number > len(self):
            return len(own)
        of, place = int(self._ranks[number - 1]), int(self._places[number - 1])
        if of == rank:
            return place
        return int(torch.searchsorted(own, self._keys[number - 1 : number], right=rank < of))


def samples_of(own: Tensor, segment_length: int) -> Tensor:
    """Every L-th of a rank's ascending keys, from the L-th on."""
    # A vector of one entry counts as contiguous whatever its stride, and cannot be viewed as bytes then.
    return own[segment_length - 1 :: segment_length].clone(memory_format=torch.contiguous_format)


def splitter_numbers(sample_count: int, bucket_count: int) -> list[int]:
    """Which samples end a bucket, but for the last one: buckets have equally many, or first ones one more."""
    share, more = divmod(sample_count, bucket_count)
    return [bucket * share + min(bucket, more) for bucket in range(1, bucket_count)]


def threshold_number(k: int, key_count: int, sample_count: int, rank_count: int, segment_length: int) -> int:
    """The sample up to which k keys lie with the least error that can be, (P(L − 1) + 1)/2 at most.

    Before the first sample are no keys and behind the last are all, which is exact.

    Args:
        k: wanted.
        key_count: of all ranks.
        sample_count: of all ranks.
        rank_count: P.
        segment_length: L.
    """
    doubt = (rank_count - 1) * (segment_length - 1)
    # Only samples beside k can be best; the count of sample m is from mL to mL + doubt.
    near = (2 * k - doubt) // (2 * segment_length)
    numbers = {0, sample_count + 1, *(min(max(near + step, 1), sample_count) for step in (0, 1) if sample_count)}

    def worst(number: int) -> int:
        if number == 0:
            return k
        if number > sample_count:
            return key_count - k
        return max(k - number * segment_length, number * segment_length + doubt - k)

    return min(sorted(numbers), key=worst)


def candidate_numbers(k: int, rank_count: int, segment_length: int) -> tuple[int, int]:
    """(m, m'): the first k keys hold all up to sample m, and none behind sample m'."""
    doubt = (rank_count - 1) * (segment_length - 1)
    return max(0, k - doubt) // segment_length, -(-k // segment_length)


def oversampled_segment(key_count: int, rank_count: int, oversampling: int) -> int:
    """L = ⌈d/(rP²)⌉: each of equal shards tells rP samples."""
    return max(1, -(-key_count // (oversampling * rank_count**2)))


def best_segment(key_count: int, rank_count: int, key_bytes: int, index_bytes: int) -> int:
    """About √(sd/((s + j)P)): what samples take and what a bucket may have too much, in bytes, are least together."""
    return max(1, math.isqrt(key_bytes * key_count // ((key_bytes + index_bytes) * rank_count)))


def narrowing_segments(key_count: int, rank_count: int, rounds: int) -> list[int]:
    """L of each round, the last of which is 1: in each about as many samples are told.

    Of d keys d/L₁ samples are told, of the 2PL₁ candidates that are left at most 2PL₁/L₂, and so on, each about the
    R-th root of (2P)^(R−1)·d. Whole numbers only, so that all ranks find the same.
    """
    share = max(1, _root((2 * rank_count) ** (rounds - 1) * key_count, rounds))
    segments, left = [], key_count
    for _ in range(rounds - 1):
        segments.append(max(1, left // share))
        left = 2 * rank_count * segments[-1]
    return [*(segment for segment in segments if segment > 1), 1]


def _root(value: int, degree: int) -> int:
    """The whole part of a root."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low
