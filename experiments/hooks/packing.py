"""One buffer for each exchange: values, indices and a head, of a length that all ranks know beforehand.

int32 words: the values with padding, their indices with padding, then magic, step, a flag for each piece, a count for
each selection. The length follows from the layout alone, so one all-gather carries everything, whatever each rank
selected. Values come first, for those of eight bytes have to begin at a multiple of eight. Selections whose values are
sent in few bits are one message instead, at the end, in a room for the longest that there can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from sparsync.experiments.hooks.coding import read_message

_MAGIC = 0x5350_4B31
_LARGEST = torch.iinfo(torch.int32).max
NON_FINITE, ZERO = 1, 2
"""Flags of a piece: its gradient is not finite somewhere; it is zero everywhere."""


class ExchangeError(RuntimeError):
    """The ranks do not send what belongs together."""


@dataclass(frozen=True)
class Layout:
    """What the buffer of an exchange holds.

    Args:
        piece_count: of parameters' gradients, each with a flag.
        capacities: how many entries each selection returns at most.
        dtype: of the values, float32 or float64.
        room_bytes: of a message that holds other selections; 0 if there is none.
    """

    piece_count: int
    capacities: tuple[int, ...]
    dtype: torch.dtype
    room_bytes: int = 0

    @property
    def capacity(self) -> int:
        """Entries of all selections together."""
        return sum(self.capacities)

    @property
    def value_words(self) -> int:
        """Words of all values."""
        return self.capacity * (self.dtype.itemsize // torch.int32.itemsize)

    @property
    def words(self) -> int:
        """The length of the buffer, an even number."""
        words = self._message + -(-self.room_bytes // torch.int32.itemsize)
        return words + words % 2

    def pack(
        self,
        step: int,
        flags: Sequence[int],
        parts: Sequence[tuple[Tensor, Tensor, Tensor]],
        *,
        device: torch.device,
        message: Tensor | None = None,
    ) -> Tensor:
        """The buffer [words] int32.

        Args:
            step: of the run, from 0.
            flags: of each piece.
            parts: of some selections each, in order: values in `dtype` and indices int32, each selection's m in its
                places, the others are not looked at; and counts m int32.
            device: of the buffer.
            message: [room] uint8, where there is room for one.
        """
        buffer = self.pack_nothing(step, flags, device)
        values, indices, counts = 0, self.value_words, self._head + 2 + self.piece_count
        words = self.value_words // max(1, self.capacity)
        for its_values, its_indices, its_counts in parts:
            buffer[values : values + words * len(its_values)].view(self.dtype).copy_(its_values)
            buffer[indices : indices + len(its_indices)] = its_indices
            buffer[counts : counts + len(its_counts)] = its_counts
            values += words * len(its_values)
            indices += len(its_indices)
            counts += len(its_counts)
        if message is not None:
            self._room_of(buffer).copy_(message)
        return buffer

    def pack_nothing(self, step: int, flags: Sequence[int], device: torch.device) -> Tensor:
        """The same without an entry."""
        buffer = torch.zeros(self.words, dtype=torch.int32, device=device)
        head = torch.tensor([_MAGIC, step & _LARGEST, *flags], dtype=torch.int32)
        buffer[self._head : self._head + len(head)] = head.to(device)
        return buffer

    @property
    def _head(self) -> int:
        return self.value_words + self.capacity

    @property
    def _message(self) -> int:
        """Where it begins."""
        return self._head + 2 + self.piece_count + len(self.capacities)

    def _room_of(self, buffer: Tensor) -> Tensor:
        return buffer[self._message :].view(torch.uint8)[: self.room_bytes]

    def flags(self, buffers: Tensor, step: int) -> list[list[int]]:
        """The flags of every piece, of each rank; waits for the device.

        Args:
            buffers: [ranks, words] int32, of all ranks in order.
            step: of this rank.

        Raises:
            ExchangeError: a rank's buffer is of another step, or is none.
        """
        heads = buffers[:, self._head : self._head + 2 + self.piece_count].tolist()
        for rank, (magic, its_step, *_) in enumerate(heads):
            if magic != _MAGIC:
                raise ExchangeError(f"step {step}: what rank {rank} sent is no packed gradient")
            if its_step != step & _LARGEST:
                raise ExchangeError(f"step {step}: rank {rank} is at step {its_step}")
        return [flags for _, _, *flags in heads]

    def entries(self, buffer: Tensor) -> tuple[Tensor, Tensor]:
        """The indices [m] int64 and values [m] of all selections of one rank; waits for the device.

        Args:
            buffer: [words] int32, of one rank that has packed some.

        Raises:
            ValueError: a message is none.
        """
        indices, values = self._uncoded(buffer)
        if not self.room_bytes:
            return indices, values
        coded_indices, coded_values = read_message(self._room_of(buffer))
        return torch.cat([indices, coded_indices]), torch.cat([values, coded_values])

    def _uncoded(self, buffer: Tensor) -> tuple[Tensor, Tensor]:
        start = self._head + 2 + self.piece_count
        counts = buffer[start : start + len(self.capacities)].tolist()
        values = buffer[: self.value_words].view(self.dtype)
        indices = buffer[self.value_words : self.value_words + self.capacity]
        if counts == list(self.capacities):
            return indices.long(), values
        firsts = accumulate(self.capacities[:-1], initial=0)
        spans = [slice(first, first + count) for first, count in zip(firsts, counts, strict=True)]
        return torch.cat([indices[span] for span in spans]).long(), torch.cat([values[span] for span in spans])
