"""Independent cases side by side in processes of their own, each finished one kept, none lost by another's failure.

The processes are forked from one that has imported what they need and started no thread; each computes on one
arithmetic thread. With one job the cases run in this process. Ours.
"""

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from sparsync.verify.tools.interrupts import children_end_on_interrupt, follow_parent, interrupts_held_back
from sparsync.verify.tools.store import Store

Case = TypeVar("Case")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Failure:
    """A case that ended without a result.

    Args:
        case: as its `repr` has it, cut if it is long.
        error: the last line of what was raised.
        traceback: all of it.
    """

    case: str
    error: str
    traceback: str


class CasesFailedError(RuntimeError):
    """Some cases failed; all others have finished, and are kept where there is a store."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__("; ".join(f"{failure.case}: {failure.error}" for failure in failures))
        self.failures = tuple(failures)


@dataclass(frozen=True)
class Pool:
    """How cases are run.

    Args:
        job_count: at a time.
        store: where finished cases are kept and looked for; None keeps nothing.
        advance: called after each case.
        preloaded: a module with what most cases need.

    Raises:
        ValueError: `job_count` below 1.
    """

    job_count: int = 1
    store: Store | None = None
    advance: Callable[[], None] = lambda: None
    preloaded: str = "torch"

    def __post_init__(self) -> None:
        if self.job_count < 1:
            raise ValueError(f"jobs must be at least 1, got {self.job_count}")

    def run(self, function: Callable[[Case], Found], cases: Sequence[Case]) -> list[Found]:
        """function(case) for every case, in the order of the cases.

        Args:
            function: of a module, or a `partial` of one; what it takes and returns can be pickled, and it depends on
                nothing else but the sources that it imports.
            cases: what it is called with.

        Raises:
            CasesFailedError: some cases raised an exception, or their processes ended; the others are finished.
            KeyboardInterrupt: cases under way are ended.
        """
        outcomes = self.outcomes(function, cases)
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        if failures:
            raise CasesFailedError(failures)
        return [outcome for outcome in outcomes if not isinstance(outcome, Failure)]

    def outcomes(self, function: Callable[[Case], Found], cases: Sequence[Case]) -> list[Found | Failure]:
        """As `run`, but with a `Failure` in the place of each case that has no result.

        Raises:
            KeyboardInterrupt: cases under way are ended.
        """
        keys = [None if self.store is None else self.store.key(function, case) for case in cases]
        found: dict[int, Found] = {}
        for place, key in enumerate(keys):
            if self.store is not None and key is not None and key in self.store:
                try:
                    found[place] = self.store[key]
                except KeyError:  # damaged: it is computed again
                    continue
                self.advance()
        waiting = [place for place in range(len(cases)) if place not in found]
        tasks = {place: partial(_kept, function, cases[place], self.store, keys[place]) for place in waiting}
        failures = {place: _failure(cases[place], error) for place, error in self._compute(tasks, found).items()}
        return [failures[place] if place in failures else found[place] for place in range(len(cases))]

    def _compute(self, tasks: dict[int, "partial[Found]"], found: dict[int, Found]) -> dict[int, BaseException]:
        """Run the tasks, put their results into `found`, and return what went wrong, by place."""
        failures: dict[int, BaseException] = {}
        if self.job_count == 1 or not tasks:
            for place, task in tasks.items():
                try:
                    found[place] = task()
                except Exception as error:
                    failures[place] = error
                self.advance()
            return failures
        lost = self._side_by_side(tasks, found, failures, job_count=self.job_count)
        for place in lost:
            # A process ended by itself, and took others' cases with it: each gets one of its own.
            alone = {place: tasks[place]}
            if self._side_by_side(alone, found, failures, job_count=1):
                failures[place] = BrokenProcessPool("its process ended before it did")
                self.advance()
        return failures

    def _side_by_side(
        self,
        tasks: dict[int, "partial[Found]"],
        found: dict[int, Found],
        failures: dict[int, BaseException],
        *,
        job_count: int,
    ) -> list[int]:
        """As `_compute`; returns the places of tasks that were lost with a process that ended."""
        lost: list[int] = []
        with _processes(job_count, self.preloaded) as pool:
            with interrupts_held_back():
                futures: dict[Future[Found], int] = {pool.submit(task): place for place, task in tasks.items()}
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    lost.append(futures[future])
                    continue
                if error is None:
                    found[futures[future]] = future.result()
                else:
                    failures[futures[future]] = error
                self.advance()
        return lost


def call(task: "partial[Found]") -> Found:
    """task(): what cases of different functions are run with."""
    return task()


def default_job_count() -> int:
    """One case per processor; each computes on one thread."""
    return len(os.sched_getaffinity(0))


ALONE = Pool()
"""One case after another, in this process; nothing is kept."""


@contextmanager
def _processes(job_count: int, preloaded: str) -> Iterator[ProcessPoolExecutor]:
    context = get_context("forkserver")
    context.set_forkserver_preload([preloaded])
    with ProcessPoolExecutor(job_count, mp_context=context, initializer=_prepare) as pool:
        try:
            with children_end_on_interrupt():
                yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _prepare() -> None:
    import torch

    torch.set_num_threads(1)
    follow_parent()


def _kept(function: Callable[[Case], Found], case: Case, store: Store | None, key: str | None) -> Found:
    """function(case), kept by the process that computed it: an interrupt may end the one that asked."""
    found = function(case)
    if store is not None and key is not None:
        with interrupts_held_back():
            store[key] = found
    return found


def _failure(case: object, error: BaseException) -> Failure:
    shown = repr(case)
    lines = traceback.format_exception(error)
    return Failure(shown if len(shown) <= 200 else f"{shown[:200]}…", lines[-1].strip(), "".join(lines))
