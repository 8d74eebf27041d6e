"""Everything that the figures read, in one command: convergence runs, studies of contraction, and a torchrun check.

`python -m sparsync.experiments.reproduce --profile quick --data-folder paper/data`
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.launch import run_to_end
from sparsync.experiments.runs import RUNS
from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.convergence import convergence_cases, default_job_count, run_convergence
from sparsync.experiments.studies.pool import run_cases
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.studies.registry import CASE_STUDIES, SINGLE_STUDIES
from sparsync.verify.provenance import require_folder, write_json

_TORCHRUN_PROCESS_COUNT = 4
_TORCHRUN_STEPS = 20
_TORCHRUN_DEADLINE_SECONDS = 300


@dataclass(frozen=True)
class ReproduceCommand:
    """Run all studies of a profile."""

    data_folder: Path
    """where the JSON files go; created if absent"""
    profile: ProfileName = "quick"
    """how large the studies are"""
    jobs: int = field(default_factory=default_job_count)
    """training runs at a time"""


def reproduce(command: ReproduceCommand) -> None:
    """Run all studies of a profile and write their files.

    Raises:
        ValueError: `jobs` below 1, or a data folder in which no file can be written.
        RuntimeError: torchrun failed, or its parameters differ from the simulation's.
    """
    if command.jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {command.jobs}")
    require_folder(command.data_folder, option="--data-folder")
    profile = PROFILES[command.profile]
    write_json(command.data_folder / "torchrun.json", compare_with_torchrun("fnn3_gaussian_k"))
    with step_progress(len(SINGLE_STUDIES), visible=True, title="studies") as advance:
        run = partial(_write_study, profile_name=command.profile, folder=command.data_folder)
        run_cases(run, list(SINGLE_STUDIES), job_count=command.jobs, advance=advance)
    for name, study in CASE_STUDIES.items():
        with step_progress(study.case_count(command.profile), visible=True, title=name) as advance:
            found = study.run(command.profile, job_count=command.jobs, advance=advance)
        write_json(command.data_folder / f"{name}.json", found)
    with step_progress(len(convergence_cases(profile)), visible=True, title="runs") as advance:
        run_convergence(command.profile, command.data_folder / "convergence", job_count=command.jobs, advance=advance)


def _write_study(name: str, *, profile_name: ProfileName, folder: Path) -> None:
    write_json(folder / f"{name}.json", SINGLE_STUDIES[name](profile_name))


def compare_with_torchrun(run_name: str) -> dict[str, Any]:
    """Train the same few steps with real processes and in simulation; both results, side by side.

    Raises:
        RuntimeError: torchrun failed, or the final parameters differ in a bit.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(_TORCHRUN_PROCESS_COUNT), "-m")
        training = ("sparsync.experiments.train", "--run-name", run_name, "--steps", str(_TORCHRUN_STEPS))
        finished = run_to_end(
            [sys.executable, "-m", *launcher, *training, "--output", str(output)],
            timeout_seconds=_TORCHRUN_DEADLINE_SECONDS,
            environment={"CUDA_VISIBLE_DEVICES": ""},
        )
        if finished.returncode:
            raise RuntimeError(f"torchrun ended with status {finished.returncode}:\n{finished.stderr}")
        distributed = json.loads(output.read_text())
    run = replace(RUNS[run_name], steps=_TORCHRUN_STEPS, workers=_TORCHRUN_PROCESS_COUNT)
    simulated = simulate(run).parameters_sha256
    if distributed["parameters_sha256"] != simulated:
        raise RuntimeError(f"torchrun and simulation differ: {distributed['parameters_sha256']} and {simulated}")
    return {"simulated_parameters_sha256": simulated, **distributed}


def main() -> None:
    """Run the command line."""
    command = tyro.cli(ReproduceCommand, prog="python -m sparsync.experiments.reproduce")
    with exit_on_bad_input():
        reproduce(command)


if __name__ == "__main__":
    main()
