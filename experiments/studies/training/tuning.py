"""Which step size does a contestant run with? The one of least mean test loss at the end, on seeds of its own.

Searches of several contestants go round by round, so that a pool has all of their runs at once. Used by `variants.py`
and `convergence.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Generic, Protocol, TypeVar

from sparsync.experiments.studies.training.contestants import TUNING_SEED, Case, Optimiser
from sparsync.experiments.studies.training.step_search import STRIDE, best_place, wanted

RunCases = Callable[[Sequence[Case]], list[dict[str, Any]]]
"""Of each case its `test_loss` at the end, null where it diverged, what it was `computed_on`, and more."""


class Tunable(Protocol):
    """What has a step size to be found."""

    @property
    def grid(self) -> Optimiser:
        """The update rule with the step sizes that are tried."""
        ...

    def step_size(self, place: int) -> float:
        """That of a place of the grid."""
        ...

    def case(self, place: int, seed: int, worker_count: int) -> Case:
        """A run with it."""
        ...


Who = TypeVar("Who", bound=Tunable)


@dataclass
class Search(Generic[Who]):
    """For the best step size of a contestant.

    Args:
        contestant: whose.
        stride: see `wanted`.
        losses: the mean test loss of every step size that was tried, by its place; infinite where a run diverged.
        machines: that tried them.
    """

    contestant: Who
    stride: int = STRIDE
    losses: dict[int, float] = field(default_factory=dict)
    machines: set[str] = field(default_factory=set)

    def wanted(self) -> list[int]:
        """Places that are to be tried next; none once the best is found."""
        grid = self.contestant.grid
        return wanted(self.losses, start=grid.start, place_count=grid.place_count, stride=self.stride)

    def place(self) -> int:
        """The best place, or the one to begin at where none was tried."""
        return best_place(self.losses) if self.losses else self.contestant.grid.start

    def record(self) -> dict[str, Any]:
        """The `step_size`, whether it `is_at_edge` of the grid, what was `tried`, and on which machines."""
        contestant, place = self.contestant, self.place()
        return {
            "step_size": contestant.step_size(place),
            "is_at_edge": bool(self.losses) and place in (0, contestant.grid.place_count - 1),
            "tried": [
                {"step_size": contestant.step_size(at), "test_loss": loss if math.isfinite(loss) else None}
                for at, loss in sorted(self.losses.items())
            ],
            "tuned_on": sorted(self.machines),
        }


def tune(searches: Sequence[Search[Any]], *, seed_count: int, worker_count: int, run: RunCases) -> int:
    """Let every search have the mean losses of all step sizes that it asks for; returns how many runs that took.

    Args:
        searches: changed in place.
        seed_count: runs for each step size, with seeds from `TUNING_SEED` on; 0 tries nothing.
        worker_count: n.
        run: runs the cases of a round.
    """
    seeds = range(TUNING_SEED, TUNING_SEED + seed_count)
    if not seeds:
        return 0
    while asked := [(search, place) for search in searches for place in search.wanted()]:
        cases = [search.contestant.case(place, seed, worker_count) for search, place in asked for seed in seeds]
        found = iter(run(cases))
        for search, place in asked:
            runs = [next(found) for _ in seeds]
            search.losses[place] = fmean(map(end_loss, runs))
            search.machines |= machines_of(runs)
    return sum(len(search.losses) for search in searches) * seed_count


def run_seeds(
    chosen: Sequence[tuple[Tunable, int]], *, seed_count: int, worker_count: int, run: RunCases
) -> list[Sequence[dict[str, Any]]]:
    """The runs of the seeds from 0 on, of each contestant with the place of its step size."""
    if not seed_count:
        raise ValueError("a contestant needs a seed at least, got 0")
    found = run([each.case(place, seed, worker_count) for each, place in chosen for seed in range(seed_count)])
    return [found[first : first + seed_count] for first in range(0, len(found), seed_count)]


def grid_size(contestants: Sequence[Tunable]) -> int:
    """Runs that tuning on one seed would take if it tried everything."""
    return sum(each.grid.place_count for each in contestants)


def end_loss(found: dict[str, Any]) -> float:
    """The test loss at the end of a run; infinite where it diverged."""
    return math.inf if found["test_loss"] is None else float(found["test_loss"])


def machines_of(runs: Sequence[dict[str, Any]]) -> set[str]:
    """Where runs were computed."""
    return {run["computed_on"] for run in runs}
