"""Run a command with all the processes it starts, and leave none of them behind.

torchrun starts ranks of its own; killing torchrun alone would orphan them.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_to_end(
    command: Sequence[str], *, timeout_seconds: float, environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `command` and wait for its end; its output is captured as text, its status is the caller's to judge.

    Args:
        command: program and arguments.
        timeout_seconds: after this time the command and every process it started are killed.
        environment: variables added to this process's own.
        folder: where it runs; None is the current folder.

    Raises:
        subprocess.TimeoutExpired: the command outlived its time.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout_seconds)
        except BaseException:
            _kill_descendants(process.pid)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill_descendants(root: int) -> None:
    """torchrun puts each rank in a session of its own, so the process group alone does not reach them."""
    children = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _parent(entry) == root]
    for child in children:
        _kill_descendants(child)
    try:
        os.kill(root, signal.SIGKILL)
    except ProcessLookupError:
        return


def _parent(entry: Path) -> int | None:
    try:
        # The second field is the command in parentheses, which may itself hold spaces and parentheses.
        return int((entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
