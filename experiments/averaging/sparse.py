"""The plain sparse collective: headers, then values and indices, padded to the largest count, are all-gathered.

Workers may send different numbers of entries, or none, and every entry arrives exactly once.
"""

from __future__ import annotations

import torch

from sparsync.experiments.averaging.messages import AllGather, Average, Conversation, Place, Procedure
from sparsync.experiments.averaging.payloads import HEADER_BYTES, agreed_counts, entry_bytes, mean_in_rank_order
from sparsync.kernels.payload import SparsePayload


def sparse(place: Place) -> Procedure:
    """Every worker receives every entry, and adds them in rank order."""
    del place
    return _after_counts


def _after_counts(payload: SparsePayload) -> Conversation[Average]:
    counts = yield from agreed_counts(payload)
    return (yield from gathered_mean(payload, counts))


def gathered_mean(payload: SparsePayload, counts: list[int]) -> Conversation[Average]:
    """What follows once all workers know their counts; the bytes of the headers are counted."""
    longest = max(counts)
    sent_bytes = len(counts) * (HEADER_BYTES + longest * entry_bytes(payload))
    if longest == 0:
        return Average(mean_in_rank_order([payload] * len(counts)), sent_bytes)
    padding = (0, longest - payload.count)
    values = yield AllGather(torch.nn.functional.pad(payload.values, padding))
    indices = yield AllGather(torch.nn.functional.pad(payload.indices, padding))
    everyone = [
        SparsePayload(value[:count], index[:count], payload.dimension)
        for value, index, count in zip(values, indices, counts, strict=True)
    ]
    return Average(mean_in_rank_order(everyone), sent_bytes)
