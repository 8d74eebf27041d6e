"""A run refuses settings out of range, naming the value, and its schedules are what they say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.kernels.selection import SELECTORS


def test_every_run_comes_with_theory_and_with_released_settings() -> None:
    plain = {run.selector for name, run in RUNS.items() if not name.endswith("_paper")}
    released = {run.selector for name, run in RUNS.items() if name.endswith("_paper")}
    assert plain == released <= {*SELECTORS, *ADAPTIVE_SELECTORS}


@pytest.mark.parametrize("name", [name for name in RUNS if not name.endswith("_paper")])
def test_default_runs_are_the_algorithm_that_the_theory_speaks_of(name: str) -> None:
    run = RUNS[name]
    assert (run.step_location, run.momentum, run.weight_decay) == ("inside", 0.0, 0.0)
    assert (run.density, run.batch_size, run.step_size, run.steps) == (0.001, 32, 0.1, 600)


@pytest.mark.parametrize("name", [name for name in RUNS if name.endswith("_paper")])
def test_released_runs_have_the_settings_of_the_released_code(name: str) -> None:
    run, plain = RUNS[name], RUNS[name.removesuffix("_paper")]
    assert (run.selector, run.collective, run.model) == (plain.selector, plain.collective, "fnn3")
    assert (run.step_location, run.momentum, run.weight_decay) == ("outside", 0.9, 1e-4)
    assert (run.batch_size, run.step_size, run.step_size_warmup_epochs) == (128, 0.01, 5)
    assert (run.density, run.density_warmup) == (0.001, (1 / 64, 0.004, 0.001))
    # Whole epochs of the embedded data, 12,000 examples, on 4 workers.
    assert run.steps // (12_000 // (4 * 128)) == 30


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("selector", "top_j"),
        ("collective", "ring"),
        ("node_size", 0),
        ("model", "resnet"),
        ("pixels", "raw"),
        ("step_location", "beside"),
        ("density", 0.0),
        ("density", 1.5),
        ("density", float("nan")),
        ("density_warmup", (0.5, -0.25)),
        ("batch_size", 0),
        ("steps", 0),
        ("evaluate_every", 0),
        ("threads", 0),
        ("workers", 0),
        ("test_limit", 0),
        ("step_size", 0.0),
        ("step_size", float("nan")),
        ("step_size", float("inf")),
        ("momentum", 1.0),
        ("momentum", -0.1),
        ("weight_decay", -1.0),
        ("weight_decay", float("inf")),
        ("step_size_warmup_epochs", -1),
        ("step_size_end", -0.5),
        ("step_size_end", 1.5),
        ("optimiser", "adagrad"),
    ],
)
def test_a_field_out_of_range_is_refused_with_its_value(field: str, value: Any) -> None:
    shown = value[-1] if isinstance(value, tuple) else value
    with pytest.raises(ValueError, match=str(shown)):
        replace(RUNS["fnn3_top_k"], **{field: value})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "lstm"}, "model 'lstm' takes text, and the data are images"),
        ({"model": "gpt", "data": "cifar10:folder"}, "model 'gpt' takes text, and the data are images"),
        ({"data": "text"}, "model 'fnn3' takes images, and the data are text"),
        ({"model": "resnet20", "data": "text:FILE"}, "model 'resnet20' takes images, and the data are text"),
        ({"model": "gpt", "data": "text", "pixels": "standardised"}, "no pixels that could be 'standardised'"),
    ],
)
def test_models_and_data_that_do_not_fit_are_refused_before_anything_is_read(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Run(selector="top_k", **fields)


def test_target_count_rounds_and_never_falls_below_one() -> None:
    run = Run(selector="top_k", density=0.001)
    assert [run.target_count(dimension, epoch=0) for dimension in (10, 1500, 199_210)] == [1, 2, 199]
    assert Run(selector="top_k", density=1.0).target_count(7, epoch=0) == 7


def test_density_warmup_ends_and_never_falls_below_the_density() -> None:
    run = Run(selector="top_k", density=0.01, density_warmup=(0.5, 0.001, 0.25))
    assert [run.target_count(1000, epoch) for epoch in range(4)] == [500, 10, 250, 10]


def test_the_step_size_rises_linearly_over_the_warmup_epochs() -> None:
    run = Run(selector="top_k", step_size=1.0, step_size_warmup_epochs=2)
    assert [run.step_size_at(step, Fraction(step + 1, 2)) for step in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert Run(selector="top_k", step_size=0.5).step_size_at(0, Fraction(1, 2)) == 0.5


def test_the_step_size_falls_linearly_and_stays_positive() -> None:
    run = Run(selector="top_k", step_size=1.0, steps=4, step_size_end=0.0)
    assert [run.step_size_at(step, Fraction(step + 1, 2)) for step in range(4)] == [1.0, 0.75, 0.5, 0.25]
    warmed = replace(run, step_size_warmup_epochs=1, step_size_end=0.5)
    assert [warmed.step_size_at(step, Fraction(step + 1, 2)) for step in range(4)] == [0.5, 0.875, 0.75, 0.625]


def test_adamw_takes_gradients_that_no_step_size_has_scaled() -> None:
    assert Run(selector="top_k", optimiser="adamw", step_location="outside").optimiser == "adamw"
    with pytest.raises(ValueError, match="step_location 'inside'"):
        Run(selector="top_k", optimiser="adamw")
