"""The rows of all statements and the fates of all mutants, computed by several processes.

Statements and mutants are independent of each other: a process gets one label or name at a time. With one process all
runs in this one, where a caller may have changed the dicts. Ours.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Protocol, TypeVar

from sparsync.verify.evidence import Row, collect
from sparsync.verify.interrupts import children_end_on_interrupt, follow_parent, interrupts_held_back
from sparsync.verify.mutants import MUTANTS
from sparsync.verify.mutation import killing_grades
from sparsync.verify.outcome import Grade, Outcome, Profile

Task = TypeVar("Task")
Answer = TypeVar("Answer")
RowTask = tuple[str, Profile, Mapping[Grade, Outcome]]
"""A label, the size of the run, and the outcomes that are known already."""


class Mapper(Protocol):
    """Like `map`: the answers come in the order of the tasks."""

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task], /) -> Iterable[Answer]:
        """Compute the answer to every task."""
        ...


def row(task: RowTask) -> Row:
    """The evidence for one statement."""
    label, profile, known = task
    return collect(label, profile, known=known)


def fate(name: str) -> tuple[Grade, ...]:
    """The grades that one mutant lost."""
    return killing_grades(MUTANTS[name])


@contextmanager
def workers(job_count: int) -> Iterator[Mapper]:
    """A `map` over this many processes; they are forked from one that has imported everything and started no thread.

    Raises:
        ValueError: fewer than one process.
    """
    if job_count < 1:
        raise ValueError(f"the number of processes must be at least 1, got {job_count}")
    if job_count == 1:
        yield map
        return
    context = get_context("forkserver")
    context.set_forkserver_preload(["sparsync.verify.collection"])
    with (
        ProcessPoolExecutor(job_count, mp_context=context, initializer=follow_parent) as pool,
        children_end_on_interrupt(),
    ):

        def compute(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> Iterable[Answer]:
            with interrupts_held_back():
                return pool.map(function, tasks)

        yield compute
