"""Every method is tuned on other seeds than it is measured on, and differs from the others in nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sparsync.experiments import reproduce
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.studies.training import convergence, measured_run
from sparsync.experiments.studies.training.arenas import (
    ARENAS,
    BEFORE,
    DENSITIES,
    GRIDS,
    MAIN,
    POINT_COUNT,
    Arena,
    Entrant,
    Entry,
    entrants,
)
from sparsync.experiments.studies.training.contestants import DENSE, LOW_RANK, TUNING_SEED, Case, Setup, trained
from sparsync.experiments.studies.training.convergence import case_count, run_convergence
from sparsync.experiments.studies.training.measured_run import run_case
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.experiments.training.runs import Run
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.tools.pool import Pool

TINY = Setup("fnn2", "embedded", batch_size=2, steps=4, test_limit=16)
ALL = [(arena, profile) for arena, by_profile in ARENAS.items() for profile in by_profile]
MEASURED = [(arena, profile) for arena, profile in ALL if profile != "smoke"]
BEST = {"sgd": 0.16, "adamw": 0.0016}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Cases that nobody trains: the loss is known by the step size; random selection always diverges."""
    cases: list[Case] = []

    def found(case: Case, device: str) -> dict[str, Any]:
        assert device == "cpu"
        cases.append(case)
        run = case.run
        size = abs(math.log2(run.step_size / BEST[run.optimiser]))
        loss = None if run.selector == "random_k" else size + run.seed % TUNING_SEED
        counts = dict.fromkeys(
            ("in_range_share", "smallest_count", "median_count", "largest_count", "median_gain"), 1.0
        )
        steps = [2, 4]
        return {
            **counts,
            "test_loss": loss,
            "test_accuracy": loss,
            "steps": steps,
            "path": {"test_loss": [loss, loss], "test_accuracy": [loss, loss], "sent_bytes": [1, 2]},
            "sent_bytes": 1.0,
            "gain": [2.0, 2.0],
            "rank": None,
            "target_count": 3,
            "dimension": 30,
            "train_count": 9,
            "test_count": 5,
            "computed_on": "A" if run.seed >= TUNING_SEED else "B",
            "processor_seconds": 0.5,
        }

    monkeypatch.setattr(convergence, "run_case", found)
    monkeypatch.setattr(convergence, "study_device", lambda _profile: "cpu")
    return cases


def test_the_step_size_of_least_loss_is_measured_on_other_seeds(ran: list[Case]) -> None:
    study = run_convergence("record", arena="fnn3")
    assert study["seeds"] == list(range(8))
    assert min(study["tuning_seeds"]) == TUNING_SEED
    for found in study["contestants"]:
        if found["method"] == "random_k":
            assert found["test_loss"] == [None] * 8
            assert found["is_at_edge"]
            continue
        assert found["step_size"] == pytest.approx(BEST["sgd"], rel=0.4)
        assert found["test_loss"] == pytest.approx([found["test_loss"][0] + seed for seed in range(8)])
        losses = {tried["step_size"]: tried["test_loss"] for tried in found["tried"]}
        assert min(losses, key=lambda size: losses[size]) == found["step_size"]
        assert not found["is_at_edge"]
        assert (found["tuned_on"], found["computed_on"]) == (["A"], ["B"])
    tuning = {case.run.seed for case in ran if case.run.seed >= TUNING_SEED}
    measured = {case.run.seed for case in ran} - tuning
    assert (tuning, measured) == (set(study["tuning_seeds"]), set(study["seeds"]))
    assert study["processor_seconds"] == pytest.approx(0.5 * len(ran))
    assert json.loads(json.dumps(study)) == study


@pytest.mark.parametrize(("arena", "profile"), MEASURED)
def test_no_measured_arena_is_untuned_or_has_few_seeds(arena: str, profile: ProfileName) -> None:
    size = ARENAS[arena][profile]
    assert size.seed_count >= 5
    plain = any("plain" in entry.rules for entry in size.entries)
    assert size.tuning_seed_count >= (2 if plain else 1), "without momentum the best step size is next to divergence"
    assert size.seed_count <= TUNING_SEED


