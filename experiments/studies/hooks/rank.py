"""What one rank does: steps of plain DDP and of the hook in turn, on the same data, and their times.

Contenders take turns within a round, in an order of the round's own, so that a busy machine meets all of them. Each
has a copy of the model. `ranks.py` starts this file as a module, with the job in a file.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import psutil
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.ddp import ErrorFeedbackState, error_feedback_hook
from sparsync.experiments.hooks.sinks import JsonLines
from sparsync.experiments.hooks.telemetry import telemetry
from sparsync.experiments.hooks.watching import PHASES, Watch, WatchedStep
from sparsync.experiments.studies.hooks.timeline import (
    Timeline,
    communication_seconds,
    overlapped_seconds,
    trace_events,
)
from sparsync.experiments.training.image_networks import resnet20
from sparsync.experiments.training.text_networks import gpt

ContenderName = Literal["plain", "hook", "watched", "telemetry", "dense"]
"""DDP alone; the hook; with time stamps; with telemetry as it is by default; with `keep_all` and time stamps."""
DEADLINE = timedelta(minutes=5)
WARM_UP_STEPS = 3
"""DDP forms its buckets anew after the first; the kernel's calls are warm after the second."""


@dataclass(frozen=True)
class Job:
    """What all ranks of a measurement do.

    Args:
        model: a key of `WORKLOADS`.
        rank_count: P.
        contenders: who takes part.
        rounds: turns of each contender.
        steps: of each turn.
        batch_size: examples of each rank and step.
        bucket_mib: DDP's bound on a bucket; None: as DDP has it by default.
        density: k/d.
        memory_steps: further steps of the hook while the size of the process is noted; 0: none.
        traced: keep the last step's trace.
    """

    model: str
    rank_count: int
    contenders: tuple[ContenderName, ...] = ("plain", "hook", "watched", "telemetry")
    rounds: int = 5
    steps: int = 3
    batch_size: int = 32
    bucket_mib: float | None = None
    density: float = 0.01
    memory_steps: int = 0
    traced: bool = False


@dataclass(frozen=True, eq=False)
class Workload:
    """A model and how a batch of its examples is drawn.

    Args:
        make: the model.
        draw: inputs and classes of a batch.
    """

    make: Callable[[], nn.Module]
    draw: Callable[[int, torch.Generator], tuple[Tensor, Tensor]]


def _images(count: int, stream: torch.Generator) -> tuple[Tensor, Tensor]:
    return torch.randn(count, 3, 32, 32, generator=stream), torch.randint(10, (count,), generator=stream)


def _windows(count: int, stream: torch.Generator) -> tuple[Tensor, Tensor]:
    tokens = torch.randint(256, (count, 129), generator=stream)
    return tokens[:, :-1], tokens[:, 1:]


def _vectors(count: int, stream: torch.Generator) -> tuple[Tensor, Tensor]:
    return torch.randn(count, 12, generator=stream), torch.randint(4, (count,), generator=stream)


WORKLOADS: dict[str, Workload] = {
    "resnet20": Workload(lambda: resnet20((3, 32, 32), 10), _images),
    "gpt": Workload(lambda: gpt(128, 256), _windows),
    "tiny": Workload(lambda: nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 4)), _vectors),
}
"""By name; the data are noise, on which steps take as long as on any."""


@dataclass(eq=False)
class Contender:
    """A model in training and what its steps took.

    Args:
        model: under DDP.
        optimiser: of its parameters.
        watch: of its hook, if it has one.
        step_seconds: of each step.
        processor_seconds: of each step, of all threads of this process.
        timelines: of each step that was watched.
    """

    model: DistributedDataParallel
    optimiser: torch.optim.Optimizer
    watch: Watch | None
    step_seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    timelines: list[Timeline] = field(default_factory=list)
    _watched: list[WatchedStep] = field(default_factory=list)

    def train(self, inputs: Tensor, classes: Tensor, *, is_timed: bool) -> None:
        """One step."""
        began, worked = time.perf_counter(), time.process_time()
        self.optimiser.zero_grad()
        scores = self.model(inputs)
        loss = nn.functional.cross_entropy(scores.flatten(0, -2), classes.flatten())
        backward = time.perf_counter()
        loss.backward()
        self.optimiser.step()
        ended, worked_by_then = time.perf_counter(), time.process_time()
        if self.watch is not None:
            self.watch.close()
        if is_timed:
            self.step_seconds.append(ended - began)
            self.processor_seconds.append(worked_by_then - worked)
            self.timelines += [Timeline(began, backward, ended, watched) for watched in self._watched]
        self._watched.clear()


