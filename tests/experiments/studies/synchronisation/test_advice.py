"""The study of advice: what a trace led to is set against runs for real, here mostly against simulated ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.racing.contest import Outcome, run_contestant
from sparsync.experiments.studies.synchronisation import advice
from sparsync.experiments.studies.synchronisation.advice import SIZES, Case, candidates_of, run_count, summary
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.store import Store


def run_simulated(case: Case) -> Outcome:
    """In the place of a real run: seconds are the cluster's own."""
    name, parameters = case.candidate.contestant
    race = case.candidate.in_race(replace(case.setting.race, seconds=120.0, seed=case.seed))
    return run_contestant(race, name, parameters)


@pytest.fixture
def long_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "default_job_count", lambda: 1)
    sizes = SIZES["smoke"]
    longer = {name: replace(one, race=replace(one.race, seconds=120.0)) for name, one in sizes.settings.items()}
    monkeypatch.setitem(SIZES, "smoke", replace(sizes, settings=longer, densities=(1.0, 0.1), seed_count=2))


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, long_settings: None) -> dict[str, Any]:
    del long_settings
    monkeypatch.setattr(advice, "_run_for_real", run_simulated)
    return advice.run_advice("smoke", ALONE)


def test_where_reality_is_simulated_the_advice_is_right(study: dict[str, Any]) -> None:
    """What a trace shows of a cluster without links is the cluster: predictions are what then happens."""
    (setting,) = study["settings"].values()
    rows = setting["candidates"]
    assert len(rows) == 4
    assert rows[0]["policy"] == "asp"
    for row in rows:
        assert len(row["real_seconds"]) == 2
        assert row["predicted_seconds"]["value"] == pytest.approx(row["real_mean_seconds"], rel=0.05)
    assert setting["is_within"]
    line, last = summary(study)
    assert "advised asp" in line
    assert ", within 10% of the fastest, " in line
    assert last == "the advice was within 10% of the fastest in 1 of 1 settings"


def test_where_nothing_reaches_the_target_no_advice_was_right(
    monkeypatch: pytest.MonkeyPatch, long_settings: None
) -> None:
    del long_settings

    def standing_still(case: Case) -> Outcome:
        outcome = run_simulated(case)
        return replace(outcome, points=[replace(point, quality=math.inf) for point in outcome.points])

    monkeypatch.setattr(advice, "_run_for_real", standing_still)
    study = advice.run_advice("smoke", ALONE)
    (setting,) = study["settings"].values()
    assert not setting["is_within"]
    assert summary(study)[-1].endswith("in 0 of 1 settings")


@pytest.mark.slow
def test_a_study_on_processes_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "default_job_count", lambda: 1)
    count = 0

    def advance() -> None:
        nonlocal count
        count += 1

    study = advice.run_advice("smoke", Pool(1, store=Store(tmp_path), advance=advance))
    (setting,) = study["settings"].values()
    assert {row["policy"] for row in setting["candidates"]} == {"bsp", "asp"}
    assert count == run_count(SIZES["smoke"])

    def never(case: Case) -> Outcome:
        raise AssertionError(f"{case} has run already")

    monkeypatch.setattr(advice, "_run_for_real", never)
    again = advice.run_advice("smoke", Pool(1, store=Store(tmp_path)))
    assert again["settings"] == study["settings"]


@pytest.mark.parametrize("profile", SIZES)
def test_every_size_has_runs_that_can_be_told_apart(profile: str) -> None:
    sizes = SIZES[profile]  # type: ignore[index]
    candidates = candidates_of(sizes)
    assert ("asp", {}) in [candidate.contestant for candidate in candidates]
    assert run_count(sizes) == len(sizes.settings) * (1 + sizes.seed_count * len(candidates))


def test_the_record_has_ten_settings() -> None:
    assert len(SIZES["record"].settings) == 10
