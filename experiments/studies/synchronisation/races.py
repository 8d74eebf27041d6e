"""Every synchronisation model under four clusters, dense and with Top-k: accuracy against simulated time and bytes.

All entrants have the same data, network, links and luck, seed by seed, and their usual parameters; each has the step
size that is best for it, in its cluster and with what it sends. What differs is the rule about waiting.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import product
from typing import Any

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import Race
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.studies.synchronisation.tuned_races import Entrant, Grid, Plan, run_tuned
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

RACED_CLUSTERS = ("equal", "one_slow", "pareto", "churn")
RACED_SELECTORS = ("none", "top_k")
_RACE = Race(workers=8, seconds=120, points=24, model="fnn2", density=0.01, consensus_step=0.1)
_GRID = Grid(smallest=0.0125, place_count=9, start=4)
PLANS: dict[ProfileName, Plan] = {
    "smoke": Plan(replace(_RACE, seconds=6, points=3), 25_450, Grid(0.2, 1, 0), 1, 1),
    "quick": Plan(replace(_RACE, seconds=80, points=16), 25_450, Grid(0.1, 3, 1), 2, 1),
    "record": Plan(_RACE, 25_450, _GRID, 5, 1),
    "full": Plan(replace(_RACE, seconds=1200, points=48, model="fnn3", data="fashion_mnist"), 199_210, _GRID, 8, 3),
}


def entrants() -> list[Entrant]:
    """Every policy in every cluster, with all that is sent."""
    return [
        Entrant(policy, cluster, selector)
        for cluster, selector, policy in product(RACED_CLUSTERS, RACED_SELECTORS, POLICIES)
    ]


def case_count(profile_name: ProfileName) -> int:
    """How many races there are, also those that the searches may leave out."""
    return sized(PLANS, profile_name).most_races(len(entrants()))


def run_races(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Race every policy; the study's JSON.

    Args:
        profile_name: key of `PLANS`.
        pool: runs the races.
        seed: added to every race's own.

    Returns:
        What `run_tuned` gives, and the conditions that all `races` share as `race`.
    """
    plan = sized(PLANS, profile_name)
    return {
        "profile": profile_name,
        "race": sayable(asdict(replace(plan.race, bandwidth=plan.bandwidth))),
        **run_tuned(plan, entrants(), pool, seed=seed),
        "provenance": provenance(process_count=1),
    }
