"""What an interrupt does to a command here and to its processes: one line, no traceback, nothing left running. Ours."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children, parent_process


@contextmanager
def interrupt_as_line() -> Iterator[None]:
    """Turn an interrupt into a line on standard error; it ends the process as one that leaves the signal alone."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        sys.stdout.flush()
        # Shells and make stop at a program that the signal ended, not at one that returned a number.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


@contextmanager
def children_end_on_interrupt() -> Iterator[None]:
    """End the processes of `multiprocessing` that began inside, should an interrupt come."""
    strangers = set(active_children())
    try:
        yield
    except KeyboardInterrupt:
        for child in set(active_children()) - strangers:
            child.terminate()
        raise


def follow_parent() -> None:
    """Called as a process of a pool begins: it leaves an interrupt to its parent, and ends when that does."""
    # A terminal interrupts all processes at once; the parent ends these.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that is killed could end nobody, and an idle child would wait for its next task for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
