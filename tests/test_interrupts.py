"""An interrupt that is held back comes as soon as it may, whichever thread of the process the system gave it to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from sparsync.verify.interrupts import interrupts_held_back


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """A shell lets what it starts in the background ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["no other thread", "another thread"])
def _other_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """The system may give a signal to a thread that does not block it."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    if request.param == "another thread":
        thread.start()
    yield
    end.set()
    if thread.ident is not None:
        thread.join()


@pytest.mark.usefixtures("_other_thread")
def test_an_interrupt_waits_until_the_end_of_the_block() -> None:
    done = False
    with pytest.raises(KeyboardInterrupt), interrupts_held_back():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        done = True
    assert done


def test_without_an_interrupt_all_is_as_before() -> None:
    with interrupts_held_back():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.usefixtures("_other_thread")
def test_an_interrupt_that_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held_back():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


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
