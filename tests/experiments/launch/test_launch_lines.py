"""Both launch files start the same elastic line, in words that torchrun and the training command know."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparsync.experiments.training.runs import RUNS
from tests.support.launch.commands import (
    OF_CHECKPOINTS,
    TRAIN,
    known_options,
    name_of,
    option_names,
    read_torchrun,
    read_train,
)
from tests.support.paths import ROOT

SLURM, TRAINJOB = (ROOT / "experiments" / "launch" / name for name in ("slurm.sh", "trainjob.yaml"))
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
# What Slurm tells a job of four nodes.
JOB = {
    "SLURM_JOB_ID": "41234",
    "SLURM_JOB_NODELIST": "node[7-10]",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_CPUS_PER_TASK": "8",
}
# Each word that it is called with, and what the ranks are to inherit, with an end that no word holds.
RECORDING = '#!/bin/sh\nprintf "%s\\0" "$@" > {said}\nprintf "%s" "$TORCH_DISABLE_SHARE_RDZV_TCP_STORE" > {inherited}\n'
HOSTS = '#!/bin/sh\ntest "$*" = "show hostnames node[7-10]" && printf "node7\\nnode8\\nnode9\\nnode10\\n"\n'


@pytest.fixture
def slurm(tmp_path: Path) -> Callable[..., list[str]]:
    """Run the job's script with stand-ins for Slurm's own commands; the words that `srun` gets."""
    programs, said = tmp_path / "programs", tmp_path / "said"
    programs.mkdir()
    texts = {"srun": RECORDING.format(said=said, inherited=tmp_path / "inherited"), "scontrol": HOSTS}
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)

    def run(*words: str, **environment: str) -> list[str]:
        path = f"{programs}:{os.environ['PATH']}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PET_"))}
        ours = {**clean, "PATH": path, "SLURM_SUBMIT_DIR": str(tmp_path), **JOB, **environment}
        done = subprocess.run(["bash", SLURM, *words], env=ours, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return said.read_text().split("\0")[:-1]

    return run


def trainjob() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(TRAINJOB.read_text(encoding="utf-8"))
    return found


def trainjob_words(folder: Path) -> list[str]:
    """What the container runs, with the runtime's variables and the volume put in their places."""
    trainer = trainjob()["spec"]["trainer"]
    (volume,) = {mount["mountPath"] for mount in patched_containers()[0]["volumeMounts"]}
    places = {
        "$(PET_MASTER_ADDR)": "sparsync-node-0-0.sparsync",
        "$(PET_MASTER_PORT)": "29500",
        f"{volume}/": f"{folder}/",
    }
    words = [*trainer["command"], *trainer["args"]]
    for name, value in places.items():
        assert any(name in word for word in words), name
        words = [word.replace(name, value) for word in words]
    return words


def patched_containers() -> list[dict[str, Any]]:
    (patch,) = trainjob()["spec"]["runtimePatches"]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    containers: list[dict[str, Any]] = job["template"]["spec"]["template"]["spec"]["containers"]
    return containers


def check_line(words: list[str], folder: Path, *, rendezvous: str) -> None:
    """An elastic line from one node on, that goes on from checkpoints in a folder and leaves its result there."""
    read = read_torchrun(words)
    assert (read.nnodes, read.rdzv_backend, read.rdzv_endpoint) == ("1:4", "c10d", rendezvous)
    assert read.max_restarts > 0
    assert read.rdzv_id not in ("", "none")
    assert (read.module, read.training_script) == (True, TRAIN)
    command = read_train(read.training_script_args)
    assert command.output == folder / "result.json"
    named = {name_of(word) for word in read.training_script_args if word.startswith("--")}
    assert named - known_options() == set()
    assert {"checkpoint", "every", "resume"} <= named
    if option_names(type(command)) >= OF_CHECKPOINTS:
        said = vars(command)
        assert said["checkpoint"] == folder / "checkpoint"
        assert said["every"] >= 1
        assert said["resume"] is True


@needs_bash
def test_the_slurm_job_starts_an_elastic_line(slurm: Callable[..., list[str]], tmp_path: Path) -> None:
    words = slurm("fnn3_gaussian_k", "--steps=2000")
    agent = words.index("torchrun")
    folder = tmp_path / "sparsync-41234"
    check_line(words[agent + 1 :], folder, rendezvous="node7:21234")
    assert folder.is_dir()
    command = read_train(read_torchrun(words[agent + 1 :]).training_script_args)
    assert (command.run, command.settings.steps) == ("fnn3_gaussian_k", 2000)
    assert (tmp_path / "inherited").read_text() == "1"


@needs_bash
@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({}, "1"),
        ({"PROCESSES_PER_NODE": "3"}, "3"),
        ({"SLURM_GPUS_ON_NODE": "8", "PROCESSES_PER_NODE": "3"}, "8"),
    ],
)
def test_a_node_of_a_slurm_job_has_a_process_for_each_gpu(
    environment: dict[str, str], count: str, slurm: Callable[..., list[str]], tmp_path: Path
) -> None:
    words = slurm("fnn3_top_k", RUN_FOLDER=str(tmp_path / "a folder"), **environment)
    read = read_torchrun(words[words.index("torchrun") + 1 :])
    assert read.nproc_per_node == count
    assert read_train(read.training_script_args).output == tmp_path / "a folder" / "result.json"


@needs_bash
def test_a_slurm_job_without_a_run_says_what_it_lacks() -> None:
    done = subprocess.run(["bash", SLURM], env={**os.environ, **JOB}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "name a run, for example fnn3_gaussian_k" in done.stderr
    assert "fnn3_gaussian_k" in RUNS


def test_the_trainjob_starts_an_elastic_line(tmp_path: Path) -> None:
    program, *words = trainjob_words(tmp_path)
    assert program == "torchrun"
    check_line(words, tmp_path, rendezvous="sparsync-node-0-0.sparsync:29500")
    trainer = trainjob()["spec"]["trainer"]
    assert read_torchrun(words).nnodes == f"1:{trainer['numNodes']}"
    assert {"name": "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "value": "1"} in trainer["env"]


def test_an_option_that_the_command_has_not_is_noticed(tmp_path: Path) -> None:
    known = [f"--output={tmp_path / 'result.json'}", "--run-name=fnn3_top_k"]
    assert read_train(known).run == "fnn3_top_k"
    with pytest.raises(SystemExit):
        read_train([*known, "--stepz=3"])
    with pytest.raises(SystemExit):
        read_torchrun(["--max-restartz=3", "-m", TRAIN])
    assert {"run", "run-name", "output", "step-size", "density-warmup", "resume"} <= known_options()
    assert "stepz" not in known_options()
