"""All processes of a run, as they meet outside its steps: where one of them fails, all do, and none goes on alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import torch.distributed as dist

from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.collectives import LocalAverager

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Processes:
    """The processes of a run, whatever number of workers each has.

    Args:
        rank: of this one.
        count: of all.
        averager: how they meet, a number from each.
        group: theirs, whose timeout is how long one waits for the others' files; None if there is one process.
    """

    rank: int = 0
    count: int = 1
    averager: Averager = field(default_factory=lambda: LocalAverager("dense"))
    group: dist.ProcessGroup | None = None

    @property
    def is_first(self) -> bool:
        """Whether this one does what one does for all."""
        return self.rank == 0

    def together(self, act: Callable[[], Found]) -> Found:
        """What `act` returns on this process, once it has returned on all of them.

        Args:
            act: what each does; it must not communicate.

        Raises:
            ValueError: bad input, on this process in its own words; on the others with the ranks where it failed.
            OSError: what the system refused, likewise.
        """
        failure, found = None, None
        try:
            found = act()
        except (ValueError, OSError) as error:
            failure = error
        failed = self.averager.gather([float(failure is not None)])
        if failure is not None:
            raise failure
        if ranks := [rank for rank, has_failed in enumerate(failed) if has_failed]:
            raise ValueError(f"ranks {ranks} cannot go on, and so none does; they say why")
        return found  # type: ignore[return-value]  # nothing failed

    def said_by_first(self, number: float) -> float:
        """The number of the first process, on all of them; what the others give is not looked at."""
        return self.averager.gather([float(number)])[0]

    def found_by_any(self, found: object) -> bool:
        """Whether one of them has found anything that counts as true."""
        return any(self.averager.gather([float(bool(found))]))
