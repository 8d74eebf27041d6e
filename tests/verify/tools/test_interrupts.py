"""An interrupt that is held back comes as soon as it may, whichever thread of the process the system gave it to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from sparsync.verify.tools.interrupts import interrupts_held_back


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """A shell lets what it starts in the background ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_this_thread() -> None:
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


def interrupt_another_thread() -> None:
    """As the system may, which gives a signal of the process to a thread that does not block it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    end, begun = threading.Event(), threading.Event()

    def wait() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        begun.set()
        end.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    before = signal.set_wakeup_fd(writer)
    signal.pthread_kill(thread.ident or 0, signal.SIGINT)
    assert os.read(reader, 1) == bytes([signal.SIGINT])  # it has arrived
    signal.set_wakeup_fd(before)
    end.set()
    thread.join()
    os.close(reader)
    os.close(writer)


INTERRUPTS = [interrupt_this_thread, interrupt_another_thread]


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_waits_until_the_end_of_the_block(interrupt: Callable[[], None]) -> None:
    done = False
    with pytest.raises(KeyboardInterrupt), interrupts_held_back():  # noqa: PT012
        interrupt()
        done = True
    assert done


def test_without_an_interrupt_all_is_as_before() -> None:
    with interrupts_held_back():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_that_is_ignored_stays_so(interrupt: Callable[[], None]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held_back():
        interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_handler_of_a_program_around_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced: list[object] = []
    monkeypatch.setattr(signal, "getsignal", lambda _number: None)
    monkeypatch.setattr(signal, "signal", lambda _number, handler: replaced.append(handler))
    with interrupts_held_back():
        pass
    assert replaced == []


def test_a_process_that_begins_inside_is_never_interrupted() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('went on')"
    with interrupts_held_back():
        inside = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    after = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (inside.returncode, inside.stdout) == (0, "went on\n")
    assert (after.returncode, after.stdout) == (-signal.SIGINT, "")


def test_a_thread_that_is_not_the_main_one_may_hold_back_too() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    ended: list[int] = []

    def begin() -> None:
        with interrupts_held_back():
            ended.append(subprocess.run([sys.executable, "-c", program], timeout=60).returncode)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert ended == [0]
