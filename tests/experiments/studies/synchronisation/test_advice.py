"""The study of advice: what a trace led to is set against runs for real, here against simulated ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.racing.advice import Candidate
from sparsync.experiments.racing.contest import Point, run_contestant
from sparsync.experiments.racing.recordings import write_traces
from sparsync.experiments.studies.synchronisation import advice
from sparsync.experiments.studies.synchronisation.advice import SIZES, Setting, candidates_of, run_count, summary


def run_simulated(setting: Setting, candidate: Candidate, *more: str) -> list[Point]:
    """In the place of a real run: seconds are the cluster's own."""
    name, parameters = candidate.contestant
    race = candidate.in_race(replace(setting.race, seconds=60.0))
    outcome = run_contestant(race, name, parameters)
    if more:
        (path,) = write_traces(Path(more[1]).parent, race, [outcome])
        path.rename(more[1])
    return outcome.points


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(advice, "_run_for_real", run_simulated)
    monkeypatch.setattr(advice, "default_job_count", lambda: 1)
    sizes = SIZES["smoke"]
    longer = {name: replace(one, race=replace(one.race, seconds=60.0)) for name, one in sizes.settings.items()}
    monkeypatch.setitem(SIZES, "smoke", replace(sizes, settings=longer, densities=(1.0, 0.1)))
    return advice.run_advice("smoke")


def test_where_reality_is_simulated_the_advice_is_right(study: dict[str, Any]) -> None:
    (setting,) = study["settings"].values()
    rows = setting["candidates"]
    assert len(rows) == 4
    assert rows[0]["policy"] == "asp"
    for row in rows:
        assert row["predicted_seconds"]["value"] == pytest.approx(row["real_mean_seconds"], rel=0.05)
    assert setting["is_within"]
    (line,) = summary(study)
    assert "advised asp" in line
    assert ", within 10% of the fastest, " in line


def test_where_nothing_reaches_the_target_no_advice_was_right(
    study: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    del study

    def standing_still(setting: Setting, candidate: Candidate, *more: str) -> list[Point]:
        return [replace(point, quality=math.inf) for point in run_simulated(setting, candidate, *more)]

    monkeypatch.setattr(advice, "_run_for_real", standing_still)
    (setting,) = advice.run_advice("smoke")["settings"].values()
    assert not setting["is_within"]


@pytest.mark.parametrize("profile", SIZES)
def test_every_size_has_runs_that_can_be_told_apart(profile: str) -> None:
    sizes = SIZES[profile]  # type: ignore[index]
    candidates = candidates_of(sizes)
    assert ("asp", {}) in [candidate.contestant for candidate in candidates]
    assert run_count(sizes) == len(sizes.settings) * (1 + sizes.repeats * len(candidates))
