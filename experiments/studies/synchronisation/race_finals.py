"""Does the order of the small races hold for a convolutional network? The best six policies, and BSP, on ResNet-20.

Who the best are is decided by the races of the same profile: of each cluster and selector the policies are ranked by
their accuracy in the mean over race and seeds, and the six of least mean rank go on. With a store those races are
taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import groupby, product
from statistics import fmean
from typing import Any

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import Race
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.synchronisation import races
from sparsync.experiments.studies.synchronisation.tuned_races import Entrant, Grid, Plan, mean_accuracy, run_tuned
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

FINALIST_COUNT = 6
REFERENCE = "bsp"
"""Races in the final whatever its rank."""
FINAL_CLUSTERS = ("one_slow",)
FINAL_SELECTORS = ("none",)
_RACE = Race(workers=4, seconds=120, points=4, model="resnet20", batch_size=16, density=0.01, consensus_step=0.1)
_PARAMETER_COUNT = 269_434
PLANS: dict[ProfileName, Plan] = {
    "record": Plan(_RACE, _PARAMETER_COUNT, Grid(0.05, 4, 1), 5, 1),
    "full": Plan(replace(_RACE, workers=8, seconds=1200, points=24), _PARAMETER_COUNT, Grid(0.0125, 9, 4), 8, 1),
}
"""Other profiles leave the finals out."""


def mean_ranks(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By policy: how many are better in accuracy over race and seeds, in the mean over clusters and selectors.

    Args:
        rows: the `races` of the study.
    """
    ranks: dict[str, list[int]] = {}
    for _, group in groupby(sorted(rows, key=_place), key=_place):
        accuracies: dict[str, list[float]] = {}
        for row in group:
            accuracies.setdefault(row["policy"], []).append(mean_accuracy(row))
        means = {policy: fmean(found) for policy, found in accuracies.items()}
        for policy, own in means.items():
            ranks.setdefault(policy, []).append(sum(other > own for other in means.values()))
    return {policy: fmean(found) for policy, found in ranks.items()}


def finalists(ranks: dict[str, float]) -> list[str]:
    """The policies of least mean rank, of equal ones the first in `POLICIES`; the reference is none of them."""
    order = [policy for policy in POLICIES if policy in ranks and policy != REFERENCE]
    return sorted(order, key=lambda policy: ranks[policy])[:FINALIST_COUNT]


def run_finals(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Race the finalists; the study's JSON.

    Args:
        profile_name: key of `PLANS`.
        pool: runs the races, those of the study `races` first, which a store may have.
        seed: added to every race's own.

    Returns:
        As `run_races`, with the `finalists` and the `mean_ranks` that made them so.

    Raises:
        ValueError: the profile leaves the study out.
    """
    if profile_name not in PLANS:
        raise ValueError(f"profile {profile_name!r} leaves this study out; it is in: {', '.join(PLANS)}")
    plan = PLANS[profile_name]
    ranks = mean_ranks(races.run_races(profile_name, pool, seed=seed)["races"])
    chosen = finalists(ranks)
    return {
        "profile": profile_name,
        "race": sayable(asdict(replace(plan.race, bandwidth=plan.bandwidth))),
        "mean_ranks": ranks,
        "finalists": chosen,
        **run_tuned(plan, _entrants(chosen), pool, seed=seed),
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many races there are at most, the small ones too; 0 where the study is left out."""
    if profile_name not in PLANS:
        return 0
    entrant_count = len(FINAL_CLUSTERS) * len(FINAL_SELECTORS) * (1 + FINALIST_COUNT)
    return races.case_count(profile_name) + PLANS[profile_name].most_races(entrant_count)


def _entrants(chosen: Sequence[str]) -> list[Entrant]:
    return [
        Entrant(policy, cluster, selector)
        for cluster, selector, policy in product(FINAL_CLUSTERS, FINAL_SELECTORS, (REFERENCE, *chosen))
    ]


def _place(row: dict[str, Any]) -> tuple[str, str]:
    return row["cluster"], row["selector"]
