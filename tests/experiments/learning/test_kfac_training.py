"""Runs with K-FAC have the same bits on one, two and four processes, and the command trains from one line."""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learn import read_arguments
from sparsync.experiments.learning.kfac_settings import SCHEMES
from sparsync.experiments.learning.kfac_training import METHODS, KfacRun, train
from sparsync.experiments.learning.registry import SYSTEMS
from sparsync.experiments.parties.party import Party
from sparsync.experiments.parties.processes import take_part
from tests.support.kfac_cases import small_data
from tests.support.slow_cases import slow_except
from tests.support.workers import run_workers, torchrun

RUN = KfacRun(model="fnn2", workers=4, batch_size=4, steps=4, factor_period=2, decomposition_period=3, test_limit=50)
RUNS: dict[str, KfacRun] = {
    **{scheme: replace(RUN, scheme=scheme) for scheme in SCHEMES},
    **{f"{scheme}, selected": replace(RUN, scheme=scheme, density=0.1, factor_density=0.1) for scheme in SCHEMES},
    "statistics": replace(RUN, model="resnet20", batch_size=2, steps=2, decomposition_period=2, test_limit=4),
    "sgd": replace(RUN, method="sgd", density=0.1),
    "adamw": replace(RUN, method="adamw", step_size=0.01),
}
MEASURED = ("loss", "evaluations", "sent_bytes", "parameters_sha256", "layer_sizes")


def here() -> Party:
    """The party of a rank of a group that is there."""
    return Party(dist.get_rank(), dist.get_world_size(), timeout_seconds=60.0)


def train_of(model: str) -> dict[str, dict[str, Any]]:
    return {name: train(run, here(), small_data()) for name, run in RUNS.items() if run.model == model}


@cache
def by_processes(process_count: int, model: str) -> list[dict[str, dict[str, Any]]]:
    found: list[dict[str, dict[str, Any]]] = run_workers(partial(train_of, model), process_count)
    return found


@cache
def in_one(name: str) -> dict[str, Any]:
    return train(RUNS[name], Party(), small_data())


@pytest.mark.parametrize("process_count", [2, 4])
@pytest.mark.parametrize("name", slow_except(set(RUNS) - {"statistics"}, RUNS))
def test_four_workers_have_the_same_bits_on_one_two_and_four_processes(name: str, process_count: int) -> None:
    """Parameters, losses and bytes, on every process."""
    for found in by_processes(process_count, RUNS[name].model):
        assert {key: found[name][key] for key in MEASURED} == {key: in_one(name)[key] for key in MEASURED}


def test_both_schemes_are_one_trajectory_and_send_different_things() -> None:
    first, second = (in_one(scheme) for scheme in SCHEMES)
    assert first["parameters_sha256"] == second["parameters_sha256"]
    assert set(first["sent_bytes"]) - set(second["sent_bytes"]) == {"decompositions"}
    assert set(second["sent_bytes"]) - set(first["sent_bytes"]) == {"preconditioned"}


def test_methods_and_selections_are_different_trajectories() -> None:
    """But for the two schemes, with and without a selection."""
    small = [name for name in RUNS if name != "statistics"]
    assert len({in_one(name)["parameters_sha256"] for name in small}) == len(small) - 2


def lose_a_rank() -> str:
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(ExchangeError) as caught:
        train(RUN, replace(here(), timeout_seconds=5.0), small_data())
    return str(caught.value)


def test_a_lost_rank_is_an_error_on_those_that_are_left() -> None:
    answers = run_workers(lose_a_rank, 2, killed=[1])
    assert "rank 1" in answers[0] or "lost" in answers[0], answers[0]


@pytest.mark.parametrize("method", METHODS)
def test_the_command_writes_what_was_measured(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "result.json"
    arguments = ["--system", "kfac", "--output", str(output), "--model", "deep0", "--method", method]
    arguments += ["--workers", "2", "--steps", "3", "--step-size", "0.01", "--test-limit", "20"]
    command = read_arguments(arguments)
    take_part("kfac", SYSTEMS["kfac"], command)
    written = json.loads(output.read_text())
    assert written["settings"]["method"] == method
    assert [found["step_count"] for found in written["evaluations"]] == [3]
    assert len(written["loss"]) == 3
    assert "test accuracy" in capsys.readouterr().out


@pytest.mark.slow
def test_the_line_of_the_documentation_runs_for_real(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    options = ("--steps", "2", "--batch-size", "1", "--test-limit", "8")
    command = ("-m", "sparsync.experiments.learn", "--system", "kfac", "--output", str(output))
    finished = torchrun("--nproc-per-node", "2", *command, *options)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(output.read_text())["provenance"]["process_count"] == 2


def test_a_run_advances_as_often_as_it_promises() -> None:
    count = 0

    def advance() -> None:
        nonlocal count
        count += 1

    train(RUN, Party(advance=advance), small_data())
    assert count == SYSTEMS["kfac"].step_count(RUN) == RUN.steps


def test_the_step_size_falls_to_zero_and_the_damping_by_equal_ratios() -> None:
    run = replace(RUN, step_size=0.4, damping=0.1, damping_end=0.001, steps=3)
    assert [run.step_size_at(step) for step in range(3)] == pytest.approx([0.4, 0.8 / 3, 0.4 / 3], rel=4 * 2.0**-52)
    assert [run.damping_at(step) for step in range(3)] == pytest.approx([0.1, 0.01, 0.001], rel=16 * 2.0**-52)
    assert run.preconditioner().at(1).damping == run.damping_at(1)
    assert replace(run, damping_end=None).preconditioner().at(2).damping == 0.1
    assert replace(run, clip=0).preconditioner().clip is None


def test_a_run_that_diverges_says_where() -> None:
    with pytest.raises(FloatingPointError, match=r"not finite"):
        train(replace(RUN, method="sgd", step_size=1e30, steps=6), Party(), small_data())


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("method", "newton", "method must be one of kfac, sgd, adamw, got 'newton'"),
        ("model", "unknown", "unknown model 'unknown'"),
        ("workers", 0, "workers must be at least 1, got 0"),
        ("test_limit", 0, "test_limit must be at least 1, got 0"),
        ("momentum", 1.0, r"momentum must lie in \[0, 1\), got 1.0"),
        ("weight_decay", math.inf, "weight_decay must be at least 0 and finite, got inf"),
        ("clip", -1.0, "clip must be at least 0, got -1.0"),
        ("damping", 0.0, "damping must be positive and finite, got 0.0"),
        ("damping_end", 0.0, "damping_end must be positive and finite, got 0.0"),
        ("factor_density", 2.0, r"density must lie in \(0, 1\], got 2.0"),
        ("scheme", "none", "scheme must be one of"),
        ("step_size", 0.0, "step_size must be positive and finite, got 0.0"),
    ],
)
def test_settings_that_cannot_be_run_are_refused(setting: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(RUN, **{setting: value})


def test_more_processes_than_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="1 workers are fewer than the 2 processes started"):
        train(replace(RUN, workers=1), Party(rank=0, size=2))