@pytest.mark.parametrize(("arena", "profile"), ALL)
def test_contestants_differ_in_method_optimiser_and_step_size_alone(arena: str, profile: ProfileName) -> None:
    size = ARENAS[arena][profile]
    everybody = entrants(size)
    assert len(set(everybody)) == len(everybody)
    alike: set[Run] = set()
    for each in everybody:
        case = each.case(0, seed=0, worker_count=size.worker_count)
        run = case.run
        is_before = each.method == BEFORE
        assert (run.step_size_end, run.step_location) == (0.0, "outside")
        assert run.feedback == (BEFORE if is_before else "ef14")
        momentum = 0.0 if is_before else {"plain": 0.0}.get(each.rule, 0.9)
        assert (run.momentum, run.optimiser) == (momentum, GRIDS[each.rule].name)
        assert case.is_low_rank == (each.method == LOW_RANK)
        assert (run.selector, run.collective) == (
            ("keep_all", "dense")
            if each.method in (DENSE, LOW_RANK)
            else ("top_k" if is_before else each.method, "sparse")
        )
        plain: dict[str, Any] = {
            "selector": "keep_all",
            "collective": "dense",
            "density": 1.0,
            "step_size": 1.0,
            "weight_decay": 0.0,
            "feedback": "ef14",
        }
        alike.add(replace(run, **plain, momentum=0.0, optimiser="sgd"))
    assert len(alike) == 1


@pytest.mark.parametrize(("arena", "profile"), MEASURED)
def test_wherever_a_selector_competes_exact_top_k_and_dense_training_do(arena: str, profile: ProfileName) -> None:
    everybody = entrants(ARENAS[arena][profile])
    exact = {(each.rule, each.density) for each in everybody if each.method == "top_k"}
    dense = {each.rule for each in everybody if each.method == DENSE}
    assert {(each.rule, each.density) for each in everybody if each.density is not None} == exact
    assert {rule for rule, _ in exact} == dense
    assert 0.001 in {density for _, density in exact}
    assert "gaussian_k" in {each.method for each in everybody}


def test_the_record_has_every_selector_and_the_main_ones_at_all_densities() -> None:
    everybody = entrants(ARENAS["fnn3"]["record"])
    names = {each.method for each in everybody}
    assert names == {DENSE, LOW_RANK, BEFORE, *SELECTORS, *ADAPTIVE_SELECTORS} - {"keep_all"}
    for rule in ("plain", "momentum"):
        for method in MAIN:
            found = [each.density for each in everybody if (each.rule, each.method) == (rule, method)]
            assert found == list(DENSITIES)


