"""A training result says what was set, what was measured and where, with units in its names."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.record import result_line, training_record
from sparsync.experiments.training.runs import RUNS

STEPS = 4
SERIES = (
    "loss",
    "delta",
    "selected_count",
    "smallest_selected_count",
    "largest_selected_count",
    "target_count",
    "sent_bytes",
)


@pytest.fixture(scope="module")
def result() -> TrainingResult:
    return simulate(replace(RUNS["fnn3_gaussian_k"], steps=STEPS, seed=5, workers=3))


def test_the_record_survives_json(result: TrainingResult) -> None:
    record = training_record("fnn3_gaussian_k", result, process_count=1)
    assert json.loads(json.dumps(record, allow_nan=False))["test_accuracy"] == result.test_accuracy


def test_what_was_sent_is_compared_with_dense_vectors_of_the_workers_that_there_were(result: TrainingResult) -> None:
    """Of one worker in the first half of the steps, of three in the second."""
    vector = 4 * result.dimension
    steps = [
        replace(facts, selected_counts=facts.selected_counts[:count], sent_bytes=count * vector)
        for facts, count in zip(result.steps, (1, 1, 3, 3), strict=True)
    ]
    assert "6.37 MB sent (100.00% of dense)" in result_line("a run", replace(result, steps=steps))


def test_every_series_has_an_entry_per_step(result: TrainingResult) -> None:
    record = training_record("fnn3_gaussian_k", result, process_count=1)
    assert {name: len(record[name]) for name in SERIES} == dict.fromkeys(SERIES, STEPS)


def test_series_are_those_of_the_steps(result: TrainingResult) -> None:
    record, facts = training_record("fnn3_gaussian_k", result, process_count=1), result.steps[1]
    assert (record["loss"][1], record["target_count"][1]) == (facts.loss, facts.target_count)
    assert min(facts.deltas) < record["delta"][1] < max(facts.deltas)
    assert record["wall_seconds"] == result.wall_seconds > 0


def test_counts_are_the_mean_smallest_and_largest_of_the_workers(result: TrainingResult) -> None:
    record = training_record("fnn3_gaussian_k", result, process_count=1)
    counts = result.steps[2].selected_counts
    assert len(counts) == 3
    assert record["selected_count"][2] == pytest.approx(sum(counts) / 3, rel=2.0**-52)
    assert (record["smallest_selected_count"][2], record["largest_selected_count"][2]) == (min(counts), max(counts))


def test_the_record_names_its_settings_data_and_origin(result: TrainingResult) -> None:
    record = training_record("fnn3_gaussian_k", result, process_count=2)
    assert record["run"] == asdict(result.run)
    assert (record["run_name"], record["seed"], record["dimension"]) == ("fnn3_gaussian_k", 5, 199_210)
    assert (record["run"]["workers"], record["data_sha256"]) == (3, result.data_sha256)
    assert (record["train_count"], record["test_count"]) == (12_000, 2_000)
    origin = record["provenance"]
    assert origin["process_count"] == 2
    assert {"git_commit", "git_dirty", "python_version", "torch_version", "processor_name", "date_utc"} <= set(origin)
