"""What all collectives of payloads share: the header that is agreed on first, entries as bytes, sums in rank order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllGather, Conversation
from sparsync.kernels.payload import SparsePayload

# One int64: the number of the dtype among these, less two, in 2 bits, then dimension and count in 31 bits each.
_DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
HEADER_BYTES = 8
_LARGEST_DIMENSION = torch.iinfo(torch.int32).max
_UNFIT = 1
"""What is said in place of a header that cannot be: as one, it would be of an entry among none."""


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
    """The entries of `packed`, their values of the given dtype."""
    places = message.numel() // (dtype.itemsize + torch.int32.itemsize) * torch.int32.itemsize
    # A copy begins where its memory does, as a view of wider numbers must.
    indices, values = message[:places].clone(), message[places:].clone()
    return Entries(values.view(dtype), indices.view(torch.int32))


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


def agreed_counts(payload: SparsePayload, node_size: int | None = None) -> Conversation[list[int]]:
    """Every worker's count, once all are known to have this payload's dimension and dtype; `HEADER_BYTES` each.

    Args:
        payload: this worker's.
        node_size: on which all have to agree as well, for 8 bytes more.

    Raises:
        ValueError: on every worker, if they differ, or one has a dimension beyond int32 or no floating dtype.
    """
    numbers = [_header(payload)] if node_size is None else [_header(payload), node_size]
    gathered = yield from gathered_numbers(numbers, payload.values.device)
    headers = [found[0] for found in gathered]
    if _obstacle(payload):
        raise ValueError(_obstacle(payload))
    unfit = [rank for rank, found in enumerate(headers) if found == _UNFIT]
    if unfit:
        raise ValueError(f"ranks {unfit} have payloads whose dimension or dtype no header names")
    _require_common("payloads of different dimensions", [found >> 31 & _LARGEST_DIMENSION for found in headers])
    _require_common("payloads of different dtypes", [_DTYPES[(found >> 62) + 2] for found in headers])
    _require_common("nodes of different sizes", [found[-1] for found in gathered] if node_size is not None else [])
    return [found & _LARGEST_DIMENSION for found in headers]


def _obstacle(payload: SparsePayload) -> str:
    """Why a payload has no header; empty if it has."""
    if payload.dimension > _LARGEST_DIMENSION:
        return f"a payload of dimension {payload.dimension} has places that no int32 index reaches"
    if payload.values.dtype not in _DTYPES:
        return f"a payload of {payload.values.dtype} is none of {', '.join(map(str, _DTYPES))}"
    return ""


def _header(payload: SparsePayload) -> int:
    if _obstacle(payload):
        return _UNFIT
    return (_DTYPES.index(payload.values.dtype) - 2 << 62) + (payload.dimension << 31) + payload.count


def _require_common(complaint: str, by_rank: Sequence[object]) -> None:
    if len(set(by_rank)) > 1:
        listed = ", ".join(f"{found} on rank {rank}" for rank, found in enumerate(by_rank))
        raise ValueError(f"{complaint}: {listed}")
