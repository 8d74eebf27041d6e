"""A parcel from server to worker or back: a typed header, a short text, and raw bytes. Nothing in it is ever executed.

The header has 64 bytes, little-endian: "SPSE", the version of the protocol, the kind, the worker, its incarnation, how
many parcels came before in this direction, the lengths of text and body, and the CRC-32 of each. The text is a JSON
list; who reads it checks every field. Both ends hold a process group of two, so that one that dies takes nobody along.
A body may also travel another way, to all workers at once; its length and checksum are in each parcel all the same.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

VERSION = 2
SILENCE = timedelta(days=1)
"""How long a connection may be idle: a worker may compute, or wait, for as long; its pulse says that it lives."""
HEADER_BYTES = 64
LARGEST_TEXT_BYTES = 2**26
_MAGIC = b"SPSE"
# Magic, version, kind, worker, incarnation, number, text bytes, body bytes, their checksums.
_FORM = struct.Struct("<4sHHiiqqqII")
_PADDING = bytes(HEADER_BYTES - _FORM.size)


class ParcelError(RuntimeError):
    """A parcel that no honest peer of this version has sent, or one that was changed on its way."""


class LostPeerError(ConnectionError):
    """The other end is gone, or silent for longer than it may be."""


class Kind(IntEnum):
    """What a parcel is; orders go to a worker, reports come from it."""

    READ = 1
    KEEP = 2
    COMPUTE = 3
    SHIP = 4
    EXCHANGE = 5
    SHOW = 6
    FINISH = 7
    FETCH = 8
    READY = 16
    STEPPED = 17
    MESSAGE = 18
    EXCHANGED = 19
    SHOWN = 20
    FAILED = 21
    FETCHED = 22


@dataclass(frozen=True)
class Parcel:
    """What is said.

    Args:
        kind: which order or report.
        fields: of it, as JSON can hold them.
        body_bytes: that follow, for those who have asked for the head only.
    """

    kind: Kind
    fields: list[Any]
    body_bytes: int = 0


class Channel:
    """One end of the way between the server and one life of a worker.

    One thread may send while another receives; a body is received by whoever has received its head.

    Args:
        group: of two processes, the server being rank 0.
        is_server: this end is the server's.
        worker: at the other end, or at this one.
        incarnation: which life of that worker, from 0.
    """

    def __init__(self, group: dist.ProcessGroup, *, is_server: bool, worker: int, incarnation: int) -> None:
        self.worker, self.incarnation = worker, incarnation
        self._group, self._peer = group, int(is_server)
        self._send_tag, self._receive_tag = (0, 1) if is_server else (1, 0)
        self._sent_count = self._received_count = 0
        self._body_checksum = 0

    def send(self, kind: Kind, fields: list[Any], body: Tensor | None = None, *, is_apart: bool = False) -> None:
        """Say something, with a body [n] uint8 perhaps, which another sends where it travels apart.

        Raises:
            LostPeerError: nobody takes it.
        """
        text = json.dumps(fields, allow_nan=False, separators=(",", ":")).encode()
        size = 0 if body is None else body.numel()
        head = _FORM.pack(
            _MAGIC,
            VERSION,
            kind,
            self.worker,
            self.incarnation,
            self._sent_count,
            len(text),
            size,
            zlib.crc32(text),
            0 if body is None else zlib.crc32(body.numpy().data),
        )
        self._sent_count += 1
        # A tensor of nothing cannot be sent, and a text is never empty.
        for part in (head + _PADDING, text):
            self._push(torch.frombuffer(bytearray(part), dtype=torch.uint8))
        if body is not None and size and not is_apart:
            self._push(body)

    def receive(self) -> Parcel:
        """The next parcel, but for its body.

        Raises:
            LostPeerError: the other end is gone.
            ParcelError: it is none of this protocol, of another worker or life, out of its turn, or damaged.
        """
        head = self._pull(HEADER_BYTES)
        magic, version, number, worker, life, place, text_bytes, body_bytes, *sums = _FORM.unpack_from(head)
        if magic != _MAGIC or head[_FORM.size :] != _PADDING:
            raise ParcelError(f"worker {self.worker}: no header of a parcel")
        if version != VERSION:
            raise ParcelError(f"worker {self.worker}: a parcel of protocol {version}, this is {VERSION}")
        said, expected = (worker, life, place), (self.worker, self.incarnation, self._received_count)
        if said != expected:
            raise ParcelError(f"a parcel of worker, life and number {said}, expected is {expected}")
        if not (2 <= text_bytes <= LARGEST_TEXT_BYTES and body_bytes >= 0):
            raise ParcelError(f"worker {self.worker}: a text of {text_bytes} and a body of {body_bytes} bytes")
        text = self._pull(text_bytes)
        if zlib.crc32(text) != sums[0]:
            raise ParcelError(f"worker {self.worker}: a text that was changed on its way")
        self._received_count += 1
        self._body_checksum = sums[1]
        try:
            fields = json.loads(text)
            kind = Kind(number)
        except ValueError as error:
            raise ParcelError(f"worker {self.worker}: {error}") from None
        if not isinstance(fields, list):
            raise ParcelError(f"worker {self.worker}: the text of a parcel is no list")
        return Parcel(kind, fields, body_bytes)

    def receive_body(
        self, parcel: Parcel, most_bytes: int, take_apart: Callable[[Tensor], None] | None = None
    ) -> Tensor:
        """The body [n] uint8 of the parcel that was received last; `take_apart` receives one that travels apart.

        Raises:
            LostPeerError: the other end is gone.
            ParcelError: it has more bytes than that, or was changed on its way.
        """
        if parcel.body_bytes > most_bytes:
            raise ParcelError(f"worker {self.worker}: a body of {parcel.body_bytes} bytes, at most {most_bytes} can be")
        body = torch.empty(parcel.body_bytes, dtype=torch.uint8)
        if parcel.body_bytes:
            (take_apart or self._take)(body)
        if zlib.crc32(body.numpy().data) != self._body_checksum:
            raise ParcelError(f"worker {self.worker}: a body that was changed on its way")
        return body

    def _push(self, part: Tensor) -> None:
        try:
            self._group.send([part], self._peer, self._send_tag).wait(SILENCE)
        except RuntimeError as error:
            raise LostPeerError(f"worker {self.worker}, life {self.incarnation}: {error}") from None

    def _pull(self, size: int) -> bytes:
        part = torch.empty(size, dtype=torch.uint8)
        self._take(part)
        return part.numpy().tobytes()

    def _take(self, part: Tensor) -> None:
        try:
            self._group.recv([part], self._peer, self._receive_tag).wait(SILENCE)
        except RuntimeError as error:
            raise LostPeerError(f"worker {self.worker}, life {self.incarnation}: {error}") from None
