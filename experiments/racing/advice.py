"""Which policy, with how much of each gradient sent, reaches a target first? Candidates simulated on a known cluster.

Every candidate solves the same problem from several seeds, with the best of a few step sizes, the same for all. What
counts is the time to the target in the mean over seeds, with its 95 % interval; candidates that more seeds bring to the
target come first. The step size is chosen on the seeds that are reported. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import pairwise, product
from statistics import fmean
from typing import NamedTuple

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.racing.contest import QUADRATIC, Point, Race, run_contestant
from sparsync.experiments.racing.entries import Contestant, label
from sparsync.experiments.racing.real import Conditions
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.record import readable_size
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference
from sparsync.verify.tools.pool import ALONE, Pool

USUAL_SELECTOR = "top_k"
"""Of sparse candidates, where the race names none."""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        race: the problem and the descent; how long a candidate has, and how often it is looked at.
        cluster: on which all candidates race.
        target: test accuracy; of the problem "quadratic", f − min f.
        step_sizes: tried for each candidate.
        seed_count: from the race's seed on.

    Raises:
        ValueError: no step size or seed, or a target that no model or every model reaches.
    """

    race: Race
    cluster: Cluster
    target: float
    step_sizes: tuple[float, ...]
    seed_count: int

    def __post_init__(self) -> None:
        if not self.step_sizes:
            raise ValueError("name at least one step size")
        if self.seed_count < 1:
            raise ValueError(f"seeds must be at least 1, got {self.seed_count}")
        if not 0 < self.target < (math.inf if self.falls else 1):
            limits = "be positive and finite" if self.falls else "lie between 0 and 1, an accuracy"
            raise ValueError(f"target must {limits}, got {self.target}")

    @property
    def falls(self) -> bool:
        """Is less better?"""
        return self.race.data == QUADRATIC


class Candidate(NamedTuple):
    """A policy, and k/d of what it sends; 1 is everything."""

    contestant: Contestant
    density: float

    def in_race(self, race: Race) -> Race:
        """The race as it runs it."""
        if self.density == 1:
            return replace(race, selector="none", consensus_step=1.0)
        selector = USUAL_SELECTOR if race.selector == "none" else race.selector
        return replace(race, selector=selector, density=self.density)


class Case(NamedTuple):
    """One run."""

    candidate: Candidate
    step_size: float
    seed: int


@dataclass(frozen=True)
class Reached:
    """What one run did until the target, or its end.

    Args:
        seconds: to the target; infinite if it was not reached.
        quality: at the end.
        waiting_share: of the time of all workers.
        bytes_per_step: sent, by one worker.
        staleness: versions, the largest.
    """

    seconds: float
    quality: float
    waiting_share: float
    bytes_per_step: float
    staleness: int


@dataclass(frozen=True)
class Advice:
    """What is said of a candidate.

    Args:
        candidate: the one.
        step_size: the best of those tried.
        runs: by seed.
        is_as_good: the difference to the best one is within its 95 % interval.
    """

    candidate: Candidate
    step_size: float
    runs: tuple[Reached, ...]
    is_as_good: bool = False

    @property
    def label(self) -> str:
        """Of the policy."""
        return label(*self.candidate.contestant)

    @property
    def reached_count(self) -> int:
        """Seeds that reached the target."""
        return sum(run.seconds < math.inf for run in self.runs)

    @property
    def seconds(self) -> Estimate | None:
        """To the target, in the mean over the seeds; None if one of them did not reach it."""
        return mean([run.seconds for run in self.runs]) if self.reached_count == len(self.runs) else None

    @property
    def line(self) -> str:
        """What a person wants to know: how fast, and why."""
        density = "everything" if self.candidate.density == 1 else f"density {self.candidate.density:g}"
        time = self.seconds
        if time is None:
            qualities = f"{fmean(run.quality for run in self.runs):.3g} at the end"
            said = f"target reached by {self.reached_count} of {len(self.runs)} seeds, {qualities}"
        elif len(self.runs) == 1:
            said = f"{time.value:.4g} s, one seed"
        else:
            said = f"{time.value:.4g} s [{max(0.0, time.low):.4g}, {time.high:.4g}]"
        why = (
            f"{fmean(run.waiting_share for run in self.runs):.0%} waiting, "
            f"{readable_size(round(fmean(run.bytes_per_step for run in self.runs)))} a step, "
            f"staleness up to {max(run.staleness for run in self.runs)}"
        )
        return f"{self.label}, {density}, step size {self.step_size:g}: {said}; {why}"


