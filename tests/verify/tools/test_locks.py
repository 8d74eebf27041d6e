"""One process has a path, others are refused with its name, and nobody is kept out by what a killed one left."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from sparsync.verify.tools.locks import held

DEADLINE_SECONDS = 60.0


def hold(path: Path, line: Connection) -> None:
    with held(path):
        line.send("held")
        line.poll(DEADLINE_SECONDS)


@contextmanager
def holder(path: Path) -> Iterator[tuple[int, Callable[[], None]]]:
    """Another process has the path; its number, and what lets it end."""
    context = multiprocessing.get_context("forkserver")
    own, theirs = context.Pipe()
    process = context.Process(target=hold, args=(path, theirs))
    process.start()
    assert process.pid is not None
    assert own.poll(DEADLINE_SECONDS)
    try:
        yield process.pid, lambda: own.send("end")
    finally:
        process.kill()
        process.join()


def test_one_process_has_a_path_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    with holder(path) as (number, _):
        for patience in (0.0, 0.3):
            refusal = pytest.raises(ValueError, match=rf"result\.json is being written by process {number} on")
            with refusal, held(path, patience_seconds=patience):
                pass
    with held(path), held(tmp_path / "other"):
        assert sorted(entry.name for entry in tmp_path.iterdir()) == [".other.lock", ".result.json.lock"]
    assert list(tmp_path.iterdir()) == []


def test_who_is_patient_gets_it_once_it_is_free(tmp_path: Path) -> None:
    with holder(tmp_path / "folder") as (_, let_go):
        let_go()
        with held(tmp_path / "folder", patience_seconds=DEADLINE_SECONDS):
            assert f"process {os.getpid()} on " in (tmp_path / ".folder.lock").read_text()


def test_a_killed_process_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    with holder(path) as (number, _):
        os.kill(number, signal.SIGKILL)
        with held(path, patience_seconds=DEADLINE_SECONDS):
            assert (tmp_path / ".result.json.lock").read_text().startswith(f"process {os.getpid()} on ")


def test_a_link_and_what_it_leads_to_are_one(tmp_path: Path) -> None:
    (tmp_path / "result.json").touch()
    (tmp_path / "link.json").symlink_to("result.json")
    with (
        held(tmp_path / "result.json"),
        pytest.raises(ValueError, match="is being written"),
        held(tmp_path / "link.json"),
    ):
        pass


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), held(tmp_path / "none" / "result.json"):
        pass


def test_a_file_that_its_owner_removes_at_the_last_moment_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes then makes another file, and locks that."""
    path, lock = tmp_path / "result.json", fcntl.flock
    place, removed = tmp_path / ".result.json.lock", list[Path]()

    def lock_late(descriptor: int, operation: int) -> None:
        if not removed:
            place.unlink()
            removed.append(place)
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    with held(path, patience_seconds=DEADLINE_SECONDS):
        assert place.exists()
        with pytest.raises(ValueError, match="is being written"), held(path):
            pass
