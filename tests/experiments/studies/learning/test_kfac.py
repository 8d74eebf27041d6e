"""The study runs every case once, pairs contestants by seed, and its bytes are those of the statements."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from sparsync.experiments.learning.kfac_settings import SCHEMES
from sparsync.experiments.learning.kfac_training import METHODS, KfacRun, train
from sparsync.experiments.parties.party import Party
from sparsync.experiments.studies.learning import kfac
from sparsync.experiments.studies.profiles import PROFILES, ProfileName, sized
from sparsync.verify.tools.pool import Pool
from tests.support.kfac_cases import small_data

TINY = replace(
    kfac.SIZES["smoke"],
    base=replace(
        kfac.SIZES["smoke"].base, model="deep1", steps=4, evaluate_every=2, factor_period=1, decomposition_period=2
    ),
    grid_step=6,
    tuning_seed_count=1,
    seed_count=2,
    round_count=2,
)


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(kfac.SIZES, "smoke", TINY)
        patch.setattr(kfac, "_data", lambda _source: small_data())
        advanced = []
        found = kfac.run_kfac("smoke", Pool(advance=lambda: advanced.append(1)))
        assert len(advanced) == kfac.case_count("smoke")
    return found


@cache
def trained(run: KfacRun) -> dict[str, Any]:
    return train(run, Party(), small_data())


def test_runs_are_those_of_the_settings_that_they_state(study: dict[str, Any]) -> None:
    assert [run["name"] for run in study["runs"]] == [one.name for one in kfac.contestants(TINY)]
    tuned = {record["method"]: record["settings"] for record in study["tuning"]}
    for one, run in zip(kfac.contestants(TINY), study["runs"], strict=True):
        settings = replace(TINY.base, method=one.method, seed=1, **{**tuned[one.method], **one.change})
        found = trained(settings)
        assert run["accuracies"][1] == [evaluation["test_accuracy"] for evaluation in found["evaluations"]]
        assert run["sent_bytes"] == sum(found["sent_bytes"].values()) / TINY.base.steps
        assert run["settings"]["density"] == settings.density


def test_the_tuned_settings_are_those_that_reached_the_target_first(study: dict[str, Any]) -> None:
    for record in study["tuning"]:
        assert len(record["tried"]) == 2
        best = min(record["tried"], key=lambda tried: (tried["mean_steps"], -tried["mean_accuracy"]))
        assert best["step_size"] == record["settings"]["step_size"]
        assert record["is_at_edge"]


def test_a_target_is_reached_by_the_mean_of_two_evaluations() -> None:
    counts = [10, 20, 30, 40]
    assert kfac.steps_to(0.5, counts, [0.9, 0.2, 0.4, 0.6]) == 20
    assert kfac.steps_to(0.5, counts, [0.1, 0.6, 0.4, 0.6]) == 30
    assert kfac.steps_to(0.5, counts, [0.1, 0.6, None, 0.6]) is None
    assert kfac.steps_to(0.5, counts, [0.1, 0.2, 0.3, 0.4]) is None


def test_bytes_are_those_of_the_statements_with_headers(study: dict[str, Any]) -> None:
    assert [record["scheme"] for record in study["schemes"]] == list(SCHEMES)
    for record in study["schemes"]:
        assert record["measured"] == pytest.approx(record["stated"] + record["headers"], rel=8 * 2.0**-53)


def test_seconds_are_measured_in_rounds_where_they_are_asked_for(study: dict[str, Any]) -> None:
    assert set(study["step_seconds"]) == set(METHODS)
    assert all(len(rounds) == 2 and min(rounds) > 0 for rounds in study["step_seconds"].values())
    assert all(not sized(kfac.SIZES, name).round_count for name in ("smoke", "quick"))


def test_a_run_that_diverges_is_a_result() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kfac, "_data", lambda _source: small_data())
        found = kfac.run_case(replace(TINY.base, method="sgd", step_size=1e30, steps=6))
    assert found == {"accuracies": [None] * 3, "sent_bytes": None}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_method_chooses_from_as_many_settings(profile: ProfileName) -> None:
    sizes = sized(kfac.SIZES, profile)
    assert len({len(kfac.grid(method, sizes)) for method in METHODS}) == 1
    assert len({one.name for one in kfac.contestants(sizes)}) == len(kfac.contestants(sizes))
