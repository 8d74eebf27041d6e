"""A trace file gives back what was written; cut off, damaged, empty or with a wrong header it is refused."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.monitors.files import Recording, stored_trace, write_trace
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import Arithmetic, Event, Header, Joined, Mass, Rang
from tests.support.traces.documents import Document, document
from tests.support.written_traces import END, EVERY_KIND, HEADER, SHARED

RUN = {"name": "by hand", "seed": 0, "nested": {"of": [1, "two", None]}}
CLUSTER = {"workers": 2}
RECORDING = Recording(RUN, CLUSTER, Guarantee(gap=1, lossless=False), 2, HEADER.initial, Arithmetic("float32", 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_trace(tmp_path / "trace.jsonl", RECORDING, SHARED, END)
    return tmp_path / "trace.jsonl"


def read(path: Path) -> tuple[Recording, list[Event], int, float]:
    with stored_trace(path) as trace:
        return trace.recording, list(trace.events), trace.event_count, trace.until


def test_a_trace_comes_back_as_it_was(path: Path) -> None:
    recording, events, count, until = read(path)
    assert recording == RECORDING
    assert recording.header == Header(2, HEADER.initial, 2.0**-23 + 2.0**-52)
    assert repr(events) == repr(SHARED)
    assert (count, until) == (len(SHARED), END)


def test_equal_traces_make_equal_files(path: Path, tmp_path: Path) -> None:
    write_trace(tmp_path / "again", RECORDING, iter(SHARED), END)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert document(path).seal(tmp_path / "sealed").read_bytes() == path.read_bytes()


def test_events_are_read_when_they_are_asked_for(path: Path) -> None:
    whole = document(path)
    replace(whole, rows=[*whole.rows[:-1], ["Vanished"]]).seal(path)
    with stored_trace(path) as trace:
        for event in SHARED[:-1]:
            assert next(trace.events) == event
        with pytest.raises(ValueError, match="row 19 of the trace is no event"):
            next(trace.events)


def some_places(content: bytes) -> list[int]:
    """Every one in the last lines, every seventh before."""
    return [*range(0, len(content) - 200, 7), *range(len(content) - 200, len(content))]


def test_a_file_that_is_cut_off_anywhere_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for length in some_places(content):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="no end marker: it is cut off, empty or no trace file"):
            read(path)


def test_a_file_with_a_changed_byte_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for place in some_places(content):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ValueError, match=r"no end marker|its digest is that of other contents: it is damaged"):
            read(path)


@pytest.mark.parametrize("more", [b"\n", b" ", b"x", b'["Rang", 8.0, "key"]\n'])
def test_a_file_with_something_behind_its_end_is_refused(path: Path, more: bytes) -> None:
    path.write_bytes(path.read_bytes() + more)
    with pytest.raises(ValueError, match=r"no end marker|damaged"):
        read(path)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("absent", ".", "pipe"):
        with pytest.raises(ValueError, match="there is no such file"):
            read(tmp_path / name)


def test_a_trace_without_events_is_neither_written_nor_read(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a trace without events proves nothing"):
        write_trace(tmp_path / "empty", RECORDING, [], END)
    assert [item.name for item in tmp_path.iterdir()] == ["trace.jsonl"]
    replace(document(path), rows=[]).seal(path)
    with pytest.raises(ValueError, match="no end marker: it is cut off, empty"):
        read(path)


def test_an_event_that_could_not_be_read_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()
    wrong: list[tuple[Event, str]] = [
        (Rang(math.nan, "'key'"), "row 20 of the trace, Rang: time must be a number"),
        (Joined(8.0, 0, 1, Mass((1.0, 2.0), 4.0)), "row 20 of the trace, Joined: model has a sketch of 2 sums"),
    ]
    for event, message in wrong:
        with pytest.raises(ValueError, match=message):
            write_trace(path, RECORDING, [*SHARED, event], END)
    with pytest.raises(ValueError, match=r"until must be a number from 0 to .*, got -1"):
        write_trace(path, RECORDING, SHARED, -1.0)
    with pytest.raises(OSError, match="the disk is gone"):
        write_trace(path, RECORDING, failing(), END)
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def failing() -> Iterator[Event]:
    yield from SHARED
    raise OSError("the disk is gone")


def without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda header: {name: value for name, value in header.items() if name not in names}


def with_part(part: str, name: str, value: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda header: {**header, part: {**header[part], name: value}}


HEADERS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda _: [], "the header must have the fields format, run, cluster"),
    (without("guarantee"), "the header must have the fields"),
    (lambda header: {**header, "more": 1}, "the header must have the fields"),
    (
        lambda header: {**header, "format": "sparsync trace 1"},
        "format must be 'sparsync trace 3', got 'sparsync trace 1'",
    ),
    (lambda header: {**header, "run": []}, r"run must be a JSON object, got \[\]"),
    (lambda header: {**header, "run": {}}, "run needs a printable name, got None"),
    (with_part("run", "name", "two\nlines"), r"run needs a printable name, got 'two\\nlines'"),
    (with_part("run", "name", ""), "run needs a printable name, got ''"),
    (lambda header: {**header, "cluster": 5}, "cluster must be a JSON object, got 5"),
    (lambda header: {**header, "worker_count": 0}, "worker_count must be an integer from 1 to 65536, got 0"),
    (lambda header: {**header, "worker_count": True}, "worker_count must be an integer from 1 to 65536, got True"),
    (lambda header: {**header, "worker_count": 2**40}, "worker_count must be an integer from 1 to 65536, got"),
    (lambda header: {**header, "initial": [[1.0], -1.0]}, "initial must be a sketch"),
    (with_part("guarantee", "gap", -1), "guarantee must be such that gap is a number from 0 to"),
    (with_part("guarantee", "amplification", 0.5), "guarantee must be such that amplification is a number from 1 to"),
    (with_part("guarantee", "lossless", 0), "guarantee must be such that lossless is true or false"),
    (with_part("guarantee", "lossless", None), "guarantee must be such that lossless is true or false"),
    (with_part("guarantee", "honest", True), r"guarantee must be an object without \['honest'\]"),
    (lambda header: {**header, "guarantee": {}}, "guarantee must be an object with the field gap"),
    (with_part("arithmetic", "numbers", "float8"), "numbers is 'exact' or 'float64' or .*, got"),
    (with_part("arithmetic", "dimension", 2**41), "arithmetic must be such that dimension is an integer from 0 to"),
    (lambda header: {**header, "arithmetic": {"numbers": "exact"}}, "an object with the field dimension"),
]


@pytest.mark.parametrize(("edit", "message"), HEADERS)
def test_a_header_that_cannot_be_is_refused(path: Path, edit: Callable[[Any], Any], message: str) -> None:
    whole = document(path)
    replace(whole, header=edit(whole.header)).seal(path)
    with pytest.raises(ValueError, match=message):
        read(path)


def test_a_recording_that_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    for run, message in (({"name": "x", "loss": math.nan}, "not JSON"), ({"name": "x", "path": tmp_path}, "Path")):
        with pytest.raises(ValueError, match=message):
            write_trace(tmp_path / "trace", replace(RECORDING, run=run), SHARED, END)
    with pytest.raises(ValueError, match="worker_count must be"):
        write_trace(tmp_path / "trace", replace(RECORDING, worker_count=0), SHARED, END)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "row 20 of the trace is no JSON"),
        ("[" * 100_000, "row 20 of the trace is no JSON"),
        ('["Rang", NaN, "key"]', "row 20 of the trace is no JSON: NaN is no number"),
        ('["Rang", 1e999, "key"]', "row 20 of the trace, Rang: time must be a number"),
        (f'["Rang", {"9" * 5000}, "key"]', "row 20 of the trace is no JSON"),
        ('[{"a": 1, "a": 2}]', "row 20 of the trace is no JSON: a field is given twice"),
    ],
)
def test_a_line_that_is_no_event_is_refused_though_the_seal_is_right(path: Path, line: str, message: str) -> None:
    sealed_lines(path, [*path.read_text().splitlines()[:-1], line])
    with pytest.raises(ValueError, match=message):
        read(path)


def test_bytes_that_are_no_text_are_refused(path: Path) -> None:
    sealed_lines(path, [*path.read_text().splitlines()[:-1], "\udcff"])
    with pytest.raises(ValueError, match="row 20 of the trace is no JSON"):
        read(path)


def sealed_lines(path: Path, lines: list[str]) -> None:
    """These lines, the header the first, with a right end and digest."""
    text = "".join(f"{line}\n" for line in lines) + json.dumps(["End", END, len(lines) - 1, ""]).removesuffix('"]')
    data = text.encode(errors="surrogateescape")
    path.write_bytes(data + f'{hashlib.sha256(data).hexdigest()}"]\n'.encode())


@pytest.mark.parametrize("count", [len(SHARED) - 1, len(SHARED) + 1])
def test_the_end_counts_the_events(path: Path, count: int) -> None:
    whole = document(path)
    # A list that says to be of another length.
    rows = Miscounted(whole.rows)
    rows.said = count
    Document(whole.header, rows, whole.until).seal(path)
    with pytest.raises(ValueError, match=r"more than the 19 events|row 20 of the trace is no event: \['End'"):
        read(path)


class Miscounted(list[Any]):
    said = 0

    def __len__(self) -> int:
        return self.said


def test_every_kind_of_event_can_be_written(tmp_path: Path) -> None:
    recording = replace(RECORDING, initial=Mass((1.0, 2.0), 4.0))
    # Without a sketch of what was lost there is nothing lost.
    write_trace(tmp_path / "all", recording, EVERY_KIND, 1.0)
    assert read(tmp_path / "all")[1] == EVERY_KIND
