"""Each entrant races with the step size that its own search found, on seeds which the search did not see."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sparsync.experiments.racing.contest import Race, run_contestant
from sparsync.experiments.studies.synchronisation import tuned_races
from sparsync.experiments.studies.synchronisation.tuned_races import (
    TUNING_SEED,
    Case,
    Entrant,
    Grid,
    Plan,
    mean_accuracy,
    run_race,
    run_tuned,
    tuning_loss,
)
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.pool import Pool

PLAN = Plan(
    Race(workers=8, seconds=6, points=3, model="fnn2", step_size=0.2, consensus_step=0.1), 25_450, Grid(0.1, 6, 2), 2, 2
)
SHORT = replace(PLAN.race, bandwidth=PLAN.bandwidth)
ENTRANTS = [Entrant("bsp", "equal", "none"), Entrant("dybw", "one_slow", "top_k")]


def _losses(best: dict[str, float], seen: list[Case]) -> Any:
    """Stands in for training: the loss is the distance from the policy's best step size in powers of two."""

    def loss(case: Case) -> float:
        seen.append(case)
        return abs(math.log2(case.race.step_size / best[case.policy]))

    return loss


def _row(case: Case) -> dict[str, Any]:
    return {"policy": case.policy, "step_size": case.race.step_size, "seed": case.race.seed, "race": case.race}


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[Case], int]:
    """The study of two entrants whose best step sizes are 0.8 and 0.1, what was tried, and how often it advanced."""
    seen: list[Case] = []
    advanced: list[None] = []
    monkeypatch.setattr(tuned_races, "tuning_loss", _losses({"bsp": 0.8, "dybw": 0.1}, seen))
    monkeypatch.setattr(tuned_races, "run_race", _row)
    study = run_tuned(PLAN, ENTRANTS, Pool(1, advance=lambda: advanced.append(None)), seed=5)
    return study, seen, len(advanced)


def test_each_entrant_races_with_its_own_best_step_size_on_every_seed(tuned: tuple[Any, Any, int]) -> None:
    study, _, _ = tuned
    assert [(row["policy"], row["step_size"], row["seed"]) for row in study["races"]] == [
        ("bsp", 0.8, 5),
        ("dybw", 0.1, 5),
        ("bsp", 0.8, 6),
        ("dybw", 0.1, 6),
    ]
    assert [(entry["policy"], entry["step_size"], entry["is_at_edge"]) for entry in study["tuning"]] == [
        ("bsp", 0.8, False),
        ("dybw", 0.1, True),
    ]


def test_the_search_sees_seeds_of_its_own_alone(tuned: tuple[Any, list[Case], int]) -> None:
    study, seen, _ = tuned
    tried = {case.race.seed for case in seen}
    assert tried == {5 + TUNING_SEED, 6 + TUNING_SEED}
    assert not tried & {row["seed"] for row in study["races"]}
    of_bsp = {case.race.step_size for case in seen if case.policy == "bsp"}
    assert of_bsp == {entry["step_size"] for entry in study["tuning"][0]["tried"]}


def test_it_advances_as_often_as_was_said(tuned: tuple[Any, list[Case], int]) -> None:
    _, seen, advanced = tuned
    assert len(seen) < len(ENTRANTS) * 6 * 2
    assert advanced == PLAN.most_races(2) == 2 * (6 * 2 + 2)


def test_mixing_is_slowed_where_it_is_compressed(tuned: tuple[Any, list[Case], int]) -> None:
    study, _, _ = tuned
    assert [row["race"].consensus_step for row in study["races"][:2]] == [1.0, 0.1]


def test_a_grid_of_one_is_not_searched() -> None:
    plan = replace(PLAN, grid=Grid(0.2, 1, 0), seed_count=1)
    assert plan.most_races(3) == 3
    study = run_tuned(plan, ENTRANTS[:1], Pool(1), seed=0)
    assert study["tuning"] == [
        {"policy": "bsp", "cluster": "equal", "selector": "none", "step_size": 0.2, "is_at_edge": False, "tried": []}
    ]


