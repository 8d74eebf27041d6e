"""Races in which every entrant has a step size of its own: first the search for it, then the runs that are compared.

The search sees seeds that no comparison sees, and looks for the best test accuracy in the mean over the race: who is
early and who ends high both have it. Entrants that are compared meet the same data, order and luck, seed by seed. A
policy that breaks a bound which its source claims is recorded so, and raced without it; one whose gradient stops being
finite has diverged, and nothing that it says from then on is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from statistics import fmean
from typing import Any

from sparsync.experiments.racing.contest import Outcome, Point, Race, run_contestant
from sparsync.experiments.studies.training.step_search import best_place, wanted
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.pool import Pool

TUNING_SEED = 1000
"""Seeds from here on are for tuning alone."""
MESSAGE_SECONDS = 0.5
"""What a dense message takes on its line; a usual step takes a second."""
_PARAMETER_BYTES = 4


@dataclass(frozen=True)
class Grid:
    """Step sizes in ratios of two.

    Args:
        smallest: of them.
        place_count: how many there are; of one alone there is nothing to search.
        start: place at which the search begins.
    """

    smallest: float
    place_count: int
    start: int

    def step_size(self, place: int) -> float:
        """That of a place, from 0."""
        return self.smallest * 2.0**place


@dataclass(frozen=True)
class Plan:
    """A profile's races and how often each is repeated.

    Args:
        race: what all share; cluster, selector, step size and seed are replaced.
        parameter_count: of its model.
        grid: of step sizes.
        seed_count: repetitions that are compared, each with other data order and luck.
        tuning_seed_count: races of the search for each step size.
    """

    race: Race
    parameter_count: int
    grid: Grid
    seed_count: int
    tuning_seed_count: int

    @property
    def bandwidth(self) -> float:
        """Bytes per second of every line."""
        return self.parameter_count * _PARAMETER_BYTES / MESSAGE_SECONDS

    def most_races(self, entrant_count: int) -> int:
        """How many races there are if the searches leave nothing out."""
        tried = self.grid.place_count * self.tuning_seed_count if self.grid.place_count > 1 else 0
        return entrant_count * (tried + self.seed_count)


@dataclass(frozen=True)
class Entrant:
    """Who races where.

    Args:
        policy: key of `POLICIES`.
        cluster: key of `CLUSTERS`.
        selector: key of `SELECTORS`, or "none": everything is sent.
    """

    policy: str
    cluster: str
    selector: str


@dataclass(frozen=True)
class Case:
    """One race of one entrant; the race is its own, down to the seed.

    Args:
        policy: key of `POLICIES`.
        race: with cluster, selector, step size and seed.
    """

    policy: str
    race: Race


@dataclass
class Search:
    """For the best step size of an entrant.

    Args:
        entrant: whose.
        grid: of step sizes.
        losses: 1 minus the mean accuracy of every step size tried, by its place; infinite where a run diverged.
    """

    entrant: Entrant
    grid: Grid
    losses: dict[int, float] = field(default_factory=dict)

    def wanted(self) -> list[int]:
        """Places to try next; none once the best is known."""
        if self.grid.place_count == 1:
            return []
        return wanted(self.losses, start=self.grid.start, place_count=self.grid.place_count)

    def place(self) -> int:
        """The best one."""
        return best_place(self.losses) if self.losses else self.grid.start

    def record(self) -> dict[str, Any]:
        """What was tried, and what was best; of a diverged run the accuracy is null."""
        tried = [
            {"step_size": self.grid.step_size(at), "mean_accuracy": 1 - loss if math.isfinite(loss) else None}
            for at, loss in sorted(self.losses.items())
        ]
        return {
            "policy": self.entrant.policy,
            "cluster": self.entrant.cluster,
            "selector": self.entrant.selector,
            "step_size": self.grid.step_size(self.place()),
            "is_at_edge": bool(self.losses) and self.place() in (0, self.grid.place_count - 1),
            "tried": tried,
        }


def run_tuned(plan: Plan, entrants: Sequence[Entrant], pool: Pool, *, seed: int) -> dict[str, Any]:
    """Search a step size for each entrant, and race it on every seed.

    Args:
        plan: the conditions.
        entrants: who races where.
        pool: runs the races, and advances `plan.most_races` times.
        seed: added to every race's own.

    Returns:
        `tuning`: of each entrant the `step_size`, whether it `is_at_edge` of the grid, and what was `tried`; `races`:
        of each entrant and seed what `run_race` gives; `seconds` of their measurements.
    """
    searches = [Search(entrant, plan.grid) for entrant in entrants]
    tried = _tune(searches, plan, pool, seed)
    left_out = plan.most_races(len(entrants)) - tried - len(entrants) * plan.seed_count
    for _ in range(left_out):
        pool.advance()
    cases = [
        _case(plan, search.entrant, search.place(), seed + own)
        for own, search in product(range(plan.seed_count), searches)
    ]
    return {
        "seed": seed,
        "seed_count": plan.seed_count,
        "tuning_seed_count": plan.tuning_seed_count,
        "step_sizes": [plan.grid.step_size(place) for place in range(plan.grid.place_count)],
        "seconds": plan.race.times(),
        "tuning": [search.record() for search in searches],
        "races": pool.run(run_race, cases),
    }


def run_race(case: Case) -> dict[str, Any]:
    """One race; where a bound is broken it is noted, and the race is run again without it.

    Returns:
        What it was; the `accuracy` and `sent_bytes` at each measurement; and what the monitors counted, null if it
        `diverged`: then nothing is right from the next measurement on.
    """
    broken = None
    try:
        points, outcome = _raced(case, is_held_to_bounds=True)
    except Violation as violation:
        broken = str(violation)
        points, outcome = _raced(case, is_held_to_bounds=False)
    missing = case.race.points + 1 - len(points)
    return {
        "policy": case.policy,
        "cluster": case.race.cluster,
        "selector": case.race.selector,
        "step_size": case.race.step_size,
        "seed": case.race.seed,
        "broken_bound": broken,
        "diverged": outcome is None,
        "accuracy": [round(point.quality, 4) for point in points] + [0.0] * missing,
        "sent_bytes": [point.sent_bytes for point in points] + [points[-1].sent_bytes] * missing,
        "step_count": points[-1].step_count,
        "version": points[-1].version,
        **_counted(outcome),
    }


def tuning_loss(case: Case) -> float:
    """1 minus the accuracy in the mean over a race, its start apart; infinite if it diverged. No bound is held to."""
    points, outcome = _raced(case, is_held_to_bounds=False)
    return math.inf if outcome is None else 1 - fmean(point.quality for point in points[1:])


def mean_accuracy(row: dict[str, Any]) -> float:
    """The accuracy in the mean over a race of `run_race`, its start apart."""
    return fmean(row["accuracy"][1:])


def _tune(searches: Sequence[Search], plan: Plan, pool: Pool, seed: int) -> int:
    """Let every entrant have the mean losses of all step sizes that its search asks for; how many races that took."""
    count, seeds = 0, range(seed + TUNING_SEED, seed + TUNING_SEED + plan.tuning_seed_count)
    while asked := [(search, place) for search in searches for place in search.wanted()]:
        cases = [_case(plan, search.entrant, place, own) for search, place in asked for own in seeds]
        losses = iter(pool.run(tuning_loss, cases))
        for search, place in asked:
            search.losses[place] = fmean(next(losses) for _ in seeds)
        count += len(asked) * len(seeds)
    return count


def _case(plan: Plan, entrant: Entrant, place: int, seed: int) -> Case:
    race = replace(
        plan.race,
        cluster=entrant.cluster,
        selector=entrant.selector,
        step_size=plan.grid.step_size(place),
        # Mixing needs a small consensus step only where it is compressed.
        consensus_step=1.0 if entrant.selector == "none" else plan.race.consensus_step,
        bandwidth=plan.bandwidth,
        seed=seed,
    )
    return Case(entrant.policy, race)


def _raced(case: Case, *, is_held_to_bounds: bool) -> tuple[list[Point], Outcome | None]:
    """The measurements, and what came of the race; None if it diverged."""
    points: list[Point] = []

    def is_over(point: Point) -> bool:
        points.append(point)
        return False

    try:
        outcome = run_contestant(
            case.race, case.policy, data=_data(case.race.data), is_held_to_bounds=is_held_to_bounds, is_over=is_over
        )
    except FloatingPointError:
        return points, None
    return points, outcome


def _counted(outcome: Outcome | None) -> dict[str, Any]:
    names = ("waiting_share", "largest_gap", "largest_staleness")
    if outcome is None:
        return dict.fromkeys(("pulled_bytes", *names, "fewest_steps", "most_steps"))
    return {
        "pulled_bytes": outcome.pulled_bytes,
        **{name: getattr(outcome.report, name) for name in names},
        "fewest_steps": min(outcome.worker_steps),
        "most_steps": max(outcome.worker_steps),
    }


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
