"""Run a command with all the processes it starts, and leave none of them behind.

torchrun starts ranks of its own; killing torchrun alone would orphan them.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

_DEATH_DEADLINE_SECONDS = 30
_DEATH_POLL_SECONDS = 0.01


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
            _kill_with_descendants(process.pid)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill_with_descendants(root: int) -> None:
    """torchrun puts each rank in a session of its own, so the process group alone does not reach them.

    SIGKILL takes effect some time after it is sent: the call returns when no process is left, or none but zombies.
    """
    try:
        process = psutil.Process(root)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    deadline = time.monotonic() + _DEATH_DEADLINE_SECONDS
    while any(map(_is_alive, family)) and time.monotonic() < deadline:
        time.sleep(_DEATH_POLL_SECONDS)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
