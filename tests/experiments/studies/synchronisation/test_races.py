"""All models race under the same conditions; one that breaks its bound is recorded and races on without it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import Race, run_contestant
from sparsync.experiments.studies.synchronisation.races import (
    CONDITIONS,
    RACED_CLUSTERS,
    RACED_SELECTORS,
    case_count,
    race_cases,
    run_race,
    run_races,
)
from sparsync.experiments.training.models import FlatModel
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.pool import Pool

SHORT = replace(CONDITIONS["smoke"].race, bandwidth=CONDITIONS["smoke"].bandwidth)


def test_every_policy_races_in_every_cluster_with_and_without_selection() -> None:
    cases = race_cases("quick")
    assert case_count("quick") == len(set(cases)) == len(POLICIES) * len(RACED_CLUSTERS) * len(RACED_SELECTORS)
    assert case_count("full") == 5 * case_count("quick")


@pytest.mark.parametrize("profile", CONDITIONS)
def test_a_dense_message_takes_half_a_second(profile: str) -> None:
    conditions = CONDITIONS[profile]  # type: ignore[index] # the keys are the names
    model = FlatModel(conditions.race.model, feature_count=784, class_count=10, seed=0)
    assert conditions.parameter_count == len(model.parameters)
    assert 4 * conditions.parameter_count / conditions.bandwidth == 0.5


def test_a_broken_bound_is_recorded_and_the_race_goes_on() -> None:
    conditions = replace(SHORT, seconds=70.0)
    printed = run_race(conditions, 0, ("dssp_printed", "one_slow", "none", 0))
    capped = run_race(conditions, 0, ("dssp", "one_slow", "none", 0))
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
    dense, sparse = (run_race(SHORT, 0, ("bsp", "equal", selector, 0)) for selector in RACED_SELECTORS)
    # Of 25,450 values of 4 bytes, 254 are sent, each with an index of 4 bytes.
    per_message = dense["sent_bytes"][-1] / dense["most_steps"] / SHORT.workers
    assert per_message == 4 * 25_450
    assert sparse["sent_bytes"][-1] / sparse["most_steps"] / SHORT.workers == 8 * 254
    assert sparse["most_steps"] >= dense["most_steps"]


def test_curves_start_at_zero_and_grow() -> None:
    row = run_race(SHORT, 0, ("asp", "churn", "top_k", 0))
    assert len(row["accuracy"]) == len(row["sent_bytes"]) == SHORT.points + 1
    assert row["sent_bytes"][0] == 0
    assert all(earlier < later for earlier, later in pairwise(row["sent_bytes"]))
    # Each step of an asynchronous worker is one message of 254 values and indices, the last of which may not be sent.
    assert 0 <= 8 * 254 * row["step_count"] - row["sent_bytes"][-1] <= 8 * 254 * SHORT.workers


def test_the_seed_of_the_study_is_added_to_that_of_the_race() -> None:
    later, sooner = (run_race(SHORT, first, ("ssp", "pareto", "none", own)) for first, own in ((1, 0), (0, 1)))
    assert later | {"seed": 1} == sooner
    assert later != run_race(SHORT, 0, ("ssp", "pareto", "none", 0))


def test_the_slowest_and_the_fastest_worker_are_told_apart() -> None:
    """In seven seconds one worker makes two steps of three, and the others one a second but for the first reading."""
    row = run_race(replace(SHORT, seconds=7.0), 0, ("asp", "one_slow", "top_k", 0))
    assert row["fewest_steps"] < row["most_steps"]
    assert row["fewest_steps"] + (SHORT.workers - 1) * row["most_steps"] == row["step_count"]


def test_the_study_holds_what_single_races_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study's run in processes of their own, which share no state with this one."""
    chosen = [("ssp", "pareto", "top_k", 0), ("ds_sync", "equal", "none", 0)]
    monkeypatch.setattr("sparsync.experiments.studies.synchronisation.races.race_cases", lambda _profile: chosen)
    advanced: list[None] = []
    study = run_races("smoke", Pool(2, advance=lambda: advanced.append(None)))
    assert study["races"] == [run_race(SHORT, 0, case) for case in chosen]
    assert len(advanced) == case_count("smoke") == 2
    assert study["seconds"] == [0.0, 2.0, 4.0, 6.0]
    assert study["race"]["bandwidth"] == SHORT.bandwidth
