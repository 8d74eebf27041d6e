"""Payloads that travel as messages of the codec: positions in Rice code, values in few bits.

A payload is encoded once, by its worker, which keeps what the values lose; all workers read the same message, so all
have the same mean. Only the collective "sparse" sends such messages as they are: sums of others are in no code.
"""

from __future__ import annotations

import torch

from sparsync.kernels.codec import Values, decode, encode_into, encoded_bound
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.payload import SparsePayload

TRAVELS_BY = "sparse"
"""The collective that sends messages of the codec."""


class CodedPayload(SparsePayload):
    """What every receiver reads of a payload, with the message that it reads it from.

    Args:
        payload: what was selected.
        values: in which code, see `encode`; the same on all ranks.

    Raises:
        ValueError: see `encode`; `NonFiniteError`, which is one, where a value is not finite in the dtype that is sent.
    """

    __slots__ = ("message", "value_code")

    def __init__(self, payload: SparsePayload, values: Values) -> None:
        device = payload.values.device
        on_host = SparsePayload(payload.values.cpu(), payload.indices.cpu(), payload.dimension)
        bound = encoded_bound(payload.count, payload.dimension, values=values, dtype=payload.values.dtype)
        message = torch.empty(bound, dtype=torch.uint8)
        message = message[: encode_into(on_host, message, values=values)]
        super().__init__(decode(message).values.to(device), payload.indices, payload.dimension)
        self.message, self.value_code = message.to(device), values

    @property
    def size_bytes(self) -> int:
        """Of the message."""
        return len(self.message)


def value_code(payload: SparsePayload) -> str:
    """In which code the values of a payload travel; "exact" where they travel as they are."""
    return payload.value_code if isinstance(payload, CodedPayload) else "exact"


def require_code(values: str, collective: str) -> None:
    """Refuse a value code that there is not, and a collective that would send values as they are.

    Raises:
        ValueError: either; both are named.
    """
    if values not in VALUE_CODES:
        raise ValueError(f"unknown value code {values!r}; known: {', '.join(VALUE_CODES)}")
    if values != "exact" and collective != TRAVELS_BY:
        raise ValueError(
            f"values in the code {values!r} travel by the collective {TRAVELS_BY!r}, not by {collective!r}"
        )
