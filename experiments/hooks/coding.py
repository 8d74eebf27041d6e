"""Entries of a step in few bits: one message of the codec for all selections, read by every rank in the same way.

Positions are in Rice code, values in the code that was asked for. What values lose belongs into the residual. The codec
works on CPUs: of a GPU's entries, which are few, it takes copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.hooks.selection import Unit, moved
from sparsync.kernels.codec import Values, decode, encode_into, encoded_bound
from sparsync.kernels.payload import SparsePayload


@dataclass(frozen=True)
class Coding:
    """How the selections of an exchange become a message.

    Args:
        values: a key of `VALUE_CODES`.
        capacity: entries of all selections together, at most.
        dimension: of the exchange.
        dtype: of the values.
    """

    values: Values
    capacity: int
    dimension: int
    dtype: torch.dtype

    @property
    def room_bytes(self) -> int:
        """No message is longer, wherever the entries are."""
        return encoded_bound(self.capacity, self.dimension, values=self.values, dtype=self.dtype)

    def encode(self, payloads: Sequence[SparsePayload], units: Sequence[Unit]) -> tuple[Tensor, list[SparsePayload]]:
        """The message [room] uint8 on the CPU, and what every receiver reads of each payload.

        Args:
            payloads: one of each unit, with indices through its gradients.
            units: of the exchange.

        Raises:
            ValueError: a value is not finite in the dtype that is sent.
        """
        values = torch.cat([payload.values for payload in payloads])
        places = [moved(payload.indices, unit) for payload, unit in zip(payloads, units, strict=True)]
        # Gradients of two units may lie between one another.
        indices, order = torch.cat(places).cpu().sort()
        message = torch.zeros(self.room_bytes, dtype=torch.uint8)
        encode_into(SparsePayload(values.cpu()[order], indices, self.dimension), message, values=self.values)
        read = torch.empty_like(values)
        read[order.to(read.device)] = decode(message).values.to(read.device)
        parts = read.split([payload.count for payload in payloads])
        return message, [
            SparsePayload(part, payload.indices, payload.dimension)
            for part, payload in zip(parts, payloads, strict=True)
        ]


def read_message(message: Tensor) -> tuple[Tensor, Tensor]:
    """The indices [m] int64 and values [m] of a message [n] uint8, on its device; waits for it.

    Raises:
        ValueError: it is none.
    """
    payload = decode(message.cpu())
    return payload.indices.to(message.device).long(), payload.values.to(message.device)
