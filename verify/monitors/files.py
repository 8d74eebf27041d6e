"""A trace as a file that speaks for itself: what run it was, what was promised, every event, an end and a digest.

Lines of JSON. The first is a header with the fields of `Recording`; each event is a line as in `rows.py`; the last is
`["End", seconds, number of events, "SHA-256"]`, the digest of all bytes before its own digits. Null in a guarantee
promises nothing. A file is written whole or not at all, and judged in memory that does not grow with it. Ours.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.rows import (
    LARGEST_INTEGER,
    LARGEST_SECONDS,
    Reader,
    as_row,
    flag,
    from_row,
    integer,
    real,
    several,
    sketch,
    text,
)
from sparsync.verify.monitors.trace import EXACT, LARGEST_DIMENSION, NOTHING, UNITS, Arithmetic, Event, Header, Mass

FORMAT = "sparsync trace 3"
MOST_WORKERS = 2**16
_DIGEST_DIGITS = 64
_AFTER_DIGEST = b'"]\n'
_LONGEST_END = 512
_CHUNK_BYTES = 2**20
_END_SECONDS = real(0, LARGEST_SECONDS)


@dataclass(frozen=True)
class Recording:
    """What a trace file says before its events.

    Args:
        run: what ran, for readers: any JSON; its "name" stands in the verdict.
        cluster: on what, for readers: any JSON.
        guarantee: what was promised of the run.
        worker_count: workers that may ever be there.
        initial: sketch of the model that all start from; of nothing where nobody computes vectors.
        arithmetic: in what they do.
        block_bytes: dense size of each block of the model, as the policy saw it; for a replay, with the next.
        policy_seed: of the policy's random numbers.

    Raises:
        ValueError: the run has no name that can be printed.
    """

    run: Mapping[str, Any]
    cluster: Mapping[str, Any]
    guarantee: Guarantee
    worker_count: int
    initial: Mass = NOTHING
    arithmetic: Arithmetic = EXACT
    block_bytes: tuple[int, ...] = ()
    policy_seed: int = 0

    def __post_init__(self) -> None:
        name = self.run.get("name")
        if not isinstance(name, str) or not name.isprintable() or not name:
            raise ValueError(f"run needs a printable name, got {reprlib.repr(name)}")

    @property
    def name(self) -> str:
        """Of the run."""
        return str(self.run["name"])

    @property
    def header(self) -> Header:
        """What monitors must know."""
        return Header(self.worker_count, self.initial, self.arithmetic.unit_roundoff)


@dataclass(frozen=True)
class StoredTrace:
    """An open trace file, found whole.

    Args:
        recording: what it says of the run.
        events: one after the other, read as they are asked for.
        event_count: how many there are.
        until: when the run ended, in its seconds.
    """

    recording: Recording
    events: Iterator[Event]
    event_count: int
    until: float


def write_trace(path: Path, recording: Recording, events: Iterable[Event], until: float) -> None:
    """Write a trace file: beside the path, then flushed to the disk, then renamed.

    Raises:
        ValueError: no events, or one that could not be read again, or a recording that could not; nothing is written.
        OSError: it cannot be written, and the old file is as it was.
    """
    # PyTorch, which this module brings, takes seconds to import; who reads and judges traces does without.
    from sparsync.verify.tools.provenance import write_whole

    first = _header_row(recording)
    try:
        _recording(_decoded(_line(first), "the header"))
    except TypeError as error:
        raise ValueError(f"the header cannot be written: {error}") from error
    try:
        end = _END_SECONDS(until)
    except ValueError as error:
        raise ValueError(f"until must be {error}, got {until}") from None
    sum_count = len(recording.initial.sums)

    def write(beside: Path) -> None:
        digest, count = hashlib.sha256(), 0
        with beside.open("wb") as file:
            for line in _lines(first, events, sum_count):
                file.write(line)
                digest.update(line)
                count += 1
            if count == 1:
                raise ValueError("a trace without events proves nothing")
            digest.update(_end_line(end, count - 1, "")[: -len(_AFTER_DIGEST)])
            file.write(_end_line(end, count - 1, digest.hexdigest()))

    write_whole(path, write)


def _lines(first: object, events: Iterable[Event], sum_count: int) -> Iterator[bytes]:
    yield _line(first)
    for number, event in enumerate(events):
        row = as_row(event)
        from_row(number, row, sum_count=sum_count)
        yield _line(row)


def _line(value: object) -> bytes:
    return f"{json.dumps(value, allow_nan=False)}\n".encode()


def _end_line(until: float, count: int, digest: str) -> bytes:
    return _line(["End", until, count, digest])


def _header_row(recording: Recording) -> dict[str, Any]:
    guarantee = {name: None if value == math.inf else value for name, value in asdict(recording.guarantee).items()}
    return {
        "format": FORMAT,
        "run": recording.run,
        "cluster": recording.cluster,
        "guarantee": guarantee,
        "worker_count": recording.worker_count,
        "initial": recording.initial,
        "arithmetic": recording.arithmetic._asdict(),
        "block_bytes": recording.block_bytes,
        "policy_seed": recording.policy_seed,
    }


@contextmanager
def stored_trace(path: Path) -> Iterator[StoredTrace]:
    """Open a trace file, after its end and its digest were found to be right.

    Raises:
        ValueError: it is no trace file, cut off, damaged or empty, or says something that cannot be; reading the events
            may raise it, too.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise ValueError("there is no such file")
    with path.open("rb") as file:
        until, count, end_place = _require_whole(file)
        file.seek(0)
        recording = _recording(_decoded(file.readline(), "the header"))
        yield StoredTrace(recording, _events(file, recording, count, end_place), count, until)


