"""Cases of a study side by side, in processes of their own with one arithmetic thread each."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context, parent_process
from typing import TypeVar

import torch

Case = TypeVar("Case")
Found = TypeVar("Found")


def run_cases(
    run: Callable[[Case], Found],
    cases: Sequence[Case],
    *,
    job_count: int,
    advance: Callable[[], None] = lambda: None,
) -> list[Found]:
    """run(case) for every case, in the order of the cases.

    Args:
        run: a function of a module; what it takes and returns can be pickled, and it depends on nothing else.
        cases: what it is called with.
        job_count: processes at a time.
        advance: called after each case.

    Raises:
        ValueError: `job_count` below 1.
        Exception: whatever a case raises; cases that are not begun are left out then.
        KeyboardInterrupt: cases under way are ended.
    """
    if job_count < 1:
        raise ValueError(f"jobs must be at least 1, got {job_count}")
    strangers = set(active_children())
    # Forked children would inherit the parent's arithmetic threads in an unknown state.
    with ProcessPoolExecutor(job_count, mp_context=get_context("spawn"), initializer=_prepare) as pool:
        futures = [pool.submit(run, case) for case in cases]
        try:
            for future in as_completed(futures):
                future.result()
                advance()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                for child in set(active_children()) - strangers:
                    child.terminate()
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _prepare() -> None:
    torch.set_num_threads(1)
    # A terminal interrupts all processes at once; the parent ends these.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that is killed could end nobody, and an idle child would wait for its next case for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
