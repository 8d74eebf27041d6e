"""A command that outlives its time is ended together with every process it started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sparsync.experiments.launch import run_to_end

GRANDCHILD = "import pathlib, os, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
START = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}], start_new_session=True)"
CHILD = START.format(GRANDCHILD)
COMMAND = START.format(CHILD)


def test_output_status_and_environment_come_back(tmp_path: Path) -> None:
    words = "import os, sys; print(os.environ['WORD'], os.getcwd()); sys.exit(3)"
    finished = run_to_end(
        [sys.executable, "-c", words], timeout_seconds=60, environment={"WORD": "said"}, folder=tmp_path
    )
    assert (finished.returncode, finished.stdout) == (3, f"said {tmp_path}\n")


def test_a_grandchild_of_the_command_in_its_own_session_does_not_survive(tmp_path: Path) -> None:
    """The time is only how long the processes get to start; a start slower than that fails the test, not the claim."""
    with pytest.raises(subprocess.TimeoutExpired):
        run_to_end([sys.executable, "-c", COMMAND], timeout_seconds=10, environment={}, folder=tmp_path)
    pid = int((tmp_path / "pid").read_text())
    facts = [process.info for process in psutil.process_iter(["pid", "status"])]
    assert [fact for fact in facts if fact["pid"] == pid and fact["status"] != psutil.STATUS_ZOMBIE] == []
