"""The study looks at the vectors that Top-k selects from, of every model with feedback and without."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.selection import gradient_laws
from sparsync.experiments.studies.selection.gradient_laws import (
    KINDS,
    SEED_COUNTS,
    SIZES,
    Case,
    Kind,
    observed_steps,
    rounded,
    run_case,
    run_repeat,
)
from sparsync.experiments.studies.selection.vector_shapes import DENSITY
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.models import IMAGE_MODELS, TEXT_MODELS, VECTOR_MODELS
from sparsync.verify.tools.pool import Pool

(SMALL,) = SIZES["smoke"]
SMALL = replace(SMALL, model="fnn2", steps=2)
DIMENSION = 25_450


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gradient_laws.SIZES, "smoke", (SMALL,))
        return gradient_laws.run_gradient_laws("smoke", Pool())


def test_both_kinds_of_run_begin_alike_and_feedback_makes_them_differ(study: dict[str, Any]) -> None:
    dense, top_k = study["runs"]
    assert [run["kind"] for run in study["runs"]] == list(KINDS)
    first, last = ([run["observations"][place] for run in (dense, top_k)] for place in (0, -1))
    assert first[0] == first[1]
    assert last[1]["deviation"] > last[0]["deviation"]


def test_the_record_is_small_json(study: dict[str, Any]) -> None:
    text = json.dumps(study, allow_nan=False)
    runs_of_the_record = len(SIZES["record"]) * len(KINDS)
    # Of eight observations here are two, and of a series of 200 points as many.
    assert len(text) / len(KINDS) * 5 * runs_of_the_record < 3e6


def test_further_seeds_have_short_records_of_the_same_runs(study: dict[str, Any]) -> None:
    """No two runs of any kind and seed end with the same deviation."""
    repeats = study["repeats"]
    assert [(run["model"], run["kind"], run["seed"]) for run in repeats] == [("fnn2", kind, 1) for kind in KINDS]
    assert len({run["late_deviation"] for run in (*study["runs"], *repeats)}) == 4
    for run in repeats:
        assert run.keys() & {"series", "rank", "bounds", "early_loss"} == set()
        (observation,) = run["observations"]
        assert observation.keys() == {"step", "laws", "best_law"}
        assert observation["step"] == SMALL.steps
        assert observation["best_law"] in observation["laws"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_record_says_what_the_full_one_of_its_seed_says(kind: Kind) -> None:
    full, short = (run(Case(SMALL, kind, seed=1)) for run in (run_case, run_repeat))
    last = full["observations"][-1]
    laws = {name: {"distance": law["distance"]} for name, law in last["laws"].items()}
    expected = {"step": last["step"], "laws": laws, "best_law": last["best_law"]}
    assert short.pop("observations") == [expected]
    assert short.pop("seed") == 1
    assert short == {name: full[name] for name in short}


def test_a_run_that_diverges_before_its_last_update_has_no_laws() -> None:
    found = run_repeat(Case(replace(SMALL, steps=3, step_size=1e20), "dense"))
    assert found["diverged_at_step"] < 3
    assert found["observations"] == []


@pytest.mark.parametrize("run", [run_case, run_repeat])
def test_a_run_of_which_nothing_was_seen_fails(
    run: Callable[[Case], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradient_laws, "simulate", lambda *_, **__: None)
    with pytest.raises(ValueError, match="diverged at its first update"):
        run(Case(SMALL, "dense"))


def test_gains_are_those_that_training_itself_measures() -> None:
    """Of the first worker, at every update; the run is trained again."""
    measured: list[TrainingResult] = []

    def keep(*arguments: Any, **settings: Any) -> TrainingResult:
        measured.append(simulate(*arguments, **settings))
        return measured[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradient_laws, "simulate", keep)
        found = run_case(Case(SMALL, "top_k"))
    count = round(DENSITY * DIMENSION)
    # Six digits are kept.
    expected = [facts.deltas[0] * DIMENSION / count for facts in measured[0].steps]
    assert found["series"]["gain"] == pytest.approx(expected, rel=1e-5)
    assert found["late_gain"] == pytest.approx(expected[-1], rel=1e-5)


def test_a_profile_without_the_study_has_no_runs() -> None:
    assert gradient_laws.case_count("quick") == 0
    found = gradient_laws.run_gradient_laws("quick", Pool())
    assert found["runs"] == found["repeats"] == []


def test_the_record_has_the_six_models_each_with_and_without_feedback_on_five_seeds() -> None:
    names = [setup.model for setup in SIZES["record"]]
    assert names == ["fnn3", "lenet5", "resnet20", "vgg16", "lstm", "gpt"]
    assert set(names) <= {*VECTOR_MODELS, *IMAGE_MODELS, *TEXT_MODELS}
    assert gradient_laws.case_count("record") == 12 * SEED_COUNTS["record"] == 60


@pytest.mark.parametrize("steps", [1, 5, 100, 4000])
def test_observations_are_ever_farther_apart_from_the_first_to_the_last(steps: int) -> None:
    found = observed_steps(steps)
    assert (found[0], found[-1], len(found) <= 8) == (1, steps, True)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert gaps == sorted(gaps)


def test_six_digits_are_kept_and_whole_numbers_are_left_alone() -> None:
    assert rounded({"a": [1 / 3, 123456789, None], "b": "x"}) == {"a": [0.333333, 123456789, None], "b": "x"}
