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
Flags = Sequence[int] | Tensor
"""Of each piece; or [pieces] int32 on the device, for which the host does not wait."""


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
        flags: Flags,
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
        values, indices, counts = 0, self.value_words, self._counts
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

    def pack_nothing(self, step: int, flags: Flags, device: torch.device) -> Tensor:
        """The same without an entry; waits for the device if the flags are not there."""
        buffer = torch.zeros(self.words, dtype=torch.int32, device=device)
        head = self.heads(buffer)
        head[:1].fill_(_MAGIC)
        head[1:2].fill_(step & _LARGEST)
        head[2:].copy_(torch.as_tensor(flags, dtype=torch.int32))
        return buffer

    @property
    def _head(self) -> int:
        return self.value_words + self.capacity

    @property
    def _counts(self) -> int:
        return self._head + 2 + self.piece_count

    @property
    def _message(self) -> int:
        """Where it begins."""
        return self._counts + len(self.capacities)

    def _room_of(self, buffer: Tensor) -> Tensor:
        return buffer[self._message :].view(torch.uint8)[: self.room_bytes]

    def heads(self, buffers: Tensor) -> Tensor:
        """Magic, step and flags [..., 2 + pieces] of buffers [..., words] int32, a part of these."""
        return buffers[..., self._head : self._counts]

    def places(self, buffers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values and indices [..., capacity] and counts [..., selections] of buffers without messages, parts of these.

        What lies in a selection's places from its count on is not known.
        """
        values = buffers[..., : self.value_words].view(self.dtype)
        return values, buffers[..., self.value_words : self._head], buffers[..., self._counts : self._message]

    def flags(self, heads: Tensor, step: int) -> list[list[int]]:
        """The flags of every piece, of each rank; waits for the device.

        Args:
            heads: [ranks, 2 + pieces] int32, of all ranks in order.
            step: of this rank.

        Raises:
            ExchangeError: a rank's buffer is of another step, or is none.
        """
        found = heads.tolist()
        for rank, (magic, its_step, *_) in enumerate(found):
            if magic != _MAGIC:
                raise ExchangeError(f"step {step}: what rank {rank} sent is no packed gradient")
            if its_step != step & _LARGEST:
                raise ExchangeError(f"step {step}: rank {rank} is at step {its_step}")
        return [flags for _, _, *flags in found]

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
        values, indices, found = self.places(buffer)
        counts = found.tolist()
        if counts == list(self.capacities):
            return indices.long(), values
        firsts = accumulate(self.capacities[:-1], initial=0)
        spans = [slice(first, first + count) for first, count in zip(firsts, counts, strict=True)]
        return torch.cat([indices[span] for span in spans]).long(), torch.cat([values[span] for span in spans])
