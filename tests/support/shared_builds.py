"""What a run of the tests builds once, for all processes of pytest-xdist."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder that all processes of this run have in common."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


def once(target: Path, make: Callable[[Path], object]) -> Path:
    """The file or folder `target`: the first process that asks makes it, in a place beside; others wait for it."""
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            unfinished = target.with_name(f"{target.name}.unfinished")
            make(unfinished)
            unfinished.rename(target)
    return target