def _require_whole(file: BinaryIO) -> tuple[float, int, int]:
    """When the run ended, how many events there are, and where the last line begins."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST_END))
    # A whole file ends with one line break.
    last = file.read().rpartition(b"\n")[0].rpartition(b"\n")[2] + b"\n"
    try:
        name, until, count, digest = json.loads(last)
        end = text("End")(name), _END_SECONDS(until), integer(1)(count)
        if not re.fullmatch(f"[0-9a-f]{{{_DIGEST_DIGITS}}}", digest) or _end_line(*end[1:], digest) != last:
            raise ValueError(last)
    except (ValueError, TypeError, RecursionError):
        raise ValueError("it has no end marker: it is cut off, empty or no trace file") from None
    found, left = hashlib.sha256(), size - _DIGEST_DIGITS - len(_AFTER_DIGEST)
    file.seek(0)
    while left > 0:
        chunk = file.read(min(left, _CHUNK_BYTES))
        found.update(chunk)
        left -= len(chunk)
    if found.hexdigest() != digest:
        raise ValueError("its digest is that of other contents: it is damaged")
    return end[1], end[2], size - len(last)


def _events(file: BinaryIO, recording: Recording, count: int, end_place: int) -> Iterator[Event]:
    sum_count = len(recording.initial.sums)
    for number in range(count):
        row = _decoded(file.readline(), f"row {number} of the trace")
        yield from_row(number, row, sum_count=sum_count)
    if file.tell() != end_place:
        raise ValueError(f"it has more than the {count} events that its end speaks of")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is given twice")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)
"""JSON knows neither infinities nor NaN, and a field that comes twice would be read once."""


def _decoded(line: bytes, what: str) -> Any:
    try:
        return _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is no JSON: {error}") from None


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object")
    return value


def _guarantee(value: object) -> Guarantee:
    found = _mapping(value)
    bounds = {"gap": real(0), "staleness": real(0), "deferral": real(0), "amplification": real(1)}
    given: dict[str, Any] = {}
    for name in (field.name for field in fields(Guarantee)):
        if name not in bounds:
            given[name] = _part(found, name, flag)
        else:
            given[name] = math.inf if name in found and found[name] is None else _part(found, name, bounds[name])
    _require_no_more(found, given)
    return Guarantee(**given)


def _arithmetic(value: object) -> Arithmetic:
    found = _mapping(value)
    numbers = _part(found, "numbers", text(*UNITS))
    dimension = _part(found, "dimension", integer(0, LARGEST_DIMENSION))
    _require_no_more(found, ("numbers", "dimension"))
    return Arithmetic(numbers, dimension)


def _part(found: Mapping[str, Any], name: str, reader: Reader) -> Any:
    if name not in found:
        raise ValueError(f"an object with the field {name}")
    try:
        return reader(found[name])
    except ValueError as error:
        raise ValueError(f"such that {name} is {error}") from None


def _require_no_more(found: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise ValueError(f"an object without {reprlib.repr(unknown)}")


_PARTS: dict[str, Reader] = {
    "format": text(FORMAT),
    "run": _mapping,
    "cluster": _mapping,
    "guarantee": _guarantee,
    "worker_count": integer(1, MOST_WORKERS),
    "initial": sketch,
    "arithmetic": _arithmetic,
    "block_bytes": several(integer(0)),
    "policy_seed": integer(-LARGEST_INTEGER),
}


def _recording(value: object) -> Recording:
    if not isinstance(value, dict) or set(value) != set(_PARTS):
        raise ValueError(f"the header must have the fields {', '.join(_PARTS)}, got {reprlib.repr(value)}")
    found: dict[str, Any] = {}
    for name, reader in _PARTS.items():
        try:
            found[name] = reader(value[name])
        except ValueError as error:
            raise ValueError(f"the header: {name} must be {error}, got {reprlib.repr(value[name])}") from None
    del found["format"]
    return Recording(**found)
