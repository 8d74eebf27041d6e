"""The main training runs with real processes, large: NCCL between GPUs, gloo where there are none; resumable.

`python -m sparsync.experiments.studies.training.distributed --output-folder build/full/distributed [--processes 8]
[--only fnn3_top_k]`

Each run is a `torchrun` of `experiments/train.py`, one after another; with fewer processes than workers each process
trains several. A run that has its result is not run again, and one that was interrupted goes on from its checkpoint. On
several nodes every node starts the same command, with `--torchrun` saying where they meet, on a folder that all see.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import tyro

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.training.launch import run_to_end
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.verify.tools.provenance import provenance, require_folder, write_json

SUMMARY = "distributed.json"
TRAINED = ("fnn3_dense", "fnn3_top_k", "fnn3_gaussian_k", "fnn3_gaussian_k_released")
"""Keys of `RUNS`."""
SIZES: dict[ProfileName, tuple[dict[str, Any], int]] = {
    "smoke": ({"steps": 4, "workers": 2, "data": "embedded"}, 1),
    "full": ({"steps": 6000, "workers": 16, "data": "fashion_mnist"}, 5),
}
"""What all runs of a profile have in common, and how many seeds."""
_DEADLINE_SECONDS = 7 * 24 * 3600.0
_SHOWN_LINES = 20


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        run_name: key of `RUNS`.
        overrides: fields of the run that are set.
    """

    run_name: str
    overrides: dict[str, Any]

    @property
    def run(self) -> Run:
        """The run with its overrides."""
        return replace(RUNS[self.run_name], **self.overrides)

    @property
    def file_name(self) -> str:
        """Of its result."""
        return f"{self.run_name}-{self.run.seed}.json"


@dataclass(frozen=True)
class FullCommand:
    """Train every run of a profile with real processes."""

    output_folder: Path
    """where results and checkpoints go, which all nodes see; created if absent"""
    profile: ProfileName = "full"
    """how large the runs are, and how many"""
    processes: int | None = None
    """of this node; None is one for each GPU, or two without"""
    torchrun: str = "--standalone"
    """words for torchrun: on several nodes --nnodes 4 --rdzv-backend c10d --rdzv-id JOB --rdzv-endpoint HOST:PORT"""
    every: int = 500
    """updates from one checkpoint to the next"""
    only: tuple[str, ...] = ()
    """keys of `RUNS` to train; empty for those of `TRAINED`"""

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 1:
            raise ValueError(f"processes must be at least 1, got {self.processes}")
        if self.profile not in SIZES:
            raise ValueError(f"profile must be one of {', '.join(SIZES)}, got {self.profile!r}")
        for name in self.only:
            if name not in RUNS:
                raise ValueError(f"unknown run {name!r}; known: {', '.join(RUNS)}")

    @property
    def cases(self) -> list[Case]:
        """All runs that are asked for."""
        common, seed_count = SIZES[self.profile]
        names = self.only or TRAINED
        return [Case(name, {**common, "seed": seed}) for seed in range(seed_count) for name in names]

    def words(self, case: Case) -> list[str]:
        """What trains a run."""
        count = self.processes or torch.cuda.device_count() or 2
        launcher = ["torch.distributed.run", *shlex.split(self.torchrun), "--nproc-per-node", str(count)]
        output = self.output_folder / case.file_name
        training = ["--run-name", case.run_name, "--output", str(output)]
        for name, value in case.overrides.items():
            training += [f"--{name.replace('_', '-')}", str(value)]
        kept = ["--checkpoint", str(output.with_suffix(".checkpoints")), "--every", str(self.every), "--resume"]
        return [sys.executable, "-m", *launcher, "-m", "sparsync.experiments.train", *training, *kept]


def train_all(command: FullCommand) -> list[str]:
    """Train what has no result yet; names of the files of runs that failed are returned, the others are trained.

    Raises:
        ValueError: a folder in which no file can be written.
    """
    require_folder(command.output_folder, option="--output-folder")
    failed = []
    for place, case in enumerate(command.cases, start=1):
        if (command.output_folder / case.file_name).exists():
            continue
        sys.stdout.write(f"{place} of {len(command.cases)}: {case.file_name}\n")
        sys.stdout.flush()
        finished = run_to_end(command.words(case), timeout_seconds=_DEADLINE_SECONDS, environment={})
        if finished.returncode:
            failed.append(case.file_name)
            lines = finished.stderr.splitlines()[-_SHOWN_LINES:]
            sys.stderr.write(f"FAILED {case.file_name}: status {finished.returncode}\n" + "\n".join(lines) + "\n")
    write_json(command.output_folder / SUMMARY, summary(command))
    return failed


def summary(command: FullCommand) -> dict[str, Any]:
    """What the runs ended with that are there: rows by case, with who talked to whom."""
    rows = []
    for case in command.cases:
        path = command.output_folder / case.file_name
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            facts = found["provenance"]
            rows.append(
                {
                    "run_name": case.run_name,
                    "density": case.run.density,
                    "seed": case.run.seed,
                    "test_accuracy": found["test_accuracy"],
                    "process_count": facts["process_count"],
                    "backend": "gloo" if facts["gpu_name"] is None else "nccl",
                    "hardware": facts["gpu_name"] or facts["processor_name"],
                }
            )
    return {
        "profile": command.profile,
        "case_count": len(command.cases),
        "rows": rows,
        "provenance": provenance(process_count=max((int(row["process_count"]) for row in rows), default=1)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; status 1 if a run failed."""
    with exit_on_bad_input():
        command = tyro.cli(
            FullCommand, prog="python -m sparsync.experiments.studies.training.distributed", args=arguments
        )
        failed = train_all(replace(command, output_folder=command.output_folder.resolve()))
        if failed:
            sys.stderr.write(f"{len(failed)} runs failed; the same command does only what is missing\n")
            sys.exit(1)


if __name__ == "__main__":
    main()
