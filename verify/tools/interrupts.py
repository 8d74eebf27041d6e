"""What an interrupt does to a command here and to its processes: one line, no traceback, nothing left running. Ours.

An interrupt is SIGINT, which a terminal sends to all processes of a command at once, or SIGTERM, which make and a
supervisor send to one.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from multiprocessing import active_children, parent_process
from multiprocessing.process import BaseProcess
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What counts as an interrupt."""
ENDING_SECONDS = 5
"""How long a process may take to end by itself."""


class InterruptedBySignal(KeyboardInterrupt):
    """An interrupt that remembers its signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@contextmanager
def interrupt_as_line() -> Iterator[None]:
    """Turn an interrupt into a line on standard error; it ends the process as one that leaves the signal alone."""
    handler = signal.getsignal(signal.SIGTERM)
    # Where the caller has a handler of its own, or signals go to another thread, SIGTERM keeps its meaning.
    ours = threading.current_thread() is threading.main_thread() and handler is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    except KeyboardInterrupt as interrupt:
        number = interrupt.number if isinstance(interrupt, InterruptedBySignal) else signal.SIGINT
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        sys.stdout.flush()
        # Shells and make stop at a program that the signal ended, not at one that returned a number.
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    finally:
        if ours:
            signal.signal(signal.SIGTERM, handler)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise InterruptedBySignal(number)


@contextmanager
def children_end_on_interrupt() -> Iterator[None]:
    """End the processes of `multiprocessing` that began inside, should an interrupt come."""
    strangers = set(active_children())
    try:
        yield
    except KeyboardInterrupt:
        with interrupts_held_back():  # the second of an impatient user would leave some of them running
            _end(set(active_children()) - strangers)
        raise


def _end(children: Collection[BaseProcess]) -> None:
    """SIGTERM, then SIGKILL for those that have not begun to hear it: what is being imported may take for ever."""
    for child in children:
        child.terminate()
    deadline = time.monotonic() + ENDING_SECONDS
    for child in children:
        child.join(max(0.0, deadline - time.monotonic()))
        child.kill()


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let an interrupt wait until the end of the block; processes that begin inside are never interrupted.

    A terminal interrupts all processes at once; those of a pool leave it to the one that began them, even while they
    still import and could not yet have asked to be left alone: that the signal is blocked is inherited. A library's
    threads do not block it, and one of them may receive it for this process; so it is noted here, too.
    """
    noted: list[int] = []
    # A handler that is none of Python's is None here, and could not be put back.
    handlers = {number: handler for number in SIGNALS if (handler := signal.getsignal(number)) is not None}
    is_noted = threading.current_thread() is threading.main_thread()
    if is_noted:
        for number in handlers:
            signal.signal(number, lambda number, _frame: noted.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        if is_noted:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if noted:
            signal.raise_signal(noted[0])


def follow_parent() -> None:
    """Called as a process of a pool begins: it ends when its parent does, or says so by SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    # A parent that is killed could end nobody, and an idle child would wait for its next task for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
