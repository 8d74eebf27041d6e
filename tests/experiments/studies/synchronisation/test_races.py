"""Every model races in every cluster, dense and with Top-k; a dense message takes half a second."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.studies.synchronisation import races
from sparsync.experiments.studies.synchronisation.races import (
    PLANS,
    RACED_CLUSTERS,
    RACED_SELECTORS,
    case_count,
    entrants,
    run_races,
)
from sparsync.experiments.studies.synchronisation.tuned_races import Case, Entrant, run_race
from sparsync.experiments.training.models import FlatModel
from sparsync.verify.tools.pool import Pool


def test_every_policy_races_in_every_cluster_with_and_without_selection() -> None:
    assert len(set(entrants())) == len(POLICIES) * len(RACED_CLUSTERS) * len(RACED_SELECTORS)


@pytest.mark.parametrize("profile", PLANS)
def test_every_race_is_counted(profile: ProfileName) -> None:
    plan = PLANS[profile]
    tried = 0 if profile == "smoke" else plan.grid.place_count * plan.tuning_seed_count
    assert case_count(profile) == len(entrants()) * (tried + plan.seed_count)


def test_the_record_has_at_least_five_seeds() -> None:
    assert sized(PLANS, "record").seed_count >= 5


@pytest.mark.parametrize("profile", PLANS)
def test_a_dense_message_takes_half_a_second(profile: ProfileName) -> None:
    plan = PLANS[profile]
    model = FlatModel(plan.race.model, feature_count=784, class_count=10, seed=0)
    assert plan.parameter_count == len(model.parameters)
    assert 4 * plan.parameter_count / plan.bandwidth == 0.5


def test_the_study_holds_what_single_races_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study's run in processes of their own, which share no state with this one."""
    chosen = [Entrant("ssp", "pareto", "top_k"), Entrant("ds_sync", "equal", "none")]
    monkeypatch.setattr(races, "entrants", lambda: chosen)
    advanced: list[None] = []
    study = run_races("smoke", Pool(2, advance=lambda: advanced.append(None)), seed=3)
    json.dumps(study, allow_nan=False)
    plan = PLANS["smoke"]
    shared = replace(plan.race, bandwidth=plan.bandwidth, step_size=0.2, seed=3)
    first = replace(shared, cluster="pareto", selector="top_k")
    second = replace(shared, cluster="equal", consensus_step=1.0)
    assert study["races"] == [run_race(Case("ssp", first)), run_race(Case("ds_sync", second))]
    assert len(advanced) == case_count("smoke") == 2
    assert study["seconds"] == [0.0, 2.0, 4.0, 6.0]
    assert study["race"]["bandwidth"] == plan.bandwidth
