"""Sparse reduce-scatter and all-gather: every worker adds what lies in its region of the coordinates, for all.

The idea is that of Ok-Topk (Li and Hoefler 2022); the choice of regions and its bound are ours. Each entry travels to
the owner of its region, owners add in rank order, and their sums are all-gathered. So a worker hands over its m entries
and the sums of its region, where with an all-gather of payloads it receives P − 1 payloads and adds them all.

Nothing is dropped, and the mean has the bits of "sparse". Ok-Topk's owners keep only their largest sums; what they cut
would have to return to the workers' residuals, which are settled before a collective. So besides about k entries of its
region each worker receives the union of all supports: O(k) in all where workers mostly choose the same coordinates,
never more than d, and a little more than by the all-gather where no two choose the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from sparsync.experiments.averaging.envelope import Body, Exchange, Received
from sparsync.experiments.averaging.header import settings_digest
from sparsync.experiments.averaging.messages import AllGather, Average, Conversation, Place, Swap
from sparsync.experiments.averaging.payloads import (
    Entries,
    entry_bytes,
    gathered_numbers,
    mean_in_rank_order,
    mean_of_sums,
    numbers_in,
    numbers_message,
    packed,
    sum_in_order,
)
from sparsync.kernels.payload import SparsePayload

REFRESH_CALLS = 64
"""After so many calls regions are chosen anew, since the places of large entries move slowly."""
SAMPLES_PER_REGION = 4
"""How many of its indices a worker tells, for each region; see `region_starts`."""
NUMBER_BYTES = 8


class Regions:
    """Where regions begin, agreed on by all workers, and until when that holds."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._dimension = self._calls_left = 0

    def agreed(self, payload: SparsePayload, counts: list[int]) -> Conversation[tuple[list[int], int]]:
        """Where all regions but the first begin, and the bytes that all workers sent to agree on it now."""
        sent_bytes = 0
        if self._calls_left == 0 or self._dimension != payload.dimension:
            sample = _sample(payload, SAMPLES_PER_REGION * len(counts))
            samples = yield AllGather(sample)
            self._starts = region_starts(torch.stack(samples), counts)
            self._dimension, self._calls_left = payload.dimension, REFRESH_CALLS
            sent_bytes = len(counts) * sample.numel() * sample.element_size()
        self._calls_left -= 1
        return self._starts, sent_bytes


def balanced(place: Place) -> Body:
    """Every worker adds the entries of one region, and receives the sums of the others."""
    return partial(owned_mean, place=place, regions=Regions())


def owned_mean(payload: SparsePayload, exchange: Exchange, *, place: Place, regions: Regions) -> Conversation[Average]:
    """The mean of all payloads by way of the owners of regions.

    Args:
        payload: this worker's.
        exchange: that all have begun.
        place: this worker's.
        regions: remembered from call to call.
    """
    if not any(exchange.counts):
        yield from exchange.close()
        return Average(mean_in_rank_order([payload]), 0)
    starts, sample_bytes = yield from regions.agreed(payload, exchange.counts)
    parts, size = _cut(payload, starts), entry_bytes(payload)
    own = yield from _owned_sum(parts, exchange, place)
    entry_count = payload.count - len(parts[place.rank].indices)
    message, dtype = packed(own), payload.values.dtype
    said = [len(own.indices), entry_count, exchange.checksum_of(message, dtype)]
    facts = yield from gathered_numbers(said, payload.values.device)
    longest = max(exchange.require_count(count, rank) for rank, (count, _, _) in enumerate(facts))
    gathered = yield AllGather(torch.nn.functional.pad(message, (0, (longest - len(own.indices)) * size)))
    received = [
        Received(rank, theirs, count, told)
        for rank, (theirs, (count, _, told)) in enumerate(zip(gathered, facts, strict=True))
    ]
    sums = exchange.verified(received, dtype)
    # Had workers cut elsewhere, owners would have sums at the same places.
    yield from exchange.close(settings_digest(starts))
    number_count = 2 * place.size * (place.size - 1) + 3 * place.size
    sent_count = sum(sent for _, sent, _ in facts) + place.size * longest
    return Average(
        mean_of_sums(sums, payload, place.size), sample_bytes + number_count * NUMBER_BYTES + sent_count * size
    )


def region_starts(samples: Tensor, counts: Sequence[int]) -> list[int]:
    """Where regions 1 to P − 1 begin, so that each holds at most M/P + 2M/S + P of all M entries.

    Of worker r's m_r ascending indices, S are told, those at ⌊(2j + 1)m_r/2S⌋. Let each stand for m_r/S entries. Then
    the number of entries below any index is off by at most m_r/2S, and by M/2S for all workers together. A region ends
    behind the first sample up to which jM/P entries are counted; that one index adds at most P entries of M in truth,
    and M/S more by the count. The difference of two ends has the error of both.

    Args:
        samples: [P, S], one row a worker.
        counts: m_r; what a worker without entries told is not counted.
    """
    worker_count, sample_count = samples.shape
    order = samples.flatten().argsort(stable=True)
    weights = torch.tensor(counts, device=samples.device).repeat_interleave(sample_count)[order]
    targets = torch.arange(1, worker_count, device=samples.device) * (sample_count * sum(counts))
    ends = torch.searchsorted(weights.cumsum(0) * worker_count, targets)
    starts: list[int] = (samples.flatten()[order][ends] + 1).tolist()
    return starts


def _sample(payload: SparsePayload, sample_count: int) -> Tensor:
    """Indices [sample_count] at equal distances in the payload; zeros of an empty one."""
    device = payload.indices.device
    if payload.count == 0:
        return torch.zeros(sample_count, dtype=torch.int32, device=device)
    odd = 2 * torch.arange(sample_count, device=device) + 1
    return payload.indices[odd * payload.count // (2 * sample_count)]


def _cut(payload: SparsePayload, starts: Sequence[int]) -> list[Entries]:
    """The payload's entries by region; indices ascend."""
    borders = torch.tensor(starts, dtype=torch.int32, device=payload.indices.device)
    cuts = [0, *torch.searchsorted(payload.indices, borders).tolist(), payload.count]
    return [Entries(payload.values[first:end], payload.indices[first:end]) for first, end in pairwise(cuts)]


def _owned_sum(parts: Sequence[Entries], exchange: Exchange, place: Place) -> Conversation[Entries]:
    """The sums of this worker's region: everyone says which entries come, sends them, and adds in rank order."""
    own = parts[place.rank]
    device, dtype = own.values.device, own.values.dtype
    others = [rank for rank in range(place.size) if rank != place.rank]
    messages = {rank: packed(parts[rank]) for rank in others}
    said = {rank: [len(parts[rank].indices), exchange.checksum_of(messages[rank], dtype)] for rank in others}
    answers = yield Swap(
        {rank: numbers_message(numbers, device) for rank, numbers in said.items()},
        dict.fromkeys(others, 2 * NUMBER_BYTES),
        device,
    )
    told = [numbers_in(answer) for answer in answers]
    size = dtype.itemsize + torch.int32.itemsize
    expected = {rank: exchange.require_count(count, rank) * size for rank, (count, _) in zip(others, told, strict=True)}
    arrived = yield Swap(messages, expected, device)
    received = [
        Received(rank, message, count, checksum)
        for rank, message, (count, checksum) in zip(others, arrived, told, strict=True)
    ]
    by_rank = exchange.verified(received, dtype)
    return sum_in_order([*by_rank[: place.rank], own, *by_rank[place.rank :]])
