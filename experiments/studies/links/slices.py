"""What does it cost that several workers take turns in a process? Seconds of a step by the number of processes.

`python -m sparsync.experiments.studies.links.slices --output FILE` trains the same four workers under torchrun on four,
two and one processes, round after round. Their parameters have the same bits, or the study fails. Read by
`paper/studies/elastic.py`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import psutil
import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.training.launch import run_to_end
from sparsync.verify.tools.provenance import provenance, require_output, write_json

WORKER_COUNT = 4
PROCESS_COUNTS = (4, 2, 1)
NETWORKS = {"fnn3": 32, "resnet20": 8}
"""With examples of a worker and step."""
METHODS = {
    "dense": ("--selector", "keep_all", "--collective", "dense", "--rank-order"),
    "top_k": ("--selector", "top_k", "--density", "0.01"),
}
DEADLINE_SECONDS = 600.0


@dataclass(frozen=True)
class SlicesCommand:
    """A parsed command line.

    Raises:
        ValueError: a number below 1.
    """

    output: Path
    """where the JSON result goes; its folder must exist"""
    rounds: int = 3
    """how often each is timed"""
    steps: int = 100
    """of each run"""

    def __post_init__(self) -> None:
        for name in ("rounds", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def trained(model: str, method: str, process_count: int, steps: int) -> dict[str, Any]:
    """The result of a run.

    Raises:
        RuntimeError: torchrun failed, with its last words.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(process_count), "-m")
        run = ("--run-name", "fnn3_top_k", "--model", model, "--batch-size", str(NETWORKS[model]), *METHODS[method])
        size = ("--workers", str(WORKER_COUNT), "--steps", str(steps), "--evaluate-every", str(steps))
        words = (*launcher, "sparsync.experiments.train", *run, *size, "--test-limit", "16", "--output", str(output))
        ended = run_to_end(
            [sys.executable, "-m", *words],
            timeout_seconds=DEADLINE_SECONDS,
            environment={"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        )
        if ended.returncode:
            raise RuntimeError(f"torchrun ended with status {ended.returncode}:\n{ended.stderr}")
        found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
        return found


def run_slices(command: SlicesCommand) -> dict[str, Any]:
    """Time all of them in turns; the study's JSON.

    Returns:
        `worker_count`; `core_count` of this machine; `rows`: of each `model`, `method` and `process_count` the
        `step_seconds` by round, evaluations of the few test examples included.

    Raises:
        RuntimeError: a run failed, or parameters differ between numbers of processes.
    """
    cases = list(product(NETWORKS, METHODS, PROCESS_COUNTS))
    seconds: dict[tuple[str, str, int], list[float]] = {case: [] for case in cases}
    digests: dict[tuple[str, str], set[str]] = {}
    with step_progress(command.rounds * len(cases), visible=True, title="runs") as advance:
        for _, (model, method, process_count) in product(range(command.rounds), cases):
            found = trained(model, method, process_count, command.steps)
            seconds[model, method, process_count].append(found["wall_seconds"] / command.steps)
            digests.setdefault((model, method), set()).add(found["parameters_sha256"])
            advance()
    if unlike := [place for place, found in digests.items() if len(found) > 1]:
        raise RuntimeError(f"parameters differ between numbers of processes: {unlike}")
    return {
        "worker_count": WORKER_COUNT,
        "core_count": psutil.cpu_count(),
        "steps": command.steps,
        "rows": [
            {"model": model, "method": method, "process_count": process_count, "step_seconds": found}
            for (model, method, process_count), found in seconds.items()
        ],
        "provenance": provenance(process_count=max(PROCESS_COUNTS)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own)."""
    with exit_on_bad_input():
        command = tyro.cli(
            SlicesCommand,
            prog="python -m sparsync.experiments.studies.links.slices",
            description="Time four workers on four, two and one processes.",
            args=arguments,
        )
        require_output(command.output)
        found = run_slices(command)
        write_json(command.output, found)
    for row in found["rows"]:
        times = ", ".join(f"{1e3 * seconds:.1f}" for seconds in row["step_seconds"])
        print(f"{row['model']}, {row['method']}, {row['process_count']} processes: {times} ms a step")  # noqa: T201


if __name__ == "__main__":
    main()
