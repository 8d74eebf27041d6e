"""A run's state as named tensors, and back: for as many workers bit for bit, for others so that the mean owes as much.

    parameters, descent/NAME, averager/NAME, progress              alike on all processes
    workers/RANK/{memory/NAME, statistics, generator, selector}    of each worker

What makes a selection faster but never different, the kernel's `SelectionState`, is not part of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import torch
from torch import Tensor

from sparsync.experiments.hooks.residuals import resized_by_mean
from sparsync.experiments.training.adaptive import Remembering
from sparsync.experiments.training.averager import Noting
from sparsync.experiments.training.batches import BatchSchedule, Position
from sparsync.experiments.training.loop import Evaluation, Training
from sparsync.experiments.training.roads import Worker
from sparsync.experiments.training.seeding import random_stream
from sparsync.experiments.training.worker import StepFacts


class Source(Protocol):
    """Where tensors are read from."""

    def read(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Those of these names, on the CPU."""
        ...


def tensors(training: Training) -> dict[str, Tensor]:
    """All that this process knows, by name; the tensors themselves, which the next step changes."""
    replica, averager = training.replica, training.averager
    notes = averager.state() if isinstance(averager, Noting) else {}
    progress = {
        "worker_count": training.worker_count,
        "schedule": asdict(replica.schedule.start),
        "steps": [asdict(facts) for facts in training.steps],
        "evaluations": [asdict(evaluation) for evaluation in training.evaluations],
        "wall_seconds": training.wall_seconds,
        "averager": [*notes],
    }
    found = {"parameters": replica.model.parameters, "progress": _packed(progress)}
    found |= {f"descent/{name}": tensor for name, tensor in replica.descent.state().items()}
    found |= {f"averager/{name}": note for name, note in notes.items()}
    for worker in training.workers:
        own = {f"memory/{name}": vector for name, vector in worker.memory.items()}
        own |= {"statistics": worker.statistics, "generator": worker.generator.get_state()}
        if isinstance(worker.select, Remembering):
            own["selector"] = _packed(worker.select.state())
        found |= {f"workers/{worker.rank}/{name}": tensor for name, tensor in own.items()}
    # No file holds a tensor without entries, as statistics are of a network that has none.
    return {name: tensor for name, tensor in found.items() if tensor.numel()}


def restore(training: Training, source: Source) -> None:
    """Bring a run that has not begun to where the saved one was; attempts are the keeper's.

    The settings are known to be those of the saved run, but for the number of workers. Where that differs, every
    vector that workers remember becomes its mean over the old ones, as `resized_by_mean` rounds it: then the mean of
    all workers owes what it owed. A worker that was there before keeps its random stream; a new one begins one.

    Raises:
        ValueError: see `Checkpoint.read`.
    """
    replica = training.replica
    names = [f"descent/{name}" for name in replica.descent.state()]
    common = source.read(["parameters", "progress", *names])
    progress = _unpacked(common["progress"])
    replica.model.parameters.copy_(common["parameters"])
    replica.descent.restore({name.removeprefix("descent/"): common[name] for name in names})
    training.steps[:] = [StepFacts(**facts) for facts in progress["steps"]]
    training.evaluations[:] = [Evaluation(**evaluation) for evaluation in progress["evaluations"]]
    training.past_seconds = progress["wall_seconds"]
    old_count, step = int(progress["worker_count"]), len(training.steps)
    averager, is_resized = training.averager, training.worker_count != old_count
    if isinstance(averager, Noting) and not (is_resized and averager.knows_count):
        notes = source.read(f"averager/{name}" for name in progress["averager"])
        averager.restore({name.removeprefix("averager/"): note for name, note in notes.items()})
    _restore_schedule(training, Position(**progress["schedule"]), old_count, step)
    for worker in training.workers:
        names = [f"memory/{name}" for name in worker.memory] + ["statistics"] * bool(worker.statistics.numel())
        if is_resized:
            found = {name: _carried(name, source, old_count, training.worker_count, worker.rank) for name in names}
        else:
            found = _own(names, source, worker.rank)
        _take(worker, found)
        if worker.rank < old_count:
            _restore_choices(worker, source)
        else:
            worker.generator = random_stream(replica.run.seed, f"selection from step {step}", worker.rank)
    replica.model.statistics.copy_(training.workers[0].statistics)


def _restore_schedule(training: Training, start: Position, old_count: int, step: int) -> None:
    replica, new_count = training.replica, training.worker_count
    size, seed = replica.run.batch_size, replica.run.seed
    old = BatchSchedule(len(replica.data.train_labels), worker_count=old_count, batch_size=size, seed=seed, start=start)
    replica.schedule = old if new_count == old_count else old.resumed(step, new_count)


def _own(names: Iterable[str], source: Source, rank: int) -> dict[str, Tensor]:
    """What was saved of the worker of this rank."""
    prefix = f"workers/{rank}/"
    found = source.read([prefix + name for name in names])
    return {name.removeprefix(prefix): tensor for name, tensor in found.items()}


def _take(worker: Worker, found: Mapping[str, Tensor]) -> None:
    worker.memory = {name: found[f"memory/{name}"].to(vector.device) for name, vector in worker.memory.items()}
    if worker.statistics.numel():
        worker.statistics.copy_(found["statistics"])


def _restore_choices(worker: Worker, source: Source) -> None:
    """What its selector draws from, and what that has learnt."""
    has_learnt = isinstance(worker.select, Remembering)
    found = _own(["generator", *["selector"] * has_learnt], source, worker.rank)
    worker.generator.set_state(found["generator"].cpu())
    if isinstance(worker.select, Remembering):
        worker.select.restore(_unpacked(found["selector"]))


def _carried(name: str, source: Source, old_count: int, new_count: int, rank: int) -> Tensor:
    """What a worker has after a change of their number: read one old worker at a time, since vectors are long."""
    total, dtype = torch.zeros(()), torch.float32
    for old in range(old_count):
        (vector,) = source.read([f"workers/{old}/{name}"]).values()
        total, dtype = total + vector.double(), vector.dtype
    mean, first = resized_by_mean(total.div_(old_count), dtype, new_count)
    # Means and variances of a layer are measured, and owe nothing.
    return first if rank == 0 and name != "statistics" else mean


def _packed(value: Mapping[str, Any]) -> Tensor:
    """JSON as bytes [n] uint8: every float comes back with its bits."""
    return torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)


def _unpacked(packed: Tensor) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(packed.numpy().tobytes())
    return found
