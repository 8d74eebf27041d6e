"""Cases of a study side by side, in processes of their own with one arithmetic thread each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

import torch

from sparsync.verify.tools.interrupts import children_end_on_interrupt, follow_parent, interrupts_held_back

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
    # Children forked from this process would inherit its arithmetic threads in an unknown state; theirs has none, and
    # has spent the seconds that torch takes to be imported.
    context = get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    with ProcessPoolExecutor(job_count, mp_context=context, initializer=_prepare) as pool:
        try:
            with children_end_on_interrupt():
                with interrupts_held_back():
                    futures = [pool.submit(run, case) for case in cases]
                for future in as_completed(futures):
                    future.result()
                    advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _prepare() -> None:
    torch.set_num_threads(1)
    follow_parent()
