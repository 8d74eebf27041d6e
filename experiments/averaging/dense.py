"""The dense collectives: whole vectors, as they are or rounded to bfloat16, are all-reduced, or added in rank order.

Of the entries of a sum nobody can say which worker sent what. So what is compared is the result, whose bits are the
same on all workers: a vector that was changed on its way to one of them is found, one that was changed on its way into
the sum that all receive is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from sparsync.experiments.averaging.envelope import Body, Exchange, begun
from sparsync.experiments.averaging.header import DTYPES, Fault, Header
from sparsync.experiments.averaging.messages import AllGather, AllReduce, Average, Conversation, Place
from sparsync.kernels.payload import SparsePayload


def dense(place: Place) -> Body:
    """Vectors of the payloads' own dtype."""
    return partial(whole_mean, place=place)


def dense_bfloat16(place: Place) -> Body:
    """Vectors rounded to bfloat16, which is not fed back; in rank order they are added in the payloads' dtype."""
    return partial(whole_mean, place=place, wire_dtype=torch.bfloat16)


def whole_mean(
    payload: SparsePayload, exchange: Exchange, *, place: Place, wire_dtype: torch.dtype | None = None
) -> Conversation[Average]:
    """The mean of dense forms.

    Args:
        payload: this worker's.
        exchange: that all have begun.
        place: says whether vectors are added in rank order.
        wire_dtype: what vectors are sent as; None as they are.
    """
    dtype = payload.values.dtype
    wire = payload.dense().to(wire_dtype or dtype)
    sent_bytes = place.size * wire.numel() * wire.element_size()
    answer = yield (AllGather(wire) if place.rank_order else AllReduce(wire))

    def formed() -> Tensor:
        if place.rank_order:
            return vectors_mean(answer, dtype)
        (total,) = answer
        return total.to(dtype).div_(place.size)

    return Average((yield from exchange.agreed(formed)), sent_bytes)


def gathered_vectors_mean(vector: Tensor, step: int, place: Place) -> Conversation[Tensor]:
    """The mean of whole vectors, added in rank order; they are of one length and one dtype, which is floating.

    Args:
        vector: this worker's.
        step: of the call.
        place: of the worker.

    Raises:
        ExchangeError: on every worker alike, if headers do not fit together or results differ.
    """
    exchange = yield from _begun("mean", vector, step, place)
    vectors = yield AllGather(vector)
    return (yield from exchange.agreed(lambda: vectors_mean(vectors, vector.dtype)))


def gathered_vectors(vector: Tensor, step: int, place: Place) -> Conversation[list[Tensor]]:
    """Every worker's vector, in rank order, as it is; they are of one length and one dtype, which is floating.

    Args:
        vector: this worker's, [n] with n > 0.
        step: of the call.
        place: of the worker.

    Raises:
        ExchangeError: on every worker alike, if headers do not fit together or what arrives differs.
    """
    exchange = yield from _begun("vectors", vector, step, place)
    vectors = yield AllGather(vector)
    whole = yield from exchange.agreed(lambda: torch.cat(vectors))
    return list(whole.split(len(vector)))


def _begun(kind: str, vector: Tensor, step: int, place: Place) -> Conversation[Exchange]:
    """The begin of an exchange of whole vectors."""
    dtype = vector.dtype if vector.dtype in DTYPES else None
    fault = Fault.NONE if dtype else Fault.DTYPE
    header = Header(kind, step, dimension=vector.numel(), dtype=dtype, count=vector.numel(), fault=fault)
    return (yield from begun(header, place, vector.device))


def vectors_mean(vectors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The mean [d] of vectors, added one after the other in the given dtype."""
    total = torch.zeros_like(vectors[0], dtype=dtype)
    for vector in vectors:
        total += vector
    return total.div_(len(vectors))
