"""Every synchronisation model under four clusters, dense and with Top-k: accuracy against simulated time and bytes.

All contestants have the same data, network, step size, links and luck, and their usual parameters; only the rule about
waiting differs. A policy that breaks a bound which its source claims is recorded so, and raced without that bound.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import Outcome, Race, run_contestant
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

RACED_CLUSTERS = ("equal", "one_slow", "pareto", "churn")
RACED_SELECTORS = ("none", "top_k")
_MESSAGE_SECONDS = 0.5
"""What a dense message takes on its line; a usual step takes a second."""
_PARAMETER_BYTES = 4


@dataclass(frozen=True)
class Conditions:
    """A profile's races and how often each is repeated.

    Args:
        race: what all contestants share; cluster, selector and seed are replaced.
        parameter_count: of its model.
        seed_count: repetitions, each with other data order and luck.
    """

    race: Race
    parameter_count: int
    seed_count: int

    @property
    def bandwidth(self) -> float:
        """Bytes per second of every line."""
        return self.parameter_count * _PARAMETER_BYTES / _MESSAGE_SECONDS


_QUICK = Race(workers=8, seconds=240, model="fnn2", step_size=0.2, density=0.01, consensus_step=0.1)
CONDITIONS: dict[ProfileName, Conditions] = {
    "smoke": Conditions(replace(_QUICK, seconds=6, points=3), 25_450, 1),
    "quick": Conditions(_QUICK, 25_450, 1),
    "full": Conditions(replace(_QUICK, seconds=1200, model="fnn3", data="fashion_mnist"), 199_210, 5),
}
Case = tuple[str, str, str, int]
"""policy, cluster, selector, seed"""


def race_cases(profile_name: ProfileName) -> list[Case]:
    """All races of a profile."""
    return [
        (policy, cluster, selector, seed)
        for seed in range(sized(CONDITIONS, profile_name).seed_count)
        for cluster in RACED_CLUSTERS
        for selector in RACED_SELECTORS
        for policy in POLICIES
    ]


def case_count(profile_name: ProfileName) -> int:
    """How many races there are."""
    return len(race_cases(profile_name))


def run_races(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Race every policy; the study's JSON.

    Args:
        profile_name: key of `CONDITIONS`.
        pool: runs the cases.
        seed: added to every race's own.

    Returns:
        `seconds` of the measurements, and for each race what it was, its curves `accuracy` and `sent_bytes`, and
        what the monitors counted.
    """
    conditions = sized(CONDITIONS, profile_name)
    race = replace(conditions.race, bandwidth=conditions.bandwidth)
    rows = pool.run(partial(run_race, race, seed), race_cases(profile_name))
    return {
        "profile": profile_name,
        "seed": seed,
        "race": asdict(race),
        "seconds": [race.seconds * (place / race.points) for place in range(race.points + 1)],
        "races": rows,
        "provenance": provenance(process_count=1),
    }


def run_race(conditions: Race, first_seed: int, case: Case) -> dict[str, Any]:
    """One contestant; a broken bound is noted, and the race is run again without it."""
    policy, cluster, selector, seed = case
    # Mixing needs a small consensus step only where it is compressed.
    consensus_step = 1.0 if selector == "none" else conditions.consensus_step
    race = replace(
        conditions, cluster=cluster, selector=selector, seed=first_seed + seed, consensus_step=consensus_step
    )
    data, broken = _data(race.data), None
    try:
        outcome = run_contestant(race, policy, data=data)
    except Violation as violation:
        broken = str(violation)
        outcome = run_contestant(race, policy, data=data, is_held_to_bounds=False)
    return {"policy": policy, "cluster": cluster, "selector": selector, "seed": seed} | _row(outcome, broken)


def _row(outcome: Outcome, broken: str | None) -> dict[str, Any]:
    report, points = outcome.report, outcome.points
    return {
        "broken_bound": broken,
        "accuracy": [round(point.quality, 4) for point in points],
        "sent_bytes": [point.sent_bytes for point in points],
        "step_count": points[-1].step_count,
        "version": points[-1].version,
        "pulled_bytes": outcome.pulled_bytes,
        "waiting_share": report.waiting_share,
        "largest_gap": report.largest_gap,
        "largest_staleness": report.largest_staleness,
        "fewest_steps": min(outcome.worker_steps),
        "most_steps": max(outcome.worker_steps),
    }


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
