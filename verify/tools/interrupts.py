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
        with interrupts_held_back():  # the second of an impatient user would leave some of them running
            for child in set(active_children()) - strangers:
                child.terminate()
        raise


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let an interrupt wait until the end of the block; processes that begin inside are never interrupted.

    A terminal interrupts all processes at once; those of a pool leave it to the one that began them, even while they
    still import and could not yet have asked to be left alone: that the signal is blocked is inherited. A library's
    threads do not block it, and one of them may receive it for this process; so it is noted here, too.
    """
    noted: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # A handler that is none of Python's is None here, and could not be put back.
    is_noted = threading.current_thread() is threading.main_thread() and handler is not None
    if is_noted:
        signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if is_noted:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if noted:
            signal.raise_signal(signal.SIGINT)


def follow_parent() -> None:
    """Called as a process of a pool begins: it ends when its parent does."""
    # A parent that is killed could end nobody, and an idle child would wait for its next task for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