@pytest.mark.parametrize("tuning_seed_count", [0, 1, 2])
def test_the_study_advances_as_often_as_it_says(
    tuning_seed_count: int, ran: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = replace(ARENAS["fnn3"]["quick"], tuning_seed_count=tuning_seed_count)
    monkeypatch.setitem(ARENAS, "fnn3", {"quick": size})
    advanced: list[None] = []
    run_convergence("quick", Pool(advance=lambda: advanced.append(None)), arena="fnn3")
    assert len(advanced) == case_count("quick", arena="fnn3") >= len(ran)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_that_leaves_an_arena_out_has_no_case_and_says_so(profile: ProfileName, tmp_path: Any) -> None:
    for arena, sizes in ARENAS.items():
        assert bool(case_count(profile, arena=arena)) == (profile in sizes)
        if profile not in sizes:
            with pytest.raises(ValueError, match=f"{profile!r} leaves {arena!r} out"):
                run_convergence(profile, arena=arena)
            with pytest.raises(ValueError, match=f"{profile!r} leaves 'convergence_{arena}' out"):
                reproduce.ReproduceCommand(data_folder=tmp_path, profile=profile, only=(f"convergence_{arena}",))


def entrant(method: str, density: float | None, *, steps: int = 4) -> Entrant:
    return Entrant(replace(TINY, steps=steps), "plain", method, density)


def measured(method: str, density: float | None, **changes: Any) -> dict[str, Any]:
    case = entrant(method, density).case(6, seed=0, worker_count=2)
    return run_case(replace(case, run=replace(case.run, **changes)))


def test_a_dense_run_has_no_counts_and_top_k_those_that_it_was_asked_for() -> None:
    dense, exact = measured(DENSE, None), measured("top_k", 0.1)
    assert dense["gain"] is dense["in_range_share"] is dense["target_count"] is None
    assert exact["target_count"] == 2545
    assert exact["in_range_share"] == exact["smallest_count"] == exact["median_count"] == exact["largest_count"] == 1
    # Top-k keeps more than its share of any vector that is not constant, and no more than all.
    assert all(1 < gain < 10 for gain in exact["gain"])
    assert dense["sent_bytes"] > exact["sent_bytes"] > 0


def test_the_path_ends_with_the_end_and_counts_bytes_up_to_there() -> None:
    found = measured("top_k", 0.1, evaluate_every=3)
    assert found["steps"] == [3, 4]
    for name in ("test_loss", "test_accuracy"):
        assert found["path"][name][-1] == found[name]
    assert found["path"]["sent_bytes"] == [3 * found["sent_bytes"], 4 * found["sent_bytes"]]
    assert len(found["gain"]) == 2


def test_measured_runs_are_evaluated_often_and_tuning_ones_at_the_end() -> None:
    each = entrant("top_k", 0.1, steps=600)
    every = [each.case(6, seed=seed, worker_count=2).run.evaluate_every for seed in (0, TUNING_SEED)]
    assert every == [600 // POINT_COUNT, 600]


def test_evaluating_changes_no_run() -> None:
    ends = [measured("gaussian_k", 0.1, evaluate_every=every)["test_loss"] for every in (1, 4)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(("method", "density"), [(DENSE, None), ("top_k", 0.1)])
def test_a_run_that_diverges_is_a_result(method: str, density: float | None) -> None:
    found = measured(method, density, step_size=1e30, evaluate_every=1)
    assert found["test_loss"] is found["test_accuracy"] is None
    assert found["path"]["test_loss"][-1] is None
    assert all(len(values) == 4 for values in found["path"].values())
    assert json.loads(json.dumps(found)) == found


def test_updates_are_in_range_where_every_worker_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of k = 6 it is from 4 to 8."""
    result = trained(entrant("top_k", 0.1).case(6, seed=0, worker_count=2), "cpu")[0]
    counts = ([4, 8], [6, 6], [3, 6], [6, 9])
    steps = [replace(result.steps[0], target_count=6, selected_counts=each) for each in counts]
    monkeypatch.setattr(measured_run, "trained", lambda _case, _device: (replace(result, steps=steps), None))
    found = measured("top_k", 0.1)
    assert found["in_range_share"] == 0.5
    assert (found["smallest_count"], found["median_count"], found["largest_count"]) == (0.5, 1.0, 1.5)


def test_the_released_rule_leaves_the_range() -> None:
    found = measured("gaussian_k_released", 0.001)
    assert found["in_range_share"] < 1
    assert found["largest_count"] > 4 / 3 or found["smallest_count"] < 2 / 3


def test_real_runs_make_a_result_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    methods: Sequence[Entry] = (
        Entry(("plain",), (DENSE, LOW_RANK)),
        Entry(("momentum",), ("oktopk_released",), (0.1,)),
    )
    size = Arena(TINY, tuple(methods), seed_count=1, worker_count=2, tuning_seed_count=1, stride=1)
    monkeypatch.setitem(ARENAS, "fnn3", {"smoke": size})
    study = run_convergence("smoke", arena="fnn3")
    assert study["setup"]["dimension"] == 25_450
    assert [each["method"] for each in study["contestants"]] == [DENSE, LOW_RANK, "oktopk_released"]
    assert all(len(each["tried"]) >= 3 for each in study["contestants"])
    assert study["contestants"][1]["rank"] == 1
