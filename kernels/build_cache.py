"""A folder of compiled libraries, each kept under a digest of all that it was made from, with a note of what it serves.

A library is made anew where it is no longer what was written; processes that want it at the same time wait for the
first. What has changed makes another library, under another name. To load one is to run it: so nothing is kept in, or
taken from, a folder that others may write (`private_folder.py`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparsync.kernels.private_folder import is_private_file, private_folder

CHECKOUT = Path(__file__).resolve().parents[1]
_DEVICES = ("cpu", "cuda")
_OTHERS_MAY_WRITE = 0o022


class Made(NamedTuple):
    """What a library serves, "cpu" and "cuda", and why something is missing; kept beside it."""

    devices: tuple[str, ...]
    reason: str


def cache_folder() -> Path:
    """$SPARSYNC_CACHE; else build/native of a checkout that can be written; else ~/.cache/sparsync."""
    chosen = os.environ.get("SPARSYNC_CACHE")
    if chosen:
        return Path(chosen)
    if (CHECKOUT / "pyproject.toml").is_file() and os.access(CHECKOUT, os.W_OK):
        return CHECKOUT / "build" / "native"
    return Path.home() / ".cache" / "sparsync"


def digest(facts: object, sources: Sequence[Path]) -> str:
    """16 hexadecimal digits of what JSON can hold and of files, names and contents.

    Raises:
        OSError: a file cannot be read.
    """
    found = hashlib.sha256()
    for path in sorted(sources):
        found.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    found.update(json.dumps(facts).encode())
    return found.hexdigest()[:16]


def cached(target: Path, make: Callable[[Path, Path], Made]) -> Made:
    """What is known of `target`, after `make(scratch folder, output)` unless it is whole; one process at a time.

    Raises:
        OSError: the folder cannot be written, or others may write into it, see `private_folder`.
    """
    target = private_folder(target.parent) / target.name
    note = target.with_suffix(".json")
    with target.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = _kept(target, note)
        if kept is not None:
            return kept
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            output = Path(scratch) / target.name
            made = make(Path(scratch), output)
            written = {**made._asdict(), **fingerprint(output)}
            output.with_suffix(".json").write_text(json.dumps(written), encoding="utf-8")
            _put(output.with_suffix(".json"), note)
            _put(output, target)
        return made


def fingerprint(path: Path) -> dict[str, int | str]:
    """Size and SHA-256 of a file, as they stand in notes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return {"size_bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _put(made: Path, target: Path) -> None:
    """Into the cache, for nobody else to write, whatever the umask."""
    made.chmod(stat.S_IMODE(made.stat().st_mode) & ~_OTHERS_MAY_WRITE)
    made.replace(target)


def _kept(target: Path, note: Path) -> Made | None:
    """What the note says, if it is of the very bytes in `target`: to load a library that was cut kills the process.

    Nothing is taken over of what others may have written while the folder was theirs to write.
    """
    if not (is_private_file(target) and is_private_file(note)):
        return None
    found = _noted(note)
    if found is None or {**found, **fingerprint(target)} != found:
        return None
    return Made(tuple(found["devices"]), found["reason"])


def _noted(note: Path) -> dict[str, Any] | None:
    """What a note says; None where it was cut or is no note of ours, for all that it says can be made anew."""
    try:
        found = json.loads(note.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
    if not (isinstance(found, dict) and isinstance(found.get("reason"), str)):
        return None
    devices = found.get("devices")
    is_known = isinstance(devices, list) and devices and all(device in _DEVICES for device in devices)
    return found if is_known else None
