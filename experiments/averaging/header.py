"""The header of every message: what is said, in which step, of what vectors, and by which checksum they are known.

64 bytes of one form for all kinds, so that ranks in different calls still meet in transport, and hear of it. All ranks
receive the same headers, and refuse them alike. Hooks, whose ranks have agreed on lengths before, put a shorter head
into their buffers, see `experiments/hooks/packing.py`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import torch
from torch import Tensor

VERSION = 1
"""Of the protocol; where ranks differ in it they refuse each other."""
HEADER_BYTES = 64
DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
_MAGIC = b"SPSW"
_KIND_BYTES = 16
_STEPS = 2**32
# Magic, version, closing, fault, dtype, kind, step, node size, settings, dimension, count, checksum.
_FORM = struct.Struct(f"<4s4B{_KIND_BYTES}s3I3q")
_CHECK = struct.Struct("<I")
assert _FORM.size + _CHECK.size == HEADER_BYTES


class ExchangeError(ValueError):
    """What ranks say does not belong together, was changed on its way, or did not arrive; all ranks raise it alike."""


class Fault(IntEnum):
    """Why a rank has nothing to send that belongs to its header, or what it says of what it received."""

    NONE = 0
    DTYPE = 1
    DIMENSION = 2
    RANGE = 3
    ORDER = 4
    CHANGED = 5


_FAULTS = frozenset(map(int, Fault))


@dataclass(frozen=True)
class Header:
    """What a message is.

    Args:
        kind: "gather", "mean", a collective, …; at most 16 letters of ASCII.
        step: how many calls of this averager, or steps of this run, came before; modulo 2³².
        dimension: d of the vectors.
        dtype: of the values; None where there are none, or none of `DTYPES`.
        count: m, of the entries that follow. With the fault `RANGE` or `ORDER` the place of the first index that is
            wrong; with `CHANGED` the rank that had sent what was changed.
        checksum: of the entries; with `RANGE` or `ORDER` that index. Of gathered numbers, up to three, `checksum`,
            `count` and `dimension` hold the bits, and `settings` says how many there are.
        node_size: on which ranks have to agree.
        settings: a digest of what else they have to agree on.
        is_closing: an exchange ends with it, otherwise one begins.
        fault: if there is one.
    """

    kind: str
    step: int
    dimension: int = 0
    dtype: torch.dtype | None = None
    count: int = 0
    checksum: int = 0
    node_size: int = 1
    settings: int = 0
    is_closing: bool = False
    fault: Fault = Fault.NONE

    @property
    def title(self) -> str:
        """What an error begins with."""
        return f"{self.kind}, step {self.step % _STEPS}"

    def packed(self) -> bytes:
        """The header as it travels."""
        dtype = 0 if self.dtype is None else 1 + DTYPES.index(self.dtype)
        body = _FORM.pack(
            _MAGIC,
            *(VERSION, self.is_closing, self.fault, dtype),
            self.kind.encode("ascii"),
            *(self.step % _STEPS, self.node_size % _STEPS, self.settings),
            *(self.dimension, self.count, self.checksum),
        )
        return body + _CHECK.pack(zlib.crc32(body))

    def message(self, device: torch.device) -> Tensor:
        """The same, [64] uint8 on a device."""
        return torch.frombuffer(bytearray(self.packed()), dtype=torch.uint8).to(device)


def settings_digest(settings: object) -> int:
    """32 bits that hardly any other settings have; compared as `repr` prints them."""
    return zlib.crc32(repr(settings).encode())


def unpacked_header(message: bytes) -> Header | int | None:
    """The header that was packed; the version of another protocol than ours; or None: this is no header."""
    if len(message) != HEADER_BYTES or message[:4] != _MAGIC:
        return None
    body, (check,) = message[: _FORM.size], _CHECK.unpack(message[_FORM.size :])
    if message[4] != VERSION:
        return message[4]
    _, _, closing, fault, dtype, kind, step, node_size, settings, dimension, count, checksum = _FORM.unpack(body)
    if check != zlib.crc32(body) or closing > 1 or fault not in _FAULTS or dtype > len(DTYPES):
        return None
    return Header(
        kind=kind.rstrip(b"\0").decode("ascii", errors="replace"),
        step=step,
        dimension=dimension,
        dtype=DTYPES[dtype - 1] if dtype else None,
        count=count,
        checksum=checksum,
        node_size=node_size,
        settings=settings,
        is_closing=bool(closing),
        fault=Fault(fault),
    )


def headers_in(messages: Sequence[Tensor], title: str) -> list[Header]:
    """Every rank's header, in rank order, once all are known to be of one call; waits for their device.

    Args:
        messages: [64] uint8 each.
        title: of this rank's call, for the error.

    Raises:
        ExchangeError: on every rank alike, if one of them has sent no header of this version, ranks are in calls of
            different kinds or steps, or one of them says that it has a fault.
    """
    raw = torch.stack(list(messages)).cpu().numpy()
    found = [unpacked_header(row.tobytes()) for row in raw]
    if any(not isinstance(header, Header) for header in found):
        raise ExchangeError(f"{title}: {_strangers(found)}")
    headers = [header for header in found if isinstance(header, Header)]
    calls = [f"{header.kind} of step {header.step}{' (its end)' if header.is_closing else ''}" for header in headers]
    require_common("ranks are in different calls", calls)
    if said := [_fault_words(rank, header) for rank, header in enumerate(headers) if header.fault]:
        raise ExchangeError(f"{headers[0].title}: {'; '.join(said)}")
    return headers


def require_fitting(headers: Sequence[Header]) -> None:
    """Refuse vectors that cannot be averaged, and ranks that would go on differently.

    Raises:
        ExchangeError: on every rank alike, if dimensions, dtypes, sizes of nodes or other settings differ.
    """
    title = headers[0].title
    compared: list[tuple[str, Callable[[Header], object]]] = [
        ("payloads of different dimensions", lambda header: header.dimension),
        ("payloads of different dtypes", lambda header: header.dtype),
        ("nodes of different sizes", lambda header: header.node_size),
        ("averagers of different settings, digests of which are", lambda header: header.settings),
    ]
    for complaint, fact in compared:
        require_common(f"{title}: {complaint}", [fact(header) for header in headers])


def require_common(complaint: str, by_rank: Sequence[object]) -> None:
    """Refuse facts that differ between ranks.

    Raises:
        ExchangeError: they do; all are listed.
    """
    if len(set(by_rank)) > 1:
        raise ExchangeError(f"{complaint}: " + ", ".join(f"{fact} on rank {rank}" for rank, fact in enumerate(by_rank)))


def _strangers(found: Sequence[Header | int | None]) -> str:
    """What is said of headers that are none of ours."""
    said = []
    for rank, header in enumerate(found):
        if header is None:
            said.append(f"what rank {rank} sent is no header, or was changed on its way")
        elif isinstance(header, int):
            said.append(f"rank {rank} speaks version {header} of the protocol, and others version {VERSION}")
    return "; ".join(said)


def _fault_words(rank: int, header: Header) -> str:
    words = {
        Fault.DTYPE: f"has a payload whose dtype is none of {', '.join(map(str, DTYPES))}",
        Fault.DIMENSION: f"has a payload of dimension {header.dimension}, with places that no int32 index reaches",
        Fault.RANGE: f"would send index {header.checksum} at place {header.count}, outside [0, {header.dimension})",
        Fault.ORDER: f"would send index {header.checksum} at place {header.count}, not above the one before it",
        Fault.CHANGED: f"received from rank {header.count} other entries than were sent",
    }
    return f"rank {rank} {words[header.fault]}"
