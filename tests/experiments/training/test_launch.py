"""A command that outlives its time is ended together with every process it started."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sparsync.experiments.training.launch import run_to_end

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


def test_a_grandchild_of_the_command_in_its_own_session_does_not_survive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command's time is up as soon as the grandchild runs, however long that takes."""

    class Timed(subprocess.Popen[str]):
        def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
            assert timeout == 60
            while self.poll() is None and not any(path.read_text() for path in tmp_path.glob("pid")):
                time.sleep(0.01)
            return super().communicate(input, timeout=0)

    monkeypatch.setattr(subprocess, "Popen", Timed)
    with pytest.raises(subprocess.TimeoutExpired):
        run_to_end([sys.executable, "-c", COMMAND], timeout_seconds=60, environment={}, folder=tmp_path)
    pid = int((tmp_path / "pid").read_text())
    facts = [process.info for process in psutil.process_iter(["pid", "status"])]
    assert [fact for fact in facts if fact["pid"] == pid and fact["status"] != psutil.STATUS_ZOMBIE] == []
