"""Real gloo ranks under torchrun compute what the simulation computes, bit for bit, and bad input ends all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch.distributed as dist

from sparsync.experiments.collectives import GroupAverager
from sparsync.experiments.runs import RUNS
from sparsync.experiments.simulate import simulate
from sparsync.experiments.train import require_equal_settings
from tests.workers import run_module, run_workers, torchrun

TRAIN = "sparsync.experiments.train"
PLAIN_RUNS = [name for name in RUNS if not name.endswith("_paper")]


def trained(process_count: int, output: Path, *arguments: str) -> dict[str, Any]:
    finished = torchrun(process_count, TRAIN, "--output", str(output), *arguments)
    assert finished.returncode == 0, finished.stderr
    result: dict[str, Any] = json.loads(output.read_text())
    return result


@pytest.mark.parametrize("name", PLAIN_RUNS)
def test_four_ranks_equal_the_simulation_bit_for_bit(name: str, tmp_path: Path) -> None:
    result = trained(4, tmp_path / "result.json", "--run-name", name, "--steps", "50", "--rank-order")
    simulated = simulate(replace(RUNS[name], steps=50, workers=4, rank_order=True))
    assert result["parameters_sha256"] == simulated.parameters_sha256
    assert result["loss"] == [facts.loss for facts in simulated.steps]
    assert result["delta"] == [fmean(facts.deltas) for facts in simulated.steps]
    assert result["largest_selected_count"] == [max(facts.selected_counts) for facts in simulated.steps]
    assert result["sent_bytes"] == [facts.sent_bytes for facts in simulated.steps]
    assert result["test_accuracy"] == simulated.test_accuracy


def test_released_settings_equal_the_simulation_bit_for_bit(tmp_path: Path) -> None:
    """Two ranks, step size outside, momentum, weight decay and both warm-ups."""
    name = "fnn3_gaussian_k_paper"
    result = trained(2, tmp_path / "result.json", "--run-name", name, "--steps", "20")
    simulated = simulate(replace(RUNS[name], steps=20, workers=2))
    assert result["parameters_sha256"] == simulated.parameters_sha256


def test_the_same_command_twice_gives_identical_parameters(tmp_path: Path) -> None:
    arguments = ("--run-name", "fnn3_random_k", "--steps", "10", "--density", "0.01", "--seed", "3")
    first = trained(2, tmp_path / "first.json", *arguments)
    second = trained(2, tmp_path / "second.json", *arguments)
    assert first["parameters_sha256"] == second["parameters_sha256"]
    assert (first["run"]["density"], first["run"]["seed"], first["run"]["workers"]) == (0.01, 3, 2)


def test_a_lone_process_needs_no_launcher(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    finished = run_module(TRAIN, "--run", "fnn3_top_k", "--steps", "5", "--output", str(output))
    assert finished.returncode == 0, finished.stderr
    simulated = simulate(replace(RUNS["fnn3_top_k"], steps=5, workers=1))
    assert json.loads(output.read_text())["parameters_sha256"] == simulated.parameters_sha256


def test_a_diverging_run_ends_every_rank_and_leaves_no_file(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    finished = torchrun(2, TRAIN, "--run-name", "fnn3_top_k", "--step-size", "1e30", "--output", str(output))
    assert finished.returncode != 0
    assert "is not finite" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_world_size_other_than_the_workers_asked_for_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    finished = torchrun(2, TRAIN, "--run-name", "fnn3_top_k", "--workers", "3", "--output", str(output))
    assert finished.returncode != 0
    assert "--workers 3 differs from the 2 processes started" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def train_with_the_rank_as_seed() -> str:
    """What a rank says that was started with its own seed."""
    run = replace(RUNS["fnn3_top_k"], seed=dist.get_rank())
    averager = GroupAverager(run.collective, rank_order=True)
    with pytest.raises(ValueError, match="other settings or data") as caught:
        require_equal_settings(run, "data", averager)
    return str(caught.value)


def test_ranks_started_with_different_settings_all_refuse_to_train() -> None:
    message = "ranks [1] were started with other settings or data than rank 0"
    assert run_workers(train_with_the_rank_as_seed, 2) == [message] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run", "fnn3_topk"), "unknown run 'fnn3_topk'"),
        (("--run", "fnn3_top_k", "--density", "0"), "density must lie in (0, 1], got 0.0"),
        (("--run", "fnn3_top_k", "--density", "1.5"), "density must lie in (0, 1], got 1.5"),
        (("--run", "fnn3_top_k", "--steps", "0"), "steps must be at least 1, got 0"),
        (("--run", "fnn3_top_k", "--data", "mnist"), "unknown data source 'mnist'"),
        (("--run", "fnn3_top_k", "--data", "fashion_mnist:no-such-folder"), "no-such-folder"),
        (("--run", "fnn3_top_k", "--batch-size", "20000"), "batch size 20000"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    finished = run_module(TRAIN, *arguments, "--output", str(tmp_path / "result.json"))
    assert finished.returncode == 2
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_output_folder_is_refused_before_training(tmp_path: Path) -> None:
    output = tmp_path / "absent" / "result.json"
    finished = run_module(TRAIN, "--run", "fnn3_top_k", "--output", str(output))
    assert finished.returncode == 2
    assert f"the output folder {output.parent} does not exist" in finished.stderr
    assert not output.parent.exists()
