"""The study tunes without delays, keeps the step size with them, and counts what is not reached as not reached."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sparsync.experiments.studies.staleness import stale_limits, staleness
from sparsync.experiments.studies.staleness.stale_descent import OPTIMISERS
from sparsync.experiments.studies.staleness.stale_training import Setting
from sparsync.experiments.studies.staleness.staleness import (
    SIZES,
    STEP_SIZES,
    case_count,
    run_staleness,
    setting_record,
)
from sparsync.verify.tools.pool import Pool

LINEAR = Setting(0, "sgd", 2)
TINY = replace(
    SIZES["smoke"],
    hidden_counts=(0,),
    optimisers=("sgd",),
    worker_counts=(1,),
    middle=Setting(0, "sgd", 2),
    stalenesses=(4,),
    retuned_stalenesses=(4,),
    tuning_limit=60,
    target=0.4,
    rate_steps=8,
    limit_delays=(0,),
)


def record_of(setting: Setting, sizes: staleness.Sizes, seed: int) -> dict[str, Any]:
    record = setting_record(setting, sizes, seed)
    assert record is not None
    return record


def test_a_record_holds_multiples_of_the_steps_without_delays() -> None:
    sizes = replace(TINY, target=0.72, seed_count=3, patience=9, stalenesses=(4,), retuned_stalenesses=(4,))
    record = record_of(LINEAR, sizes, 0)
    undelayed, late = record["runs"]
    usual = sum(undelayed["steps"]) / 3
    assert len(set(undelayed["steps"])) > 1
    assert record["step_size"] in STEP_SIZES["sgd"]
    assert record["limit"] == math.ceil(9 * usual)
    assert late["relative"] == pytest.approx(sum(late["steps"]) / 3 / usual, rel=1e-12)
    assert late["best_relative"] <= late["relative"]
    assert late["best_step_size"] <= record["step_size"]


@pytest.mark.parametrize(("late_steps", "best_factor"), [((30, 50, 40), 1.0), ((30, 30, 20), 0.25)])
def test_the_kept_step_size_may_be_the_best(
    late_steps: Sequence[int], best_factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps with delays at the kept step size, its half and its quarter, all within the patience."""
    first = STEP_SIZES["sgd"][0]
    needed = dict(zip((first, first / 2, first / 4), late_steps, strict=True))

    def steps(_setting: Setting, step_size: float, *, staleness: int, limit: int, **_others: Any) -> int | None:
        taken = needed[step_size] if staleness else round(20 * first / step_size)
        return taken if taken <= limit else None

    monkeypatch.setattr(staleness, "steps_to_target", steps)
    late = record_of(LINEAR, replace(TINY, shrinkages=(0.5, 0.25)), 0)["runs"][1]
    assert late["relative"] == 30 / 20
    assert (late["best_step_size"], late["best_relative"]) == (best_factor * first, min(late_steps) / 20)


def test_a_target_not_reached_in_time_has_no_multiple() -> None:
    record = record_of(LINEAR, replace(TINY, target=0.6, patience=1, stalenesses=(16,), retuned_stalenesses=()), 0)
    late = record["runs"][1]
    assert (late["steps"], late["relative"]) == (None, None)


def test_a_setting_that_no_step_size_brings_to_the_target_is_named_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Deep networks need more steps than they are given: the longest study must not end for that."""
    assert setting_record(LINEAR, replace(TINY, target=1.5, tuning_limit=2), 0) is None
    monkeypatch.setitem(SIZES, "smoke", replace(TINY, hidden_counts=(0, 1), middle=LINEAR))
    monkeypatch.setattr(staleness, "setting_record", lambda setting, *_: None if setting.hidden_count else {"it": 1})
    study = run_staleness("smoke")
    assert study["settings"] == [{"it": 1}] * len(study["settings"])
    assert [setting["hidden_count"] for setting in study["unreached"]] == [1]
    assert len(study["settings"]) + 1 == len(SIZES["smoke"].settings())


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_every_sweep_passes_through_the_middle_and_no_setting_comes_twice(sizes: staleness.Sizes) -> None:
    settings = sizes.settings()
    assert sizes.middle in settings
    assert len(set(settings)) == len(settings)
    assert {setting.hidden_count for setting in settings} == set(sizes.hidden_counts)
    assert {setting.optimiser for setting in settings} == set(sizes.optimisers)
    assert {setting.worker_count for setting in settings} == set(sizes.worker_counts)


def test_every_optimiser_is_tuned_over_equally_many_steps_a_factor_of_two_apart() -> None:
    assert list(STEP_SIZES) == list(OPTIMISERS)
    for sizes in STEP_SIZES.values():
        assert [larger / smaller for larger, smaller in pairwise(sizes)] == pytest.approx([2] * 3)


def test_the_study_is_its_cases_and_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", TINY)
    monkeypatch.setattr(staleness, "PROBLEMS", {"quadratic": None})
    monkeypatch.setattr(stale_limits, "LEAST_STEP_COUNT", 40)
    monkeypatch.setattr(stale_limits, "PERIOD_COUNT", 10)
    advanced: list[None] = []
    study = run_staleness("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("smoke")
    assert [row["hidden_count"] for row in study["settings"]] == [0, 0]
    assert [row["staleness"] for row in study["rates"]] == list(staleness.RATE_STALENESSES)
    assert [(row["delay"], row["momentum"]) for row in study["limits"]] == [(0, 0.0), (0, 0.9)]
    json.dumps(study, allow_nan=False)
    again = run_staleness("smoke")
    assert {**study, "provenance": None} == {**again, "provenance": None}
