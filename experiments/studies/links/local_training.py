"""Local steps with a sparse outer update, trained by real processes: one of the contenders of `accuracy.py`.

`torchrun --nproc-per-node 4 -m sparsync.experiments.studies.links.local_training FOLDER` reads `FOLDER/case.json`;
rank 0 writes what it measured beside it. Parameters, data and inner steps are those of the training loop.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.local import OuterStep
from sparsync.experiments.studies.links.cells import Method
from sparsync.experiments.studies.links.contenders import Case
from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.launch import run_to_end
from sparsync.experiments.training.loop import new_replica
from sparsync.experiments.training.runs import Run

DEADLINE_SECONDS = 3600.0


class Vector(nn.Module):
    """A model that is one vector of parameters, in the memory of another's.

    Args:
        parameters: [d], which the outer step changes.
    """

    def __init__(self, parameters: Tensor) -> None:
        super().__init__()
        self.vector = nn.Parameter(parameters)


def train_locally(case: Case, data: Dataset) -> dict[str, Any]:
    """Train on this rank of a group, all of whose ranks call it alike.

    Returns:
        On rank 0 `steps` at which the parameters, then the same everywhere, were evaluated; their `test_accuracy`; the
        `test_loss` at the end. A run that diverges ends before. On other ranks nothing.
    """
    run, method, rank = case.run, case.method, dist.get_rank()
    replica = new_replica(run, data, worker_count=dist.get_world_size(), device="cpu")
    model, statistics = replica.model, replica.model.statistics
    outer = OuterStep(
        Vector(model.parameters),
        inner_steps=method.inner_steps,
        selector=method.selector,
        density=method.density,
        decay=method.decay,
        values=method.values,
        seed=run.seed,
    )
    averager, found = GroupAverager("dense"), list[tuple[int, float, float]]()
    test = (data.test_images[: run.test_limit], data.test_labels[: run.test_limit])
    for index in range(run.steps):
        examples = replica.schedule.batch(index, rank)
        _, gradient = model.loss_and_gradient(data.train_images[examples], data.train_labels[examples])
        replica.descent.apply(gradient, run.step_size_at(index, replica.schedule.epochs(index + 1)))
        try:
            outer.step()
            if (index + 1) % run.evaluate_every == 0 or index + 1 == run.steps:
                own = statistics.clone()
                if len(own):
                    statistics.copy_(averager.mean([own]))
                if rank == 0:
                    found.append((index + 1, *model.quality(*test)))
                statistics.copy_(own)
        except FloatingPointError:
            break
    return {
        "steps": [step for step, _, _ in found],
        "test_accuracy": [accuracy for _, accuracy, _ in found],
        "test_loss": found[-1][2] if found and found[-1][0] == run.steps else None,
    }


def run_locally(case: Case) -> dict[str, Any]:
    """Start the processes, and wait for what they measure.

    Raises:
        RuntimeError: one of them failed, with its last words.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("case.json").write_text(json.dumps(asdict(case)), encoding="utf-8")
        launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(case.run.workers))
        command = [sys.executable, "-m", *launcher, "-m", "sparsync.experiments.studies.links.local_training", name]
        ended = run_to_end(command, timeout_seconds=DEADLINE_SECONDS, environment={"CUDA_VISIBLE_DEVICES": ""})
        if ended.returncode:
            raise RuntimeError(f"torchrun ended with status {ended.returncode}:\n{ended.stderr}")
        found: dict[str, Any] = json.loads(folder.joinpath("result.json").read_text(encoding="utf-8"))
        return found


def read_case(text: str) -> Case:
    """A case from JSON."""
    fields = json.loads(text)
    run: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields["run"].items()
    }
    return Case(Method(**fields["method"]), Run(**run))


def main() -> None:
    """Train as a rank of torchrun."""
    folder = Path(sys.argv[1])
    case = read_case(folder.joinpath("case.json").read_text(encoding="utf-8"))
    torch.set_num_threads(case.run.threads)
    dist.init_process_group("gloo")
    try:
        found = train_locally(case, load_dataset(case.run.data))
        if dist.get_rank() == 0:
            folder.joinpath("result.json").write_text(json.dumps(found), encoding="utf-8")
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