def real_words(race: Race, candidate: Candidate, conditions: Conditions) -> list[str]:
    """What `race_real` is told, besides its output: whatever of a candidate's race is not as usual."""
    own, skipped = (
        candidate.in_race(race),
        {"workers", "bandwidth", "latency", "shared_link", "rack_size", "rack_bandwidth"},
    )
    skipped |= {"cluster", "fixed_share", "flat_until"} if conditions.slowness == "none" else set()
    skipped |= {"density"} if own.selector == "none" else set()
    words = ["--policy", label(*candidate.contestant)]
    for said, usual in ((own, Race()), (conditions, Conditions())):
        for name, value in asdict(said).items():
            if name not in skipped and value != getattr(usual, name):
                words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def advise(question: Question, candidates: Sequence[Candidate], pool: Pool = ALONE) -> list[Advice]:
    """What is to be said of all candidates, the best first.

    Raises:
        ValueError: there are none.
        CasesFailedError: a policy does not fit, or workers wait for ever.
    """
    if not candidates:
        raise ValueError("there are no candidates")
    found = iter(pool.run(partial(run_case, question), cases_of(question, candidates)))
    rank, best = partial(_rank, question), []
    for candidate in candidates:
        options = [
            Advice(candidate, size, tuple(next(found) for _ in _seeds(question)))
            for size in sorted(question.step_sizes)
        ]
        best.append(min(options, key=rank))
    best.sort(key=rank)
    return [replace(advice, is_as_good=_is_as_good(advice, best[0])) for advice in best]


def cases_of(question: Question, candidates: Sequence[Candidate]) -> list[Case]:
    """All runs that are needed, by candidate, then step size, then seed."""
    return [Case(*parts) for parts in product(candidates, sorted(question.step_sizes), _seeds(question))]


def run_case(question: Question, case: Case) -> Reached:
    """Simulate one run; one that diverges reaches nothing."""
    candidate, step_size, seed = case
    race = replace(candidate.in_race(question.race), step_size=step_size, seed=seed)
    name, parameters = candidate.contestant
    points: list[Point] = []

    def is_over(point: Point) -> bool:
        points.append(point)
        return seconds_to(points[-1:], question.target, falls=question.falls) < math.inf

    data = None if question.falls else _data(race.data)
    try:
        outcome = run_contestant(
            race, name, parameters, data=data, cluster=question.cluster, is_held_to_bounds=False, is_over=is_over
        )
    except FloatingPointError:
        return Reached(math.inf, math.inf if question.falls else 0.0, 0.0, 0.0, 0)
    last, report = points[-1], outcome.report
    return Reached(
        seconds=seconds_to(points, question.target, falls=question.falls),
        quality=last.quality,
        waiting_share=report.waiting_share,
        bytes_per_step=last.sent_bytes / max(1, last.step_count),
        staleness=report.largest_staleness,
    )


def seconds_to(points: Sequence[Point], target: float, *, falls: bool) -> float:
    """When a curve first reaches a target, on the straight line between two points; infinite if it does not.

    Args:
        points: in order of time.
        target: a quality.
        falls: less is better.
    """
    sign = -1.0 if falls else 1.0
    if points and sign * (points[0].quality - target) >= 0:
        return points[0].seconds
    for before, after in pairwise(points):
        if sign * (after.quality - target) >= 0:
            share = (target - before.quality) / (after.quality - before.quality)
            return before.seconds + share * (after.seconds - before.seconds)
    return math.inf


def _rank(question: Question, advice: Advice) -> tuple[float, float, float]:
    """What is less is better."""
    times = [run.seconds for run in advice.runs if run.seconds < math.inf]
    quality = fmean(run.quality for run in advice.runs) * (1 if question.falls else -1)
    return -len(times), fmean(times) if times else math.inf, quality if not times else 0.0


def _is_as_good(advice: Advice, best: Advice) -> bool:
    if advice.candidate == best.candidate:
        return True
    if advice.seconds is None or best.seconds is None:
        return False
    difference = paired_difference([run.seconds for run in advice.runs], [run.seconds for run in best.runs])
    return difference.holds_zero


def _seeds(question: Question) -> range:
    return range(question.race.seed, question.race.seed + question.seed_count)


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
