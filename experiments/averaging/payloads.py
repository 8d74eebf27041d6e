"""What all collectives of payloads share: entries as bytes, numbers that workers are told, sums in rank order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllGather, Conversation
from sparsync.kernels.payload import SparsePayload


class Entries(NamedTuple):
    """Some entries of a vector: values [m] and their positions [m] int32, unique and ascending."""

    values: Tensor
    indices: Tensor


def common_dimension(payloads: Sequence[SparsePayload]) -> int:
    """The dimension of all payloads, once they are known to be payloads of one dimension and one dtype.

    Raises:
        ValueError: they are not, or there are none.
    """
    if not isinstance(payloads, Sequence):
        raise ValueError(f"expected a list of payloads, got {type(payloads).__name__}")
    for payload in payloads:
        if not isinstance(payload, SparsePayload):
            raise ValueError(f"expected a list of payloads, got one with {type(payload).__name__}")
    if not payloads:
        raise ValueError("the mean of no payloads is undefined")
    dimensions = {payload.dimension for payload in payloads}
    if len(dimensions) > 1:
        raise ValueError(f"payloads of different dimensions: {sorted(dimensions)}")
    dtypes = {payload.values.dtype for payload in payloads}
    if len(dtypes) > 1:
        raise ValueError(f"payloads of different dtypes: {', '.join(sorted(map(str, dtypes)))}")
    return dimensions.pop()


def mean_in_rank_order(payloads: Sequence[SparsePayload]) -> Tensor:
    """The mean [d] of the payloads' dense forms, added one rank after the other.

    Raises:
        ValueError: anything but a sequence of payloads, none, or dimensions or dtypes that differ.
    """
    dimension = common_dimension(payloads)
    total = torch.zeros(dimension, dtype=payloads[0].values.dtype, device=payloads[0].values.device)
    for payload in payloads:
        # Indices are unique within a payload, so no addition is lost.
        total[payload.indices.long()] += payload.values
    return total.div_(len(payloads))


def sum_in_order(parts: Sequence[Entries]) -> Entries:
    """The sum of entries at the union of their positions, added one part after the other, from zero.

    At each position these are the additions of `mean_in_rank_order`, which also adds nothing where a part has nothing.
    """
    union, places = torch.unique(torch.cat([part.indices for part in parts]), return_inverse=True)
    total = torch.zeros(len(union), dtype=parts[0].values.dtype, device=union.device)
    for part, place in zip(parts, places.split([len(part.indices) for part in parts]), strict=True):
        total[place] += part.values
    return Entries(total, union)


def mean_of_sums(sums: Sequence[Entries], payload: SparsePayload, worker_count: int) -> Tensor:
    """The mean [d] where entries that share no position are sums over all workers.

    Args:
        sums: of some positions each.
        payload: any of those that were added.
        worker_count: P.
    """
    total = torch.zeros(payload.dimension, dtype=payload.values.dtype, device=payload.values.device)
    for part in sums:
        total[part.indices.long()] = part.values
    return total.div_(worker_count)


def entry_bytes(payload: SparsePayload) -> int:
    """Bytes of a value with its index."""
    return payload.values.element_size() + payload.indices.element_size()


def packed(entries: Entries) -> Tensor:
    """Entries as bytes [m × entry_bytes] uint8, indices before values."""
    return torch.cat([entries.indices.contiguous().view(torch.uint8), entries.values.contiguous().view(torch.uint8)])


def unpacked(message: Tensor, dtype: torch.dtype) -> Entries:
    """The entries of `packed`, their values of the given dtype; parts of the message where they can be."""
    places = message.numel() // (dtype.itemsize + torch.int32.itemsize) * torch.int32.itemsize
    return Entries(_viewed(message[places:], dtype), _viewed(message[:places], torch.int32))


def _viewed(part: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes as wider numbers; a copy, which begins where its memory does, if they do not begin at a multiple."""
    return (part.clone() if part.storage_offset() % dtype.itemsize else part).view(dtype)


def numbers_message(numbers: Sequence[int], device: torch.device) -> Tensor:
    """Whole numbers as bytes [8 × numbers] uint8."""
    return torch.tensor(numbers, dtype=torch.int64, device=device).view(torch.uint8)


def numbers_in(message: Tensor) -> list[int]:
    """The numbers of `numbers_message`."""
    found: list[int] = message.view(torch.int64).tolist()
    return found


def gathered_numbers(numbers: Sequence[int], device: torch.device) -> Conversation[list[list[int]]]:
    """Every worker's whole numbers, equally many, in rank order; 8 bytes each."""
    answer = yield AllGather(torch.tensor(numbers, dtype=torch.int64, device=device))
    return torch.stack(answer).tolist()
