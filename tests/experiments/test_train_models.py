"""Real models under gloo ranks have the bits of the simulation, evaluations with batch statistics included."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from sparsync.experiments import train
from sparsync.experiments.command import Command
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.runs import Run
from tests.support.workers import joined_already, run_workers, torchrun

_SHORT = Run(selector="top_k", density=0.01, batch_size=2, steps=2, evaluate_every=1, workers=2, test_limit=8, seed=5)
RUNS = {
    "resnet20": replace(_SHORT, model="resnet20", batch_size=4),
    "vgg16": replace(_SHORT, model="vgg16", steps=1, test_limit=2),
    "lstm": replace(_SHORT, model="lstm", data="text"),
    "gpt": replace(_SHORT, selector="gaussian_k", model="gpt", data="text"),
}


def train_all(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What this rank writes; all in one group that is there already."""
    os.environ |= {"RANK": str(dist.get_rank()), "WORLD_SIZE": str(dist.get_world_size())}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_joined", joined_already)
        for name in names:
            train.train(Command(run=name, output=Path(folder) / f"{name}.json", settings=RUNS[name]))
        return {path.stem: json.loads(path.read_text()) for path in Path(folder).iterdir()}


# Of three models together: a group of ranks costs more than what they train.
@pytest.mark.parametrize("names", [("resnet20", "lstm", "gpt"), pytest.param(("vgg16",), marks=pytest.mark.slow)])
def test_two_ranks_equal_the_simulation_bit_for_bit(names: tuple[str, ...]) -> None:
    written, other = run_workers(partial(train_all, names), 2)
    assert other == {}
    assert written.keys() == {*names}
    for name, result in written.items():
        simulated = simulate(RUNS[name])
        assert result["parameters_sha256"] == simulated.parameters_sha256, name
        assert result["loss"] == [facts.loss for facts in simulated.steps]
        assert result["evaluations"] == [asdict(evaluation) for evaluation in simulated.evaluations]
        assert result["sent_bytes"] == [facts.sent_bytes for facts in simulated.steps]
        assert result["test_count"] == RUNS[name].test_limit


def test_the_command_trains_a_model_on_a_file_of_text(tmp_path: Path) -> None:
    text, output = tmp_path / "text.txt", tmp_path / "result.json"
    text.write_text("sending little and waiting little " * 100, encoding="utf-8")
    options = ("--model", "gpt", "--data", f"text:{text}", "--steps", "2", "--batch-size", "2", "--test-limit", "1")
    command = ("-m", "sparsync.experiments.train", "--run-name", "fnn3_top_k", *options, "--output", str(output))
    finished = torchrun("--nproc-per-node", "2", *command)
    assert finished.returncode == 0, finished.stderr
    run = Run(selector="top_k", model="gpt", data=f"text:{text}", steps=2, batch_size=2, test_limit=1, workers=2)
    assert json.loads(output.read_text())["parameters_sha256"] == simulate(run).parameters_sha256
