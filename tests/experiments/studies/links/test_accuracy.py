"""Every way of sending is trained once, from the same start, with a step size that was found for it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch.distributed as dist

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.links import accuracy
from sparsync.experiments.studies.links.accuracy import case_count, contenders, run_accuracy, run_case
from sparsync.experiments.studies.links.cells import BATCH_SIZES, DATA, Method, all_methods
from sparsync.experiments.studies.links.contenders import (
    DENSE,
    LOCAL,
    PLACES,
    POWERSGD,
    SIZES,
    TRAINED,
    WORKER_COUNT,
    Case,
    Contender,
    steps_of,
)
from sparsync.experiments.studies.links.local_training import read_case, train_locally
from sparsync.experiments.studies.profiles import PROFILES
from sparsync.experiments.studies.training.contestants import OPTIMISERS
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.runs import Run
from sparsync.verify.tools.pool import Pool
from tests.support.paths import ROOT
from tests.support.workers import run_workers

RECORD = {model: by_profile["record"] for model, by_profile in SIZES.items()}
EVERYONE = [each for sizes in RECORD.values() for each in contenders(sizes)]


def test_all_that_is_trained_is_measured_over_links() -> None:
    assert set(TRAINED) <= set(all_methods())
    assert {steps_of(method) for method in all_methods()} == {*TRAINED, None}
    assert all(steps_of(method) == method for method in TRAINED)


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        (Method("hook", exchange="dense"), DENSE),
        (Method("hook", exchange="dense_bfloat16"), Method("loop", collective="dense_bfloat16")),
        (Method("loop", "top_k", 0.01, collective="balanced"), Method("loop", "top_k", 0.01)),
        (Method("loop", "top_k", 0.01, collective="dense"), Method("loop", "top_k", 0.01)),
        # It rounds what was selected.
        (Method("loop", "top_k", 0.01, collective="dense_bfloat16"), None),
        # It selects from each tensor.
        (Method("hook", "top_k", 0.01), None),
        (replace(LOCAL, values="exact"), None),
    ],
)
def test_ways_of_sending_that_make_the_same_steps_are_known(method: Method, steps: Method | None) -> None:
    assert steps_of(method) == steps


def test_networks_train_with_the_batches_that_are_timed() -> None:
    assert {model: sizes.setup.batch_size for model, sizes in RECORD.items()} == BATCH_SIZES
    assert {model: sizes.setup.data for model, sizes in RECORD.items()} == DATA
    assert all(sizes.setup.model == model for model, sizes in RECORD.items())


def test_step_sizes_are_known_where_the_study_of_variants_has_them() -> None:
    found = {(each.setup.model, each.method.name): each.known_place for each in EVERYONE}
    known = {name for name, place in found.items() if place is not None}
    assert {model for model, _ in known} == {"resnet20", "gpt"}
    assert {method for model, method in found if model != "fnn3" and (model, method) not in known} == {LOCAL.name}
    assert found["resnet20", DENSE.name] == 5
    assert found["resnet20", POWERSGD.name] == 4
    assert found["resnet20", "loop gaussian_k 0.01, sparse"] == 5
    assert found["resnet20", "loop top_k 0.01 dgc, sparse, int8"] == 7
    assert found["resnet20", "loop top_k 0.001 dgc, sparse"] == 6


def test_known_step_sizes_are_those_that_the_record_of_variants_found_best() -> None:
    study = json.loads((ROOT / "paper" / "data" / "variants.json").read_text(encoding="utf-8"))
    runs = [run for run in study["runs"] if run["optimiser"] == "momentum"]
    found = {}
    for run in runs:
        low = " 0.001" if run["density"] == 0.001 else ""
        found[run["model"], f"{run['method']}{low}"] = run["step_size"]
    sizes = {name: OPTIMISERS["momentum"].smallest * 2**place for name, place in PLACES.items()}
    assert sizes == pytest.approx({name: found[name] for name in PLACES})


@pytest.mark.parametrize("contender", EVERYONE, ids=lambda each: f"{each.setup.model} {each.method.name}")
def test_a_run_ends_with_an_evaluation_and_an_exchange(contender: Contender) -> None:
    case = contender.case(5, 3, 20)
    run, every = case.run, contender.method.inner_steps
    assert contender.setup.steps <= run.steps < contender.setup.steps + every
    assert run.steps % every == run.evaluate_every % every == 0
    assert run.step_size == pytest.approx(0.032)
    assert read_case(json.dumps(asdict(case))) == case


def one_exchange_a_step() -> dict[str, Any]:
    case = Case(Method("local", "keep_all", inner_steps=1), replace(RUN, workers=dist.get_world_size()))
    return train_locally(case, load_dataset("embedded"))


RUN = Run(
    selector="keep_all",
    collective="dense",
    model="resnet20",
    batch_size=2,
    steps=4,
    evaluate_every=2,
    test_limit=32,
    step_location="outside",
    momentum=0.9,
    step_size=0.02,
    step_size_end=0.0,
)


def test_local_steps_with_an_exchange_of_all_in_each_are_dense_training() -> None:
    """The mean of all ranks' momenta is the momentum of the mean."""
    expected = simulate(replace(RUN, workers=2))
    found, other = run_workers(one_exchange_a_step, 2)
    assert found["steps"] == [2, 4]
    assert found["test_accuracy"] == [each.test_accuracy for each in expected.evaluations[1:]]
    # Four steps in which sums of float32 are added in another order.
    assert found["test_loss"] == pytest.approx(expected.evaluations[-1].test_loss, rel=1e-5)
    assert other["steps"] == []


