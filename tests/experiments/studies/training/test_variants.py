"""Every contestant is tuned apart from what it is measured on, and all are alike in everything but their method."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from sparsync.experiments import reproduce
from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.studies.training import variants
from sparsync.experiments.studies.training.contestants import (
    DENSE,
    LOW_RANK,
    METHODS,
    OPTIMISERS,
    OWN_MOMENTUM,
    OWN_UPDATE,
    SIZES,
    TUNING_SEED,
    Case,
    Setup,
    contestants,
    run_case,
)
from sparsync.experiments.studies.training.variants import case_count, run_variants
from sparsync.experiments.training.runs import Run
from sparsync.verify.tools.pool import Pool

TINY = Setup("fnn2", "embedded", batch_size=2, steps=2, test_limit=16)
BEST_STEP_SIZES = {"sgd": 0.128, "adamw": 0.0002}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """The cases of the record's methods on one network, which nobody trains: the loss is known by the step size."""
    cases: list[Case] = []

    def run_case(case: Case, device: str) -> dict[str, Any]:
        assert device == "cpu"
        cases.append(case)
        run = case.run
        best = BEST_STEP_SIZES["adamw" if run.feedback in OWN_UPDATE else run.optimiser]
        has_diverged = run.feedback == "econtrol" or run.step_size > 3 * best
        gain = 0.25 if run.feedback == "dgc" else 0.0
        loss = None if has_diverged else abs(math.log(run.step_size / best)) + run.seed - gain
        found = {"test_loss": loss, "test_accuracy": loss, "sent_bytes": 1.0, "rank": None}
        machine = "A" if run.seed >= TUNING_SEED else "BC"[run.seed % 2]
        return {**found, "dimension": 3, "test_count": 5, "computed_on": machine}

    monkeypatch.setattr(variants, "run_case", run_case)
    monkeypatch.setitem(SIZES, "smoke", replace(SIZES["record"], setups=(replace(TINY, steps=8),)))
    return cases


def test_the_step_size_of_least_loss_is_measured_on_seeds_of_its_own(ran: list[Case]) -> None:
    study = run_variants("smoke")
    for found in study["runs"]:
        optimiser, method = found["optimiser"], found["method"]
        if method == "econtrol":
            assert found["test_loss"] == [None] * 5
            continue
        assert found["step_size"] == pytest.approx(BEST_STEP_SIZES[OPTIMISERS[optimiser].name], rel=0.3)
        assert found["test_loss"] == [found["test_loss"][0] + seed for seed in study["seeds"]]
        losses = {tried["step_size"]: tried["test_loss"] for tried in found["tried"]}
        assert min(losses, key=lambda size: losses[size] or math.inf) == found["step_size"]
        assert not found["is_at_edge"]
        assert (found["tuned_on"], found["computed_on"]) == (["A"], ["B", "C"])
    tuning = [case for case in ran if case.run.seed >= TUNING_SEED]
    assert {case.run.seed for case in tuning} == {TUNING_SEED}
    measured = [case for case in ran if case.run.seed < TUNING_SEED and case.run.steps == 8]
    count = 2 * (2 + 2 * len(FEEDBACKS)) - 2 * len(OWN_UPDATE)
    assert len(measured) == 5 * len(study["runs"]) == 5 * count


def test_a_step_size_at_the_edge_of_the_grid_is_said_to_be(ran: list[Case]) -> None:
    found = {(run["optimiser"], run["method"]): run for run in run_variants("smoke")["runs"]}
    # All of its runs diverged, so that the search went to the smallest.
    assert found["adamw", "econtrol"]["is_at_edge"]
    assert found["adamw", "econtrol"]["step_size"] == OPTIMISERS["adamw"].smallest
    assert not found["adamw", "dgc"]["is_at_edge"]
    assert ran


def test_dense_training_and_the_best_variant_of_each_density_are_run_for_fewer_steps_too(ran: list[Case]) -> None:
    study = run_variants("smoke")
    found = [(each["optimiser"], each["method"], each["density"], each["steps"]) for each in study["shorter"]]
    methods = (("dense", None), ("dgc", 0.01), ("dgc", 0.001))
    assert found == [(name, *method, steps) for name in OPTIMISERS for method in methods for steps in (2, 4)]
    sizes = {(run["optimiser"], run["method"], run["density"]): run["step_size"] for run in study["runs"]}
    for case in ran:
        if case.run.steps < 8:
            optimiser = "adamw" if case.run.optimiser == "adamw" else "momentum"
            is_dense = case.run.selector == "keep_all"
            method = ("dense", None) if is_dense else (case.run.feedback, case.run.density)
            assert case.run.step_size == sizes[optimiser, *method]
            assert case.run.evaluate_every == case.run.steps
    assert [each["test_loss"][4] - each["test_loss"][0] for each in study["shorter"]] == pytest.approx([4.0] * 12)


