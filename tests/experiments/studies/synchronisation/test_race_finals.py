"""The policies of least mean rank, and the reference, race again on another network; nobody is chosen by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.synchronisation import race_finals, races
from sparsync.experiments.studies.synchronisation.race_finals import (
    FINAL_CLUSTERS,
    FINAL_SELECTORS,
    FINALIST_COUNT,
    PLANS,
    REFERENCE,
    case_count,
    finalists,
    mean_ranks,
    run_finals,
)
from sparsync.experiments.studies.synchronisation.tuned_races import Entrant, Plan
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.models import FlatModel
from sparsync.verify.tools.pool import Pool


def _row(policy: str, cluster: str, accuracy: float, *, selector: str = "none", seed: int = 0) -> dict[str, Any]:
    """Half as accurate at the start, which does not count."""
    row = {"policy": policy, "cluster": cluster, "selector": selector, "seed": seed}
    return row | {"accuracy": [accuracy / 2, accuracy, accuracy]}


def test_a_rank_counts_who_is_better_in_the_mean_over_seeds_and_places() -> None:
    rows = [
        _row("bsp", "equal", 0.5),
        _row("asp", "equal", 0.8),
        # Above "asp" on one seed, below it in the mean.
        _row("ssp", "equal", 0.9),
        _row("ssp", "equal", 0.5, seed=1),
        _row("asp", "equal", 0.8, seed=1),
        _row("bsp", "equal", 0.5, seed=1),
        _row("bsp", "churn", 0.7),
        _row("asp", "churn", 0.1),
        _row("ssp", "churn", 0.7),
    ]
    assert mean_ranks(rows) == {"bsp": (2 + 0) / 2, "asp": (0 + 2) / 2, "ssp": (1 + 0) / 2}


def test_selectors_are_ranked_apart() -> None:
    rows = [_row("bsp", "equal", 0.9), _row("asp", "equal", 0.8)]
    rows += [_row("bsp", "equal", 0.1, selector="top_k"), _row("asp", "equal", 0.8, selector="top_k")]
    assert mean_ranks(rows) == {"bsp": 0.5, "asp": 0.5}


def test_the_best_go_on_and_the_reference_is_none_of_them() -> None:
    ranks = dict.fromkeys(POLICIES, 9.0) | {"bsp": 0.0, "dybw": 1.0, "asp": 2.0}
    chosen = finalists(ranks)
    assert chosen[:2] == ["dybw", "asp"]
    assert REFERENCE not in chosen
    others = [policy for policy in POLICIES if policy not in ("bsp", "dybw", "asp")]
    assert chosen[2:] == others[: FINALIST_COUNT - 2]


def test_finals_are_raced_by_the_finalists_and_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    raced: list[Entrant] = []
    small_seeds: list[int] = []
    order = [policy for policy in reversed(POLICIES) if policy != REFERENCE]
    rows = [_row(policy, "equal", 0.9 - place / 100) for place, policy in enumerate(order)]

    def run_tuned(_plan: Plan, entrants: list[Entrant], _pool: Pool, *, seed: int) -> dict[str, Any]:
        raced.extend(entrants)
        return {"races": [], "seed": seed}

    def run_races(_profile: ProfileName, _pool: Pool, *, seed: int) -> dict[str, Any]:
        small_seeds.append(seed)
        return {"races": rows}

    monkeypatch.setattr(races, "run_races", run_races)
    monkeypatch.setattr(race_finals, "run_tuned", run_tuned)
    study = run_finals("record", seed=2)
    # Infinite rates have a name in JSON.
    json.dumps(study, allow_nan=False)
    assert study["finalists"] == order[:FINALIST_COUNT]
    assert [entrant.policy for entrant in raced] == [REFERENCE, *order[:FINALIST_COUNT]]
    assert [*small_seeds, study["seed"]] == [2, 2]
    assert study["mean_ranks"][order[1]] == 1


@pytest.mark.parametrize("profile", PLANS)
def test_a_dense_message_takes_half_a_second(profile: ProfileName) -> None:
    plan = PLANS[profile]
    data = load_dataset("embedded")
    model = FlatModel(plan.race.model, feature_count=784, class_count=10, seed=0, image_shape=data.image_shape)
    assert plan.parameter_count == len(model.parameters)
    assert 4 * plan.parameter_count / plan.bandwidth == 0.5


def test_small_profiles_leave_the_finals_out() -> None:
    assert case_count("smoke") == case_count("quick") == 0
    with pytest.raises(ValueError, match="'quick' leaves this study out; it is in: record, full"):
        run_finals("quick")


def test_small_races_and_finals_are_counted() -> None:
    entrant_count = len(FINAL_CLUSTERS) * len(FINAL_SELECTORS) * (FINALIST_COUNT + 1)
    own = entrant_count * (PLANS["record"].grid.place_count + PLANS["record"].seed_count)
    assert case_count("record") == races.case_count("record") + own
