"""What every exchange begins and ends with: headers that fit together, and that all have received what was sent.

Before the first header a worker looks at its own indices, and says so if they are wrong: no other waits for entries
that will not come. Before the last it has compared what it received with the checksums of who sent it. So a mean is
returned on all workers or on none.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from sparsync.experiments.averaging.checksum import checksum, entries_checksums, index_fault, misplaced
from sparsync.experiments.averaging.coded import CodedPayload, value_code
from sparsync.experiments.averaging.header import (
    DTYPES,
    HEADER_BYTES,
    ExchangeError,
    Fault,
    Header,
    headers_in,
    require_common,
    require_fitting,
    settings_digest,
)
from sparsync.experiments.averaging.messages import AllGather, Average, Conversation, Place, Procedure
from sparsync.experiments.averaging.payloads import Entries, packed, unpacked
from sparsync.kernels.payload import SparsePayload

ENVELOPE_BYTES = 2 * HEADER_BYTES
"""Of each worker in each exchange: the header that it begins with, and the one that it ends with."""
ROW_LENGTH = 3
"""Numbers that `gathered_floats` takes from each worker at most: a header has three words of 64 bits."""
_LARGEST_DIMENSION = torch.iinfo(torch.int32).max


@dataclass(frozen=True, eq=False)
class Received:
    """A message of packed entries, [bytes] uint8, perhaps with zeros behind them, and what was said of it before.

    Args:
        rank: that it came from.
        message: itself.
        count: m.
        checksum: of it.
    """

    rank: int
    message: Tensor
    count: int
    checksum: int


class Exchange:
    """An exchange that all workers have begun, as one of them sees it.

    Args:
        headers: of all, in rank order.
        rank: of this one.
        device: where its messages are.
        is_checked: checksums are compared; not where all workers live in one process.
    """

    def __init__(self, headers: Sequence[Header], rank: int, device: torch.device, *, is_checked: bool) -> None:
        self._headers, self._rank, self._device = headers, rank, device
        self._is_checked = is_checked
        self._blamed: int | None = None
        self.is_closed = False

    @property
    def counts(self) -> list[int]:
        """Of all workers' entries, in rank order."""
        return [header.count for header in self._headers]

    @property
    def checksums(self) -> list[int]:
        """Of all workers' payloads, in rank order."""
        return [header.checksum for header in self._headers]

    def checksum_of(self, message: Tensor, dtype: torch.dtype) -> int:
        """What receivers of packed entries are told; 0 where nobody compares. Waits for the device."""
        return int(entries_checksums([message], dtype)) if self._is_checked else 0

    def verified(self, received: Sequence[Received], dtype: torch.dtype) -> list[Entries]:
        """The entries that were received, in order; none in place of those that are not what was sent.

        Waits for the device.

        Args:
            received: of other workers, and perhaps of this one.
            dtype: of the values.
        """
        size = dtype.itemsize + torch.int32.itemsize
        entries = [unpacked(one.message[: one.count * size], dtype) for one in received]
        foreign = [place for place, one in enumerate(received) if one.rank != self._rank and self._is_checked]
        if not foreign:
            return entries
        sums = entries_checksums([received[place].message for place in foreign], dtype)
        dimension = self._headers[self._rank].dimension
        wrong = misplaced([entries[place].indices for place in foreign], dimension)
        for place, actual, is_misplaced in zip(foreign, *torch.stack([sums, wrong]).tolist(), strict=True):
            if actual != received[place].checksum or is_misplaced:
                self.blame(received[place].rank)
                entries[place] = unpacked(received[place].message[:0], dtype)
        return entries

    def blame(self, rank: int) -> None:
        """Remember for the end that what came from a rank is not what was sent."""
        self._blamed = rank

    def require_count(self, count: int, rank: int) -> int:
        """A number of entries that a rank says will come from it, once it is one that can be.

        Raises:
            ExchangeError: it is not; on this worker alone, for nobody knows how to go on.
        """
        header = self._headers[self._rank]
        if not 0 <= count <= header.dimension:
            raise ExchangeError(f"{header.title}: rank {rank} says that {count} entries of {header.dimension} come")
        return count

    def agreed(self, form: Callable[[], Tensor]) -> Conversation[Tensor]:
        """A result that all workers form of the same vectors, once it has the same bits everywhere, and the end.

        Args:
            form: makes it, [d].

        Raises:
            ExchangeError: on every worker, see `close`.
        """
        if not self._is_checked:
            yield from self.close()
            return form()
        result = form()
        yield from self.close(int(checksum(result)))
        return result

    def close(self, result: int = 0) -> Conversation[None]:
        """The end of the exchange: every worker says whether it received what was sent.

        Args:
            result: a checksum that has to be the same everywhere.

        Raises:
            ExchangeError: on every worker, if one of them did not, or results differ.
        """
        self.is_closed = True
        own = replace(self._headers[self._rank], is_closing=True, checksum=result)
        if self._blamed is not None:
            own = replace(own, fault=Fault.CHANGED, count=self._blamed)
        headers = headers_in((yield AllGather(own.message(self._device))), own.title)
        if others := [rank for rank, header in enumerate(headers) if header.checksum != headers[0].checksum]:
            raise ExchangeError(f"{own.title}: ranks {others} have another result than rank 0 from the same vectors")


