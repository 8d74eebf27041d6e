"""One writer at a time: a file beside what is written says who has it, for as long as that process lives.

The system lets go of a lock when its process ends, however it does; a file that was left behind keeps nobody out.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_SECONDS = 0.1


@contextmanager
def held(path: Path, *, patience_seconds: float = 0.0) -> Iterator[None]:
    """Have `path` for oneself, by a lock on the file `.NAME.lock` beside it, which is gone afterwards.

    Args:
        path: a file or folder that is to be written; it need not exist, its parent folder does.
        patience_seconds: for which another process is waited for.

    Raises:
        ValueError: another process has it; it is named.
        OSError: no file can be made there.
    """
    path = path.resolve()
    place, deadline = path.with_name(f".{path.name}.lock"), time.monotonic() + patience_seconds
    while (descriptor := _locked(place)) is None:
        if time.monotonic() >= deadline:
            raise ValueError(f"{path} is being written by {_owner(place)}")
        time.sleep(_POLL_SECONDS)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        # Before it is let go: who waits for it finds that it is another file by then.
        place.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(place: Path) -> int | None:
    """The locked file, open; None where another process has it."""
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), place.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _owner(place: Path) -> str:
    try:
        return place.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"