def test_local_steps_that_diverge_end_without_a_loss() -> None:
    """Alone, whose gradients become larger until they are not finite."""
    for found in run_workers(diverging, 1):
        assert found["test_loss"] is None
        assert len(found["steps"]) < 10


def diverging() -> dict[str, Any]:
    run = replace(RUN, model="deep0", steps=60, evaluate_every=6, step_size=3e38, workers=1)
    return train_locally(Case(replace(LOCAL, inner_steps=6), run), load_dataset("embedded"))


def stubbed(case: Case) -> dict[str, Any]:
    """A run whose loss is least at the sixth step size, and that diverges beyond the eighth; local steps are slower."""
    place = round(case.run.step_size / OPTIMISERS["momentum"].smallest).bit_length() - 1
    steps = list(range(case.run.evaluate_every, case.run.steps + 1, case.run.evaluate_every))
    diverges = place > 8
    accuracy = 0.1 * case.run.seed + case.run.steps / 1e5 * (0.1 if case.method == LOCAL else 1.0)
    return {
        "steps": steps[:3] if diverges else steps,
        "test_accuracy": [accuracy] * (3 if diverges else len(steps)),
        "test_loss": None if diverges else abs(place - 6) + 1.0,
        "computed_on": "a machine",
    }


@pytest.mark.parametrize("model", SIZES)
def test_what_is_not_known_is_searched_and_all_have_all_seeds(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "run_case", stubbed)
    advanced: list[None] = []
    found = run_accuracy("record", Pool(advance=lambda: advanced.append(None)), model=model)
    assert len(advanced) == case_count("record", model=model)
    # Local steps are 0.72 points below after 800 steps, and 0.64 after 1,600.
    longer = [(run["method"], run["lasting"]) for run in found["runs"][len(TRAINED) :]]
    assert longer == ([(LOCAL.name, 2), (LOCAL.name, 4)] if model == "fnn3" else [])
    assert [run["lasting"] for run in found["runs"][: len(TRAINED)]] == [1] * len(TRAINED)
    for run in found["runs"]:
        assert len(run["test_accuracy"]) == len(run["test_loss"]) == len(found["seeds"]) == 5
        assert all(len(path) == len(run["steps"]) for path in run["test_accuracy"])
        if run["tried"]:
            assert run["step_size"] == pytest.approx(0.064)
            assert run["is_at_edge"] is False
    assert found["ways"][DENSE.name] == ["hook dense", DENSE.name]
    assert len(found["ways"]["loop top_k 0.01, sparse"]) == 5
    searched = {run["method"] for run in found["runs"] if run["tried"]}
    assert searched == ({method.name for method in TRAINED} if model == "fnn3" else {LOCAL.name})
    json.dumps(found, allow_nan=False)


def test_a_run_that_diverges_has_no_accuracy_from_there_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        accuracy,
        "run_case",
        lambda case: (
            stubbed(replace(case, run=replace(case.run, step_size=2.0))) if case.run.seed == 1 else stubbed(case)
        ),
    )
    run = run_accuracy("record", model="resnet20")["runs"][0]
    assert run["test_accuracy"][1][:3] == pytest.approx([0.108] * 3)
    assert set(run["test_accuracy"][1][3:]) == {None}
    assert run["test_loss"][1] is None


@pytest.mark.slow
def test_the_smallest_study_is_of_every_kind() -> None:
    """In simulation, by low rank, and by real processes."""
    found = run_accuracy("smoke", model="fnn3")
    methods = [method.name for method in SIZES["fnn3"]["smoke"].methods]
    assert [run["method"] for run in found["runs"][: len(methods)]] == methods
    assert {run["lasting"] for run in found["runs"][len(methods) :]} <= {2}
    for run in found["runs"]:
        (path,), (loss,) = run["test_accuracy"], run["test_loss"]
        assert len(path) == len(run["steps"]) == 2
        assert loss is not None
        assert run["steps"][-1] == SIZES["fnn3"]["smoke"].setup.steps * run["lasting"]
        # Ten classes; after sixty steps all have begun to learn.
        assert path[-1] > 0.2
    assert found["worker_count"] == WORKER_COUNT
    assert found["setup"] == {"model": "fnn3", "data": "embedded", "batch_size": 8, "steps": 60}


@pytest.mark.slow
def test_a_run_of_processes_that_fails_says_why() -> None:
    case = Case(LOCAL, replace(RUN, model="fnn2", workers=1, data="fashion_mnist:/nowhere"))
    with pytest.raises(RuntimeError, match="/nowhere"):
        run_case(case)


def test_a_profile_without_the_study_is_refused() -> None:
    assert [name for name in PROFILES if not case_count(name, model="fnn3")] == ["quick"]
    assert [name for name in PROFILES if not case_count(name, model="resnet20")] == ["smoke", "quick"]
    assert set(accuracy.MODELS) <= set(SIZES)
    with pytest.raises(ValueError, match="profile 'quick' leaves this study out; it is in: record, full"):
        run_accuracy("quick", model="gpt")
