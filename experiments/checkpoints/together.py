"""Do something that may fail on one process so that all of them fail, and none goes on alone to wait for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sparsync.experiments.training.collectives import Averager

Found = TypeVar("Found")


def together(averager: Averager, act: Callable[[], Found], *, local_count: int = 1) -> Found:
    """What `act` returns on this process, once it has returned on all of them.

    Args:
        averager: how they meet.
        act: what each does; it must not communicate.
        local_count: how many workers live in this process.

    Raises:
        ValueError: bad input, on this process in its own words; on the others with the ranks where it failed.
        OSError: what the system refused, likewise.
    """
    failure, found = None, None
    try:
        found = act()
    except (ValueError, OSError) as error:
        failure = error
    failed = averager.gather([float(failure is not None)] * local_count)
    if failure is not None:
        raise failure
    if ranks := [rank for rank, has_failed in enumerate(failed) if has_failed]:
        raise ValueError(f"ranks {ranks} cannot go on, and so none does; they say why")
    return found  # type: ignore[return-value]  # nothing failed


def said_by_first(averager: Averager, number: float, *, local_count: int = 1) -> float:
    """The number of the first process, on all of them; what the others give is not looked at."""
    return averager.gather([float(number)] * local_count)[0]
