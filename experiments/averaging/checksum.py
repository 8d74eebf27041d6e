"""Are these the entries that were sent? A checksum that any device computes, and one pass over indices.

Σ (i + 1)wᵢ modulo 2⁶⁴ over the 32-bit words w of a message (16-bit words, where values have two bytes). One changed
word changes it, since 0 < |Δw|(i + 1) < 2⁶⁴; so do two different words that change places, by (wᵢ − wⱼ)(j − i). It does
not see several changed words whose products cancel, which of random changes at most one in 2³² does; nor zeros at the
end, and so padding is free. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sparsync.experiments.averaging.header import Fault

_LONG, _ROW = 2**16, 2**10
"""From so many words on they are added in rows and columns of a table, without a vector of as many wide numbers."""


def checksum(vector: Tensor) -> Tensor:
    """The checksum [] int64 of a vector [n] of fewer than 2³² words, on its device, which nobody waits for."""
    width = {1: torch.uint8, 2: torch.int16}.get(vector.element_size(), torch.int32)
    return weighted_sum(vector.contiguous().view(width))


def entries_checksums(messages: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """The checksums [messages] int64 of packed entries, or of such with zeros behind them; waits for nothing.

    Args:
        messages: [bytes] uint8, at least one.
        dtype: of the values.
    """
    width = torch.int16 if dtype.itemsize == torch.int16.itemsize else torch.int32
    return _of_each([message.view(width) for message in messages], weighted_sum)


def misplaced(indices: Sequence[Tensor], dimension: int) -> Tensor:
    """Of each of some vectors of indices [m], whether they do not ascend strictly within [0, d); waits for nothing."""
    return _of_each(indices, lambda vectors: _are_misplaced(vectors, dimension))


def index_fault(indices: Tensor, dimension: int) -> tuple[Fault, int, int]:
    """What is wrong with indices [m] first, at which place, and which index it is; waits for their device.

    `Fault.NONE` if they ascend strictly within [0, d).
    """
    if not bool(_are_misplaced(indices, dimension)):
        return Fault.NONE, 0, 0
    outside = (indices < 0) | (indices >= dimension)
    falls = torch.zeros_like(outside)
    falls[1:] = indices[1:] <= indices[:-1]
    place = int((outside | falls).int().argmax())
    return (Fault.RANGE if bool(outside[place]) else Fault.ORDER), place, int(indices[place])


def weighted_sum(words: Tensor, *, first: int = 1) -> Tensor:
    """Σ (first + i)wᵢ modulo 2⁶⁴ over the last axis of words [..., n] of at most 32 bits, int64; waits for nothing."""
    count = words.shape[-1]
    if count == 0:
        return words.new_zeros(words.shape[:-1], dtype=torch.int64)
    if count < _LONG:
        # Sums up to each word count the first word n times, and the last one once.
        sums = words.cumsum(-1, dtype=torch.int64)
        return sums[..., -1].mul(count + first).sub_(sums.sum(-1))
    row_count = count // _ROW
    rows = words[..., : row_count * _ROW].unflatten(-1, (row_count, _ROW))
    places = torch.arange(max(row_count, _ROW), device=words.device)
    before = (rows.sum(-1, dtype=torch.int64) * places[:row_count]).sum(-1) * _ROW
    within = (rows.sum(-2, dtype=torch.int64) * (places[:_ROW] + first)).sum(-1)
    rest = weighted_sum(words[..., row_count * _ROW :], first=first + row_count * _ROW)
    total: Tensor = before + within + rest
    return total


def _of_each(vectors: Sequence[Tensor], question: Callable[[Tensor], Tensor]) -> Tensor:
    """The answers [vectors]; asked once of vectors of one length, if they are short enough to be copied."""
    if len({*map(len, vectors)}) == 1 and len(vectors[0]) < _LONG:
        return question(torch.stack([*vectors]))
    return torch.stack([question(vector) for vector in vectors])


def _are_misplaced(indices: Tensor, dimension: int) -> Tensor:
    """Whether indices [..., m] do not ascend strictly within [0, d), [...] bool."""
    if not indices.shape[-1]:
        return indices.new_zeros(indices.shape[:-1], dtype=torch.bool)
    falls = (indices[..., 1:] <= indices[..., :-1]).any(-1)
    return falls | (indices[..., 0] < 0) | (indices[..., -1] >= dimension)