@pytest.mark.parametrize("tuning_seed_count", [0, 1, 2])
def test_the_study_advances_as_often_as_it_says(
    tuning_seed_count: int, ran: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIZES, "smoke", replace(SIZES["smoke"], tuning_seed_count=tuning_seed_count))
    advanced: list[None] = []
    run_variants("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("smoke") >= len(ran)


@pytest.mark.parametrize("profile", ["record", "full"])
def test_contestants_differ_in_their_method_alone(profile: str) -> None:
    sizes = SIZES[profile]  # type: ignore[index]  # the keys are the literals
    assert sizes.seed_count >= 5
    assert {setup.model for setup in sizes.setups} == {"gpt", "resnet20"}
    alike: dict[tuple[str, str], set[Run]] = {}
    for each in contestants(sizes):
        run = each.case(0, seed=0, worker_count=4).run
        assert run.momentum == (0.0 if each.method in OWN_MOMENTUM else 0.9)
        assert (run.step_size_end, run.step_location) == (0.0, "outside")
        assert run.optimiser == ("sgd" if each.method in OWN_UPDATE else OPTIMISERS[each.optimiser].name)
        optimiser = OPTIMISERS[each.optimiser].name
        plain = replace(run, selector="keep_all", collective="dense", feedback="ef14", density=1.0, momentum=0.0)
        plain = replace(plain, optimiser=optimiser)
        alike.setdefault((each.setup.model, each.optimiser), set()).add(replace(plain, step_size=1.0))
    assert [len(runs) for runs in alike.values()] == [1] * 4


def test_a_mean_of_gradients_and_a_heavy_ball_begin_alike() -> None:
    """A heavy ball adds 1/(1 − β) gradients to what a mean of them has one of."""
    sizes = {each.method: each.step_size(5) for each in contestants(SIZES["record"]) if each.optimiser == "momentum"}
    assert sizes["ef21_sgdm"] == pytest.approx(10 * sizes["ef14"])
    assert sizes.keys() == {*METHODS} - {*OWN_UPDATE}
    assert {size for method, size in sizes.items() if method != "ef21_sgdm"} == {sizes["ef14"]}


def test_real_runs_of_all_kinds_send_what_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", replace(SIZES["smoke"], setups=(TINY,), densities=(0.1,)))
    study = run_variants("smoke")
    assert json.loads(json.dumps(study)) == study
    assert study["setups"][0]["dimension"] == 25_450
    for found in study["runs"]:
        assert len(found["test_loss"]) == 1
        assert 0 < found["test_loss"][0] < math.inf
    sent = {run["method"]: run["sent_bytes"] for run in study["runs"]}
    # Two workers: headers, and whole vectors or entries of eight bytes.
    assert sent[DENSE] == 2 * (ENVELOPE_BYTES + 4 * 25_450)
    assert sent["ef14"] == 2 * (ENVELOPE_BYTES + 8 * 2545)
    # Ranks below 32 leave room in Top-k's bytes at density 0.01: rank 1 is (784 + 32) + 32 + (32 + 10) + 10 numbers.
    assert sent[LOW_RANK] == 2 * 4 * 900 > 2 * 8 * 254


def test_a_run_that_diverges_has_no_loss() -> None:
    contestant = next(each for each in contestants(SIZES["record"]) if each.method == DENSE)
    case = replace(contestant, setup=TINY).case(0, seed=0, worker_count=2)
    found = run_case(replace(case, run=replace(case.run, step_size=1e30, steps=4)))
    assert found["test_loss"] is found["test_accuracy"] is None


def test_quick_leaves_the_study_out_and_says_so_where_it_is_asked_for(tmp_path: Any) -> None:
    assert case_count("quick") == 0
    with pytest.raises(ValueError, match="'quick' leaves this study out; it is in: smoke, record, full"):
        run_variants("quick")
    with pytest.raises(ValueError, match="profile 'quick' leaves 'variants' out"):
        reproduce.ReproduceCommand(data_folder=tmp_path, only=("variants",))
