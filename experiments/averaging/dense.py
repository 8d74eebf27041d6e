"""The dense collectives: whole vectors, as they are or rounded to bfloat16, are all-reduced, or added in rank order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllGather, AllReduce, Average, Conversation, Place, Procedure
from sparsync.kernels.payload import SparsePayload


def dense(place: Place) -> Procedure:
    """Vectors of the payloads' own dtype."""
    return partial(whole_mean, place=place)


def dense_bfloat16(place: Place) -> Procedure:
    """Vectors rounded to bfloat16, which is not fed back; in rank order they are added in the payloads' dtype."""
    return partial(whole_mean, place=place, wire_dtype=torch.bfloat16)


def whole_mean(payload: SparsePayload, *, place: Place, wire_dtype: torch.dtype | None = None) -> Conversation[Average]:
    """The mean of dense forms, in which nobody checks that they are of one length and dtype.

    Args:
        payload: this worker's.
        place: says whether vectors are added in rank order.
        wire_dtype: what vectors are sent as; None as they are.
    """
    dtype = payload.values.dtype
    wire = payload.dense().to(wire_dtype or dtype)
    sent_bytes = place.size * wire.numel() * wire.element_size()
    if place.rank_order:
        return Average(vectors_mean((yield AllGather(wire)), dtype), sent_bytes)
    (total,) = yield AllReduce(wire)
    return Average(total.to(dtype).div_(place.size), sent_bytes)


def vectors_mean(vectors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The mean [d] of vectors, added one after the other in the given dtype."""
    total = torch.zeros_like(vectors[0], dtype=dtype)
    for vector in vectors:
        total += vector
    return total.div_(len(vectors))