def test_a_diverged_search_has_no_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(case: Case) -> float:
        return math.inf if case.race.step_size > 0.2 else 0.25

    monkeypatch.setattr(tuned_races, "tuning_loss", loss)
    (entry,) = run_tuned(PLAN, ENTRANTS[:1], Pool(1), seed=0)["tuning"]
    assert [(at["step_size"], at["mean_accuracy"]) for at in entry["tried"]] == [
        (0.1, 0.75),
        (0.2, 0.75),
        (0.4, None),
        (1.6, None),
    ]
    assert entry["is_at_edge"]


def test_the_loss_of_the_search_is_what_the_race_gives() -> None:
    case = Case("asp", replace(SHORT, cluster="pareto"))
    # Accuracies of a race are rounded to four digits.
    assert tuning_loss(case) == pytest.approx(1 - mean_accuracy(run_race(case)), abs=1e-4)


def test_a_diverged_race_is_a_result() -> None:
    case = Case("asp", replace(SHORT, step_size=1e38))
    row = run_race(case)
    assert row["diverged"]
    assert tuning_loss(case) == math.inf
    assert len(row["accuracy"]) == len(row["sent_bytes"]) == SHORT.points + 1
    assert row["accuracy"][-1] == 0.0 < row["accuracy"][0]
    assert row["waiting_share"] is None
    assert not run_race(Case("asp", SHORT))["diverged"]


def test_a_broken_bound_is_recorded_and_the_race_goes_on() -> None:
    conditions = replace(SHORT, seconds=70.0)
    printed, capped = (run_race(Case(policy, conditions)) for policy in ("dssp_printed", "dssp"))
    assert "17 ahead" in printed["broken_bound"]
    assert capped["broken_bound"] is None
    assert printed["largest_gap"] > 16 >= capped["largest_gap"]
    assert printed["step_count"] > capped["step_count"]


def test_ledgers_are_kept_where_bounds_are_not() -> None:
    """The race that breaks its lead is a violation if held to it, and has a report if not."""
    race = Race(data="quadratic", seconds=200.0, workers=4, points=2)
    with pytest.raises(Violation, match="ahead of"):
        run_contestant(race, "dssp_printed")
    assert run_contestant(race, "dssp_printed", is_held_to_bounds=False).report.largest_gap > 16


def test_selection_sends_less_and_faster() -> None:
    dense, sparse = (
        run_race(Case("bsp", replace(SHORT, cluster="equal", selector=selector))) for selector in ("none", "top_k")
    )
    # Of 25,450 values of 4 bytes, 254 are sent, each with an index of 4 bytes.
    per_message = dense["sent_bytes"][-1] / dense["most_steps"] / SHORT.workers
    assert per_message == 4 * 25_450
    assert sparse["sent_bytes"][-1] / sparse["most_steps"] / SHORT.workers == 8 * 254
    assert sparse["most_steps"] >= dense["most_steps"]


def test_curves_start_at_zero_and_grow() -> None:
    row = run_race(Case("asp", replace(SHORT, cluster="churn", selector="top_k")))
    assert len(row["accuracy"]) == len(row["sent_bytes"]) == SHORT.points + 1
    assert row["sent_bytes"][0] == 0
    assert all(earlier < later for earlier, later in pairwise(row["sent_bytes"]))
    # Each step of an asynchronous worker is one message of 254 values and indices, the last of which may not be sent.
    assert 0 <= 8 * 254 * row["step_count"] - row["sent_bytes"][-1] <= 8 * 254 * SHORT.workers


def test_the_slowest_and_the_fastest_worker_are_told_apart() -> None:
    """In seven seconds one worker makes two steps of three, and the others one a second but for the first reading."""
    row = run_race(Case("asp", replace(SHORT, seconds=7.0, selector="top_k")))
    assert row["fewest_steps"] < row["most_steps"]
    assert row["fewest_steps"] + (SHORT.workers - 1) * row["most_steps"] == row["step_count"]
