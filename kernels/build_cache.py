"""A folder of compiled libraries, each kept under a digest of all that it was made from, with a note of what it serves.

A library is made anew where it is no longer what was written; processes that want it at the same time wait for the
first. What has changed makes another library, under another name.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[1]


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
        OSError: the folder cannot be written.
    """
    note = target.with_suffix(".json")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = _kept(target, note)
        if kept is not None:
            return kept
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            output = Path(scratch) / target.name
            made = make(Path(scratch), output)
            written = {**made._asdict(), **fingerprint(output)}
            output.with_suffix(".json").write_text(json.dumps(written), encoding="utf-8")
            output.with_suffix(".json").replace(note)
            output.replace(target)
        return made


def fingerprint(path: Path) -> dict[str, int | str]:
    """Size and SHA-256 of a file, as they stand in notes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return {"size_bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _kept(target: Path, note: Path) -> Made | None:
    """What the note says, if it is of the very bytes in `target`: to load a library that was cut kills the process."""
    if not (target.is_file() and note.is_file()):
        return None
    try:
        found = json.loads(note.read_text(encoding="utf-8"))
    except ValueError:  # The note was cut too, and all it says can be made anew.
        return None
    if {**found, **fingerprint(target)} != found:
        return None
    return Made(tuple(found["devices"]), found["reason"])
