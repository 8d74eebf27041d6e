"""One buffer for each exchange: values, indices and a head, of a length that all ranks know beforehand.

int32 words: the values with padding, their indices with padding, then the head: magic, version and a digest of the
layout in one word, the step, a checksum of the whole buffer in two words; a flag for each piece, a count for each
selection. The length follows from the layout alone, so one all-gather carries everything, whatever each rank selected.
Values come first, for those of eight bytes have to begin at a multiple of eight. Selections whose values are sent in
few bits are one message instead, at the end, in a room for the longest that there can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from sparsync.experiments.averaging.checksum import weighted_sum
from sparsync.experiments.averaging.header import VERSION, ExchangeError, settings_digest
from sparsync.experiments.hooks.coding import read_message

_MAGIC = 0x53
_LARGEST = torch.iinfo(torch.int32).max
_HEAD_WORDS, _CALL_WORDS = 4, 2
"""Of the head before the flags; of these, before the checksum, those that are the same on all ranks."""
NON_FINITE, ZERO = 1, 2
"""Flags of a piece: its gradient is not finite somewhere; it is zero everywhere."""
CHANGED, MISPLACED = 1, 2
"""Faults of a rank's buffer: it is not what was sent; its indices or counts are none that can be."""
Flags = Sequence[int] | Tensor
"""Of each piece; or [pieces] int32 on the device, for which the host does not wait."""


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
        buffer = self._unsigned(step, flags, device)
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
        return self._signed(buffer)

    def pack_nothing(self, step: int, flags: Flags, device: torch.device) -> Tensor:
        """The same without an entry; waits for the device if the flags are not there."""
        return self._signed(self._unsigned(step, flags, device))

    def _unsigned(self, step: int, flags: Flags, device: torch.device) -> Tensor:
        """Without an entry and without a checksum."""
        buffer = torch.zeros(self.words, dtype=torch.int32, device=device)
        head = self.heads(buffer)
        head[:1].fill_(self._kind)
        head[1:2].fill_(step & _LARGEST)
        head[_HEAD_WORDS:].copy_(torch.as_tensor(flags, dtype=torch.int32))
        return buffer

    def _signed(self, buffer: Tensor) -> Tensor:
        """With the checksum of all other words."""
        self._checksum_of(buffer).copy_(weighted_sum(buffer).view(1).view(torch.int32))
        return buffer

    @cached_property
    def _kind(self) -> int:
        """Magic and version, of eight bits each, and sixteen of a digest."""
        return _MAGIC << 24 | VERSION << 16 | settings_digest(self) & 0xFFFF

    def _checksum_of(self, buffers: Tensor) -> Tensor:
        """The words [..., 2] of the checksum, a part of buffers [..., words]."""
        return buffers[..., self._head + _CALL_WORDS : self._head + _HEAD_WORDS]

    def are_intact(self, buffers: Tensor) -> Tensor:
        """Whether each of buffers [ranks, words] has its checksum, [ranks] bool; waits for nothing."""
        words = self._checksum_of(buffers)
        own = weighted_sum(words, first=self._head + _CALL_WORDS + 1)
        told = words.contiguous().view(torch.int64).squeeze(-1)
        return weighted_sum(buffers) - own == told

    def are_alike(self, buffers: Tensor) -> Tensor:
        """Whether all buffers [ranks, words] are of one version, layout and step, [] bool; waits for nothing."""
        calls = self.heads(buffers)[:, :_CALL_WORDS]
        return (calls == calls[:1]).all()

    @property
    def _head(self) -> int:
        return self.value_words + self.capacity

    @property
    def _counts(self) -> int:
        return self._head + _HEAD_WORDS + self.piece_count

    @property
    def _message(self) -> int:
        """Where it begins."""
        return self._counts + len(self.capacities)

    def _room_of(self, buffer: Tensor) -> Tensor:
        return buffer[self._message :].view(torch.uint8)[: self.room_bytes]

    def heads(self, buffers: Tensor) -> Tensor:
        """The head with the flags [..., 4 + pieces] of buffers [..., words] int32, a part of these."""
        return buffers[..., self._head : self._counts]

    def flags_in(self, buffers: Tensor) -> Tensor:
        """The flags [..., pieces] of buffers [..., words], a part of these."""
        return buffers[..., self._head + _HEAD_WORDS : self._counts]

    def places(self, buffers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Values and indices [..., capacity] and counts [..., selections] of buffers without messages, parts of these.

        What lies in a selection's places from its count on is not known.
        """
        values = buffers[..., : self.value_words].view(self.dtype)
        return values, buffers[..., self.value_words : self._head], buffers[..., self._counts : self._message]

    def flags(self, heads: Tensor, faults: Tensor, step: int) -> list[list[int]]:
        """The flags of every piece, of each rank; waits for the device.

        Args:
            heads: [ranks, 4 + pieces] int32, of all ranks in order.
            faults: [ranks] int32, of their buffers: `CHANGED`, `MISPLACED`, both or 0.
            step: of this rank.

        Raises:
            ExchangeError: a rank's buffer is of another version, layout or step, or is none, or it has a fault.
        """
        found = torch.cat([heads, faults.unsqueeze(1)], dim=1).tolist()
        for rank, (kind, its_step, *_, fault) in enumerate(found):
            if kind >> 24 != _MAGIC:
                raise ExchangeError(f"step {step}: what rank {rank} sent is no packed gradient")
            if (version := kind >> 16 & 0xFF) != VERSION:
                raise ExchangeError(f"step {step}: rank {rank} speaks version {version} of the protocol, not {VERSION}")
            if its_step != step & _LARGEST:
                raise ExchangeError(f"step {step}: rank {rank} is at step {its_step}")
            if kind != self._kind:
                raise ExchangeError(f"step {step}: rank {rank} sent gradients of other parameters or densities")
            if fault & CHANGED:
                raise ExchangeError(f"step {step}: what rank {rank} sent was changed on its way")
            if fault & MISPLACED:
                raise ExchangeError(f"step {step}: rank {rank} sent indices that do not ascend within their parameters")
        return [row[_HEAD_WORDS:-1] for row in found]

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
