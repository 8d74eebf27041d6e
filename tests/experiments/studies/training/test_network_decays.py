"""Each decay is trained with the step size that was best for it, and compared with none by seed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from sparsync.experiments.studies.links.contenders import Case
from sparsync.experiments.studies.links.local_training import read_case
from sparsync.experiments.studies.training import decays, network_decays
from sparsync.experiments.studies.training.contestants import TUNING_SEED
from sparsync.experiments.studies.training.network_decays import LOCAL, SIZES, Search, against, case, case_count
from sparsync.verify.tools.pool import Pool

BEST = {0.0: 3, 0.5: 4, 0.9: 5, 0.95: 6, 1.0: 7}
"""Places of the step size where the made-up loss is least, by decay."""


def made_up(asked: Case) -> dict[str, Any]:
    """1 − β/2, and more the farther the step size is from its best; AdamW's largest diverges. The seed adds its own."""
    place = round(asked.run.step_size / 1e-4).bit_length() - 1
    loss = 1 - asked.method.decay / 2 + abs(place - BEST[asked.method.decay]) + asked.run.seed % TUNING_SEED
    diverged = place == 12
    return {"steps": [asked.run.steps], "test_accuracy": [0.25], "test_loss": None if diverged else loss}


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """What was trained, where training is made up."""
    asked: list[Case] = []

    def train(each: Case) -> dict[str, Any]:
        asked.append(each)
        return made_up(each)

    monkeypatch.setattr(network_decays, "run_locally", train)
    return asked


def test_every_decay_has_its_own_best_step_size_and_is_paired_by_seed(trained: list[Case]) -> None:
    advanced: list[None] = []
    networks = network_decays.run_networks("record", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("record")
    assert [network["model"] for network in networks] == ["gpt", "fnn3"]
    for network in networks:
        assert {row["decay"]: row["step_size"] for row in network["by_decay"]} == pytest.approx(
            {decay: 1e-4 * 2**place for decay, place in BEST.items()}
        )
        for row in network["by_decay"]:
            assert row["test_loss"] == [1 - row["decay"] / 2 + seed for seed in range(5)]
            assert row["difference"] == pytest.approx((1 - row["decay"]) / 2)
            assert row["verdict"] == ("itself" if row["decay"] == 1 else "worse")
            assert not row["is_at_edge"]
    assert {each.run.seed for each in trained} == {TUNING_SEED, *range(5)}


def test_a_run_ends_with_an_exchange_and_travels_as_json() -> None:
    for setup in SIZES["record"].setups:
        asked = case(Search(setup, 0.9, is_tuned=True), 5, 3)
        assert asked.run.steps % LOCAL.inner_steps == 0
        assert setup.steps <= asked.run.steps < setup.steps + LOCAL.inner_steps
        assert (asked.method.decay, asked.run.optimiser) == (0.9, "adamw")
        assert asked.run.step_size == pytest.approx(0.0032)
        assert read_case(json.dumps(asdict(asked))) == asked


def test_a_run_that_diverged_is_a_verdict_and_no_difference() -> None:
    assert against([1.0, None], [1.0, 2.0])["verdict"] == "diverged"
    assert against([1.0, 2.0], [None, 2.0])["difference"] is None


def test_one_seed_says_nothing_about_the_difference() -> None:
    found = against([1.0], [2.0])
    assert (found["difference"], found["verdict"]) == (-1.0, "inconclusive")
    assert json.loads(json.dumps(found, allow_nan=False))["low"] is None


def test_the_quick_profile_has_no_network() -> None:
    assert network_decays.run_networks("quick", Pool()) == []
    assert decays.case_count("quick") == len(decays.SETTINGS)


@pytest.mark.slow
def test_real_processes_train_with_every_decay() -> None:
    [network] = network_decays.run_networks("smoke", Pool())
    losses = {row["decay"]: row["test_loss"] for row in network["by_decay"]}
    assert all(loss is not None and loss > 0 for each in losses.values() for loss in each)
    assert losses[0.0] != losses[1.0]
