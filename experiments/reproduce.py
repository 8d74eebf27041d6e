"""Everything that the figures read, in one command: convergence runs, studies of contraction, and a torchrun check.

`python -m sparsync.experiments.reproduce --profile quick --data-folder paper/data [--only races budgets]`
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.pool import run_cases
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.studies.registry import CASE_STUDIES, SINGLE_STUDIES
from sparsync.experiments.studies.training.convergence import convergence_cases, default_job_count, run_convergence
from sparsync.experiments.training.launch import run_to_end
from sparsync.experiments.training.runs import RUNS
from sparsync.verify.tools.provenance import require_folder, write_json

_TORCHRUN_PROCESS_COUNT = 4
_TORCHRUN_STEPS = 20
_TORCHRUN_DEADLINE_SECONDS = 300

PARTS = ("torchrun", *SINGLE_STUDIES, *CASE_STUDIES, "convergence")
"""All that is run, in this order: the comparison with torchrun, the studies, and the training runs."""


@dataclass(frozen=True)
class ReproduceCommand:
    """Run all studies of a profile."""

    data_folder: Path
    """where the JSON files go; created if absent"""
    profile: ProfileName = "quick"
    """how large the studies are"""
    jobs: int = field(default_factory=default_job_count)
    """training runs at a time"""
    only: tuple[str, ...] = ()
    """names of `PARTS` to run, the files of the others stay as they are; empty for all"""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {self.jobs}")
        for name in self.only:
            if name not in PARTS:
                raise ValueError(f"unknown part {name!r}; known: {', '.join(PARTS)}")

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are to be run."""
        return [name for name in names if not self.only or name in self.only]


def reproduce(command: ReproduceCommand) -> None:
    """Run the studies of a profile and write their files.

    Raises:
        ValueError: a data folder in which no file can be written.
        RuntimeError: torchrun failed, or its parameters differ from the simulation's.
    """
    require_folder(command.data_folder, option="--data-folder")
    if command.chosen(["torchrun"]):
        write_json(command.data_folder / "torchrun.json", compare_with_torchrun("fnn3_gaussian_k"))
    if singles := command.chosen(SINGLE_STUDIES):
        with step_progress(len(singles), visible=True, title="studies") as advance:
            run = partial(_write_study, profile_name=command.profile, folder=command.data_folder)
            run_cases(run, singles, job_count=command.jobs, advance=advance)
    for name in command.chosen(CASE_STUDIES):
        study = CASE_STUDIES[name]
        with step_progress(study.case_count(command.profile), visible=True, title=name) as advance:
            found = study.run(command.profile, job_count=command.jobs, advance=advance)
        write_json(command.data_folder / f"{name}.json", found)
    if command.chosen(["convergence"]):
        case_count = len(convergence_cases(PROFILES[command.profile]))
        with step_progress(case_count, visible=True, title="runs") as advance:
            folder = command.data_folder / "convergence"
            run_convergence(command.profile, folder, job_count=command.jobs, advance=advance)


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
    with exit_on_bad_input():
        reproduce(tyro.cli(ReproduceCommand, prog="python -m sparsync.experiments.reproduce"))


if __name__ == "__main__":
    main()
