"""Cases run in processes of their own come back in their order; a failing one ends the whole, an interrupt at once."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sparsync.experiments.studies.pool import run_cases


def test_results_come_in_the_order_of_the_cases() -> None:
    done: list[None] = []
    assert run_cases(math.isqrt, [81, 16, 49], job_count=2, advance=lambda: done.append(None)) == [9, 4, 7]
    assert len(done) == 3


def test_cases_compute_on_one_thread_apart_from_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert run_cases(_threads_and_process, [0], job_count=1)[0][0] == 1
    assert run_cases(_threads_and_process, [0], job_count=1)[0][1] != os.getpid()


def test_what_a_case_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="nonnegative"):
        run_cases(math.isqrt, [4, -1], job_count=1)


def test_no_processes_are_refused() -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        run_cases(math.isqrt, [4], job_count=0)


INTERRUPTED = """
import os, signal, sys
from multiprocessing import parent_process
from pathlib import Path

from sparsync.verify.tools.interrupts import interrupt_as_line


def run(case):
    Path(case).write_text(str(os.getpid()))
    if case == "short":
        Path("ended").touch()
        return
    if sys.argv[1] == "parent":
        os.kill(parent_process().pid, signal.SIGINT)
    elif sys.argv[1] == "kill":
        os.kill(parent_process().pid, signal.SIGKILL)
    else:
        while not Path("ended").exists():
            pass
        os.killpg(0, signal.SIGINT)
    while True:
        signal.pause()


if __name__ == "__mp_main__" and sys.argv[1] == "beginning":
    try:
        Path("interrupted").touch(exist_ok=False)
        os.killpg(0, signal.SIGINT)
    except FileExistsError:
        pass
    while True:
        pass  # its parent ends it

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what shells start in the background ignores it
    IMPORT
    with interrupt_as_line():
        CALL
"""
POOLS = {
    "studies": (
        "from sparsync.experiments.studies.pool import run_cases",
        "run_cases(run, sys.argv[3:], job_count=int(sys.argv[2]))",
    ),
    "evidence": (
        "from sparsync.verify.tools.pool import workers",
        "with workers(int(sys.argv[2]), preloaded='json') as compute: list(compute(run, sys.argv[3:]))",
    ),
}


def run_interrupted(
    folder: Path, pool: str, whom: str, jobs: int, cases: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    needed, call = POOLS[pool]
    (folder / "interrupted.py").write_text(INTERRUPTED.replace("IMPORT", needed).replace("CALL", call))
    return subprocess.run(
        [sys.executable, "interrupted.py", whom, str(jobs), *cases],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("pool", "whom", "jobs", "cases"),
    [
        ("studies", "parent", 1, ("long", "short")),
        ("studies", "all", 2, ("short", "long")),
        ("evidence", "all", 2, ("short", "long")),
    ],
)
def test_an_interrupt_ends_the_cases_under_way_and_begins_no_other(
    pool: str, whom: str, jobs: int, cases: tuple[str, str], tmp_path: Path
) -> None:
    """Whether it reaches one process, or all of a terminal's, an idle one among them; a line is all that is printed."""
    ended = run_interrupted(tmp_path, pool, whom, jobs, cases)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "long").read_text()), 0)
    assert (tmp_path / "short").exists() == (whom == "all")


@pytest.mark.parametrize("pool", POOLS)
def test_a_process_that_still_imports_leaves_an_interrupt_to_its_parent(pool: str, tmp_path: Path) -> None:
    ended = run_interrupted(tmp_path, pool, "beginning", 2, ("long", "short"))
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "interrupted\n")
    assert not (tmp_path / "long").exists()


@pytest.mark.parametrize(
    ("pool", "jobs", "cases"),
    [("studies", 1, ("long", "short")), ("evidence", 2, ("long",))],
)
def test_cases_end_with_a_parent_that_is_killed(pool: str, jobs: int, cases: tuple[str, ...], tmp_path: Path) -> None:
    """The output is read to its end, so this waits until every process that could write there is gone."""
    assert run_interrupted(tmp_path, pool, "kill", jobs, cases).returncode == -signal.SIGKILL
    assert (tmp_path / "long").exists()
    assert not (tmp_path / "short").exists()


def _threads_and_process(_case: int) -> tuple[int, int]:
    return torch.get_num_threads(), os.getpid()
