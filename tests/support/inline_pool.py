"""The cases of a study one after the other, in this process: what `run_cases` gives, without its processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Found = TypeVar("Found")


def run_inline(
    run: Callable[[Case], Found], cases: Sequence[Case], *, job_count: int, advance: Callable[[], None]
) -> list[Found]:
    """run(case) for every case, in order."""
    assert job_count == 1
    found = []
    for case in cases:
        found.append(run(case))
        advance()
    return found