def contender(name: ContenderName, job: Job, folder: Path) -> Contender:
    """A copy of the job's model, the same on every rank, trained so; telemetry is written into the folder."""
    torch.manual_seed(0)
    model = WORKLOADS[job.model].make()
    watched: list[WatchedStep] = []
    watch: Watch | None = None
    if name in ("watched", "dense"):
        watch = Watch(watched.append)
    elif name == "telemetry":
        watch = telemetry([JsonLines(folder / f"telemetry-{dist.get_rank()}.jsonl")])
    ddp = DistributedDataParallel(model, bucket_cap_mb=job.bucket_mib)
    if name != "plain":
        selector = "keep_all" if name == "dense" else "top_k"
        state = ErrorFeedbackState(model, selector=selector, density=job.density, telemetry=watch)
        ddp.register_comm_hook(state, error_feedback_hook)
    # So small a step that no run on noise can diverge.
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    return Contender(ddp, optimiser, watch, _watched=watched)


def measure(job: Job, folder: Path) -> dict[str, Any]:
    """This rank's times, called on every rank of a group alike."""
    stream = torch.Generator().manual_seed(1 + dist.get_rank())
    inputs, classes = WORKLOADS[job.model].draw(job.batch_size, stream)
    found = {name: contender(name, job, folder) for name in job.contenders}
    for one in found.values():
        for _ in range(WARM_UP_STEPS):
            one.train(inputs, classes, is_timed=False)
    watch = found["telemetry"].watch if "telemetry" in found else None
    taken_before = watch.taking_seconds if watch else 0.0
    gc.collect()
    for turn in range(job.rounds):
        # Seeded by the round: the same order on every rank.
        for name in random.Random(turn).sample(job.contenders, len(job.contenders)):
            dist.barrier()
            for _ in range(job.steps):
                found[name].train(inputs, classes, is_timed=True)
    result: dict[str, Any] = {
        "rank": dist.get_rank(),
        "parameter_count": sum(p.numel() for p in next(iter(found.values())).model.parameters()),
        "step_seconds": {name: one.step_seconds for name, one in found.items()},
        "step_processor_seconds": {name: one.processor_seconds for name, one in found.items()},
        "watched": {name: watched_row(one.timelines) for name, one in found.items() if one.timelines},
        "telemetry_seconds": (watch.taking_seconds - taken_before) / (job.rounds * job.steps) if watch else None,
    }
    if job.traced:
        result["traces"] = {name: _trace(one.timelines[-1]) for name, one in found.items() if one.timelines}
    if job.memory_steps:
        result["resident_bytes"] = resident_bytes(found["hook"], job, inputs, classes)
    return result


def watched_row(timelines: Sequence[Timeline]) -> dict[str, Any]:
    """Of each step in turn: seconds of each phase, and how long something was sent, and sent during backward."""
    steps = [timeline.watched for timeline in timelines]
    return {
        "bucket_count": len(steps[-1].ready),
        "sent_bytes": sum(p.content.packed_bytes + p.content.reduced_bytes for p in steps[-1].passages),
        "phase_seconds": {
            phase: [sum(passage.seconds()[phase] for passage in step.passages) for step in steps] for phase in PHASES
        },
        "phase_processor_seconds": {
            phase: [sum(passage.processor_seconds()[phase] for passage in step.passages) for step in steps]
            for phase in PHASES
            if phase != "communicate"
        },
        "through_seconds": [sum(p.marks[-1][1] - p.marks[0][1] for p in step.passages) for step in steps],
        "communication_seconds": [communication_seconds(timeline) for timeline in timelines],
        "overlapped_seconds": [overlapped_seconds(timeline) for timeline in timelines],
    }


def _trace(timeline: Timeline) -> list[dict[str, Any]]:
    return trace_events(timeline, rank=dist.get_rank(), origin=0.0)


def resident_bytes(trained: Contender, job: Job, inputs: Tensor, classes: Tensor) -> list[int]:
    """The size of this process after each tenth of the steps, on one example a step."""
    sizes, process = [], psutil.Process()
    for step in range(job.memory_steps):
        trained.train(inputs[:2], classes[:2], is_timed=False)
        if (step + 1) % max(1, job.memory_steps // 10) == 0:
            sizes.append(int(process.memory_info().rss))
    return sizes


def main() -> None:
    """Do a job: `rank.py FOLDER RANK`, where `FOLDER/job.json` says what; the result goes beside it."""
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    fields = json.loads(folder.joinpath("job.json").read_text(encoding="utf-8"))
    job = Job(**{**fields, "contenders": tuple(fields["contenders"])})
    torch.set_num_threads(1)
    # Ranks meet through a file, which is the same in all network namespaces.
    meeting = f"file://{folder}/meeting"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=job.rank_count, timeout=DEADLINE)
    try:
        result = measure(job, folder)
        # A network that outlives the process group may wait for it for ever.
        gc.collect()
        dist.barrier()
    finally:
        dist.destroy_process_group()
    folder.joinpath(f"result-{rank}.json").write_text(json.dumps({**result, "job": asdict(job)}), encoding="utf-8")


if __name__ == "__main__":
    main()
