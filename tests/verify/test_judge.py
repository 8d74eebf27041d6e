"""The command that judges trace files: a line and a status for each, the largest for several."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.judge import main, read
from sparsync.verify.monitors.files import Recording, write_trace
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import EXACT, Arithmetic, Event, Mass
from sparsync.verify.monitors.verdict import judge_file
from tests.support.written_traces import END, HEADER, MIXED, ROUND, SHARED, Edit, changed, without

Judged = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Judged:
    """Write a trace, and say where."""

    def write(
        events: list[Event] = SHARED,
        *,
        name: str = "trace.jsonl",
        guarantee: Guarantee = ROUND,
        initial: Mass = HEADER.initial,
        arithmetic: Arithmetic = EXACT,
    ) -> Path:
        recording = Recording({"name": "by hand"}, {}, guarantee, 2, initial, arithmetic)
        write_trace(tmp_path / name, recording, events, END)
        return tmp_path / name

    return write


def test_a_run_that_kept_its_promises_is_a_line_and_status_zero(
    written: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written()
    assert main([str(path)]) == 0
    assert capsys.readouterr() == (
        f"{path}: by hand kept its promises: gap 1 of at most 1, staleness 0 of at most 0, deferral 0 of at most 0, no "
        "message dropped, nothing forgotten, means preserved; all sums exact. 20 events of 2 workers in 8 s, 3 "
        "messages, 40 bytes sent and 0 read, version 1, 40.0% waiting\n",
        "",
    )


def test_the_line_says_how_little_was_promised_and_compared(written: Judged) -> None:
    nothing = Guarantee(lossless=False, preserves_mean=False, remembers=False, amplification=3.0)
    line = judge_file(written(guarantee=nothing, arithmetic=Arithmetic("bfloat16", 7)))[1]
    assert "kept its promises: none were made; all sums within the rounding of bfloat16 in 7 dimensions, " in line
    assert "messages of up to 3 times their size. 20 events" in line
    assert "; all sums exact, messages of up to 3 times their size." in judge_file(written(guarantee=nothing))[1]
    bare = [without_sketches(event) for event in SHARED]
    assert "; no vectors, so no sums to compare. 20 events" in judge_file(written(bare, initial=Mass()))[1]


def without_sketches(event: Event) -> Event:
    none: dict[str, Any] = {name: Mass() for name, value in event._asdict().items() if isinstance(value, Mass)}
    return event._replace(**none)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            changed(5, kept=Mass((0.0,), 0.0)),
            "broken promise: event 5, Sent at 1.0: what worker 0 keeps after message 0",
        ),
        (changed(10, version=2), "broken promise: event 10, Applied at 3.0: version 2 comes after version 0"),
        (without(9), "broken promise: event 9, Applied at 3.0: message 1 is applied, but it is still on its way"),
    ],
)
def test_a_broken_promise_is_named_and_status_one(
    edit: Edit, message: str, written: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(edit(SHARED))
    assert main([str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{path}: {message}")
    assert err.count("\n") == 1


def test_a_promise_that_shows_only_at_the_end_is_judged_too(written: Judged) -> None:
    late = [event._replace(time=9.0) if place == len(SHARED) - 1 else event for place, event in enumerate(SHARED)]
    assert judge_file(written(late)) == (
        1,
        f"{written(late)}: broken promise: end at 8.0: the run ends at 8.0, after an event at 9.0",
    )


def test_a_bad_file_is_named_and_status_two(
    written: Judged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written()
    path.write_bytes(path.read_bytes()[:-1])
    assert main([str(path), str(tmp_path / "absent")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"{path}: it has no end marker: it is cut off, empty or no trace file\n"
        f"{tmp_path / 'absent'}: there is no such file\n"
    )


def test_of_several_files_each_has_its_line_and_the_worst_decides(
    written: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    good, mixed = written(), written(MIXED, name="mixed", guarantee=Guarantee())
    assert main([str(good), str(mixed)]) == 0
    assert capsys.readouterr().out.count("\n") == 2
    broken = written(guarantee=replace(ROUND, gap=0), name="broken")
    assert main([str(good), str(broken), str(mixed)]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n") == 2
    assert "worker 0 finishes its step 1, 1 ahead of worker 1, promised are 0.0" in err
    assert main([str(broken), str(good.parent), str(good)]) == 2


def test_a_command_line_without_files_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read([])
    assert caught.value.code == 2
    assert "files" in capsys.readouterr().err


def test_judging_needs_no_pytorch(written: Judged) -> None:
    code = "import sys; from sparsync.verify.judge import main; print(main(sys.argv[1:]), 'torch' in sys.modules)"
    done = subprocess.run((sys.executable, "-c", code, written()), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"
