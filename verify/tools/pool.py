"""Independent tasks side by side in processes forked from one that has imported what they need. Ours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Protocol, TypeVar

from sparsync.verify.tools.interrupts import children_end_on_interrupt, follow_parent, interrupts_held_back

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Mapper(Protocol):
    """Like `map`: the answers come in the order of the tasks."""

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task], /) -> Iterable[Answer]:
        """Compute the answer to every task."""
        ...


@contextmanager
def workers(job_count: int, *, preloaded: str) -> Iterator[Mapper]:
    """A `map` over this many processes, or in this one, where a caller may have changed what a function looks up.

    Args:
        job_count: how many; each gets one task at a time.
        preloaded: the module with all that the tasks need; processes are forked from one that has imported it and
            started no thread.

    Raises:
        ValueError: fewer than one process.
    """
    if job_count < 1:
        raise ValueError(f"the number of processes must be at least 1, got {job_count}")
    if job_count == 1:
        yield map
        return
    context = get_context("forkserver")
    context.set_forkserver_preload([preloaded])
    with (
        ProcessPoolExecutor(job_count, mp_context=context, initializer=follow_parent) as pool,
        children_end_on_interrupt(),
    ):

        def compute(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> Iterable[Answer]:
            with interrupts_held_back():
                return pool.map(function, tasks)

        yield compute
