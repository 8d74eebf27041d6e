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


def test_cases_compute_on_one_thread_apart_from_this_process() -> None:
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
from pathlib import Path

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.studies.pool import run_cases


def interrupt(name):
    Path(name).write_text(str(os.getpid()))
    if sys.argv[1] == "parent":
        os.kill(os.getppid(), signal.SIGINT)
    else:
        os.killpg(0, signal.SIGINT)
    while True:
        signal.pause()


if __name__ == "__main__":
    with exit_on_bad_input():
        run_cases(interrupt, [sys.argv[2], sys.argv[2] + ".never"], job_count=1)
"""


@pytest.mark.parametrize("whom", ["parent", "all"])
def test_an_interrupt_ends_the_cases_under_way_and_begins_no_other(whom: str, tmp_path: Path) -> None:
    """Whether it reaches one process, or all of a terminal's."""
    script, process = tmp_path / "interrupted.py", tmp_path / "process"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), whom, str(process)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, start_new_session=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(process.read_text()), 0)
    assert not (tmp_path / "process.never").exists()


def _threads_and_process(_case: int) -> tuple[int, int]:
    return torch.get_num_threads(), os.getpid()