def begun(header: Header, place: Place, device: torch.device) -> Conversation[Exchange]:
    """What every worker begins with: its header to all others.

    Args:
        header: this worker's.
        place: where it stands.
        device: where its messages are.

    Raises:
        ExchangeError: on every worker alike, if headers do not fit together.
    """
    headers = headers_in((yield AllGather(header.message(device))), header.title)
    require_fitting(headers)
    return Exchange(headers, place.rank, device, is_checked=place.is_checked)


Body: TypeAlias = Callable[[SparsePayload, Exchange], Conversation[Average]]
"""What a worker does with its payload once all have begun; without the bytes of the headers."""


def in_envelope(kind: str, body: Body, place: Place, *, sends_entries: bool) -> Procedure:
    """The same from the first header to the last, whose bytes are counted.

    Args:
        kind: what headers call it.
        body: what comes between.
        place: of the worker.
        sends_entries: as they are in the payload, so that their checksum belongs into the header.
    """

    def average(payload: SparsePayload, step: int) -> Conversation[Average]:
        header = payload_header(kind, step, payload, place)
        if sends_entries and place.is_checked and not header.fault:
            message = packed(Entries(payload.values, payload.indices))
            header = replace(header, checksum=int(entries_checksums([message], payload.values.dtype)))
        exchange = yield from begun(header, place, payload.values.device)
        found = yield from body(payload, exchange)
        if not exchange.is_closed:
            yield from exchange.close()
        headers = ENVELOPE_BYTES * place.size
        between = found.between_nodes_bytes
        if between is not None:
            # All gather them, and so they leave a node if there is another.
            between += headers * (place.size > place.node_size)
        return replace(found, sent_bytes=found.sent_bytes + headers, between_nodes_bytes=between)

    return average


def payload_header(kind: str, step: int, payload: SparsePayload, place: Place) -> Header:
    """What a worker says of its payload, but for the checksum, or why nobody can receive it; waits for its device."""
    dtype, count, checked = payload.values.dtype, payload.count, 0
    fault = Fault.NONE
    if dtype not in DTYPES:
        fault = Fault.DTYPE
    elif payload.dimension > _LARGEST_DIMENSION:
        fault = Fault.DIMENSION
    else:
        fault, place_of_fault, index = index_fault(payload.indices, payload.dimension)
        if fault:
            count, checked = place_of_fault, index
    return Header(
        kind,
        step,
        dimension=payload.dimension,
        dtype=dtype if dtype in DTYPES else None,
        count=count,
        checksum=checked,
        node_size=place.node_size,
        # A message of the codec has another form, even one of values as they are.
        settings=settings_digest(
            (place.rank_order, place.link, isinstance(payload, CodedPayload), value_code(payload))
        ),
        fault=fault,
    )


def gathered_floats(row: Sequence[float], step: int, device: torch.device) -> Conversation[list[list[float]]]:
    """Every worker's numbers, in rank order, bit for bit: they travel in the header itself.

    Args:
        row: up to `ROW_LENGTH` numbers of this worker, of all workers as many.
        step: of the call.
        device: where messages are.

    Raises:
        ExchangeError: on every worker alike, if one of them is in another call, or has another number of numbers.
    """
    length = len(row)
    bits = [struct.unpack("<q", struct.pack("<d", number))[0] for number in row] + [0] * (ROW_LENGTH - length)
    own = Header("gather", step, checksum=bits[0], count=bits[1], dimension=bits[2], settings=length)
    headers = headers_in((yield AllGather(own.message(device))), own.title)
    require_common(f"{own.title}: different numbers of numbers", [header.settings for header in headers])
    rows = [(header.checksum, header.count, header.dimension)[:length] for header in headers]
    return [[float(struct.unpack("<d", struct.pack("<q", word))[0]) for word in words] for words in rows]
