"""Cases come back in their order, a failing one spares the others, and an interrupt ends those under way at once."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from sparsync.verify.tools.pool import ALONE, CasesFailedError, Failure, Pool, call
from sparsync.verify.tools.store import Store
from tests.support.stand_ins.forked import run_forked


@pytest.mark.parametrize("job_count", [1, 2])
def test_results_come_in_the_order_of_the_cases(job_count: int) -> None:
    done: list[None] = []
    pool = Pool(job_count, advance=lambda: done.append(None))
    assert pool.run(math.isqrt, [81, 16, 49]) == [9, 4, 7]
    assert len(done) == 3


def test_cases_side_by_side_compute_on_one_thread_each_apart_from_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    ((threads, process),) = Pool(2).run(_threads_and_process, [0])
    assert threads == 1
    assert process != os.getpid()


@pytest.mark.parametrize("job_count", [1, 2])
def test_a_failing_case_is_named_once_all_others_have_finished(job_count: int, tmp_path: Path) -> None:
    cases = [tmp_path / "one", tmp_path / "absent" / "two", tmp_path / "three"]
    with pytest.raises(CasesFailedError, match="absent") as raised:
        Pool(job_count).run(_touch, cases)
    (failure,) = raised.value.failures
    assert "FileNotFoundError" in failure.error
    assert "_touch" in failure.traceback
    assert (tmp_path / "one").exists()
    assert (tmp_path / "three").exists()


def test_a_process_that_ends_by_itself_costs_its_own_case_and_no_other() -> None:
    outcomes = Pool(2).outcomes(_end_process, [False, True, False, False])
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [False, True, False, False]


def test_no_processes_are_refused() -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        Pool(0)


@pytest.mark.parametrize("job_count", [1, 2])
def test_a_finished_case_is_not_run_twice(job_count: int, tmp_path: Path) -> None:
    done: list[None] = []
    pool = Pool(job_count, store=Store(tmp_path / "store"), advance=lambda: done.append(None))
    cases = [tmp_path / "one", tmp_path / "absent" / "two"]
    with pytest.raises(CasesFailedError):
        pool.run(_touch, cases)
    (tmp_path / "one").unlink()
    (tmp_path / "absent").mkdir()
    assert pool.run(_touch, cases) == ["one", "two"]
    assert not (tmp_path / "one").exists()
    assert (tmp_path / "absent" / "two").exists()
    assert len(done) == 4


def test_a_result_whose_file_was_damaged_is_computed_again(tmp_path: Path) -> None:
    pool = Pool(store=Store(tmp_path / "store"))
    pool.run(_touch, [tmp_path / "one"])
    (tmp_path / "one").unlink()
    (kept,) = (tmp_path / "store").rglob("*.result")
    kept.write_bytes(kept.read_bytes()[:-1])
    assert pool.run(_touch, [tmp_path / "one"]) == ["one"]
    assert (tmp_path / "one").exists()


def test_cases_of_different_functions_run_side_by_side() -> None:
    assert ALONE.run(call, [partial(math.isqrt, 9), partial(math.factorial, 3)]) == [3, 6]


INTERRUPTED = """
import os, signal, sys, time
from multiprocessing import parent_process
from pathlib import Path

from sparsync.verify.tools import interrupts
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.pool import Pool
from sparsync.verify.tools.store import Store

interrupts.ENDING_SECONDS = 0.2
SIGNAL = signal.Signals[sys.argv[2]]


def run(case):
    Path(f"{case} {os.getpid()}").write_text(str(os.getpid()))
    os.replace(f"{case} {os.getpid()}", case)  # two may write it, and one be ended meanwhile
    if case == "short":
        Path("ended").touch()
        return
    if sys.argv[1] in ("parent", "kill"):
        os.kill(parent_process().pid, SIGNAL)
    else:
        while not list(Path("store").glob("*/*.result")):
            time.sleep(0.01)
        os.killpg(0, SIGNAL)
    while True:
        signal.pause()


if __name__ == "__mp_main__" and sys.argv[1] == "beginning":
    try:
        Path("interrupted").touch(exist_ok=False)
        os.killpg(0, SIGNAL)
    except FileExistsError:
        pass
    while True:
        time.sleep(0.01)  # its parent ends it

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what shells start in the background ignores it
    with interrupt_as_line():
        Pool(2, store=Store(Path("store")), preloaded="sparsync.verify.tools.pool").run(run, sys.argv[3:])
"""


def run_interrupted(
    folder: Path, whom: str, number: signal.Signals, cases: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    (folder / "interrupted.py").write_text(INTERRUPTED)
    return run_forked("", "interrupted.py", whom, number.name, *cases, folder=folder)


@pytest.mark.parametrize(
    ("whom", "number", "cases"),
    [
        pytest.param("parent", signal.SIGINT, ("long", "long", "short"), marks=pytest.mark.slow),
        ("parent", signal.SIGTERM, ("long", "long", "short")),
        ("all", signal.SIGINT, ("short", "long")),
        pytest.param("all", signal.SIGTERM, ("short", "long"), marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_ends_the_cases_under_way_and_begins_no_other(
    whom: str, number: signal.Signals, cases: tuple[str, ...], tmp_path: Path
) -> None:
    """Whether it reaches one process, or all of a terminal's, an idle one among them; a line is all that is printed."""
    ended = run_interrupted(tmp_path, whom, number, cases)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-number, "", "interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "long").read_text()), 0)
    assert (tmp_path / "short").exists() == (whom == "all")
    kept = list((tmp_path / "store").rglob("*")) if whom == "all" else []
    assert [path.suffix for path in kept if path.is_file()] == [".result"] * (whom == "all")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_process_that_still_imports_leaves_an_interrupt_to_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    ended = run_interrupted(tmp_path, "beginning", number, ("long", "short"))
    assert (ended.returncode, ended.stdout, ended.stderr) == (-number, "", "interrupted\n")
    assert not (tmp_path / "long").exists()


def test_cases_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The output is read to its end, so this waits until every process that could write there is gone."""
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    command = [sys.executable, "interrupted.py", "kill", signal.SIGKILL.name, "long", "long", "short"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=240, check=False, start_new_session=True)
    assert ended.returncode == -signal.SIGKILL
    assert (tmp_path / "long").exists()
    assert not (tmp_path / "short").exists()


def _threads_and_process(_case: int) -> tuple[int, int]:
    return torch.get_num_threads(), os.getpid()


def _touch(path: Path) -> str:
    path.touch()
    return path.name


def _end_process(ends: bool) -> int:
    if ends:
        os._exit(3)
    return 0
