"""The plain sparse collective: entries as bytes, padded to the longest message, are all-gathered.

Workers may send different numbers of entries, or none, and every entry arrives exactly once.
"""

from __future__ import annotations

import torch

from sparsync.experiments.averaging.coded import CodedPayload
from sparsync.experiments.averaging.envelope import Body, Exchange, Received
from sparsync.experiments.averaging.messages import AllGather, Average, Conversation, Place
from sparsync.experiments.averaging.payloads import Entries, entry_bytes, mean_in_rank_order, packed
from sparsync.kernels.codec import decode, encoded_bound
from sparsync.kernels.payload import SparsePayload


def sparse(place: Place) -> Body:
    """Every worker receives every entry, and adds them in rank order."""
    del place
    return gathered_mean


def gathered_mean(payload: SparsePayload, exchange: Exchange) -> Conversation[Average]:
    """The mean of all payloads, their entries added in rank order."""
    if isinstance(payload, CodedPayload):
        return (yield from _coded_mean(payload, exchange))
    counts, size = exchange.counts, entry_bytes(payload)
    longest = max(counts)
    if longest == 0:
        yield from exchange.close()
        return Average(mean_in_rank_order([payload] * len(counts)), 0)
    message = packed(Entries(payload.values, payload.indices))
    gathered = yield AllGather(torch.nn.functional.pad(message, (0, (longest - payload.count) * size)))
    everyone = exchange.verified(
        [Received(*one) for one in zip(range(len(counts)), gathered, counts, exchange.checksums, strict=True)],
        payload.values.dtype,
    )
    yield from exchange.close()
    mean = mean_in_rank_order([SparsePayload(*theirs, payload.dimension) for theirs in everyone])
    return Average(mean, len(counts) * longest * size)


def _coded_mean(payload: CodedPayload, exchange: Exchange) -> Conversation[Average]:
    """The mean of all payloads, their entries added in rank order; messages are padded to the longest there can be.

    The length that a message has at most follows from its count, which all workers know.
    """
    counts, dtype = exchange.counts, payload.values.dtype
    room = encoded_bound(max(counts), payload.dimension, values=payload.value_code, dtype=dtype)
    gathered = yield AllGather(torch.nn.functional.pad(payload.message, (0, room - len(payload.message))))
    received = []
    for rank, (message, count, checksum) in enumerate(zip(gathered, counts, exchange.checksums, strict=True)):
        try:
            read = decode(message.cpu())
        except ValueError:
            read = None
        if read is None or (read.count, read.dimension, read.values.dtype) != (count, payload.dimension, dtype):
            exchange.blame(rank)
            continue
        entries = packed(Entries(read.values, read.indices)).to(message.device)
        received.append(Received(rank, entries, count, checksum))
    everyone = exchange.verified(received, dtype)
    yield from exchange.close()
    mean = mean_in_rank_order([SparsePayload(*theirs, payload.dimension) for theirs in everyone])
    return Average(mean, len(counts) * room)
