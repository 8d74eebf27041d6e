"""A run of training in episodes: each goes on from the last checkpoint, with more or fewer workers, and ends somehow.

What every worker made in every step is noted beside it, so that afterwards a sum shows whether anything was lost.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np
import torch
import torch.distributed as dist

from sparsync.experiments.checkpoints.folder import Folder
from sparsync.experiments.checkpoints.keeper import FolderKeeper, Keeping, open_keeper
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.loop import Training, new_training, run_training
from sparsync.experiments.training.runs import Run
from tests.support.workers import process_context

STEPS = 10
RUN = Run(
    selector="top_k", model="deep0", density=0.01, step_size=0.05, steps=STEPS, evaluate_every=STEPS, test_limit=16
)
MOST_EPISODES = 6
DEADLINE_SECONDS = 120.0
CALLS_OF_A_SAVE = 6000
"""About as many Python functions are entered and left while a checkpoint is written."""

Fate = Literal["finishes", "stops", "is killed", "is killed in a checkpoint"]


@dataclass(frozen=True)
class Episode:
    """One start of the run.

    Args:
        worker_count: P.
        in_ranks: a process for each worker, or one for all.
        fate: how it ends.
        rank: of the process that is killed.
        at: the update after which it ends; or the call, of those in which checkpoints are written, that kills it.
        every: see `Keeping`.
        keep: likewise.
    """

    worker_count: int
    in_ranks: bool
    fate: Fate
    rank: int
    at: int
    every: int
    keep: int


class Stop(Exception):  # noqa: N818 - nothing errs
    """The process ends here, with its `finally` clauses."""


def schedule(seed: int) -> list[Episode]:
    """Some episodes, of which the last one finishes."""
    draw = random.Random(seed)
    found = []
    for _ in range(draw.randint(1, MOST_EPISODES - 1)):
        count = draw.randint(1, 4)
        fate: Fate = draw.choice(["stops", "is killed", "is killed in a checkpoint", "is killed in a checkpoint"])
        at = draw.randint(1, CALLS_OF_A_SAVE) if "checkpoint" in fate else draw.randint(1, STEPS - 1)
        in_ranks = draw.random() < 0.5
        rank = draw.randrange(count) if in_ranks else 0
        found.append(Episode(count, in_ranks, fate, rank, at, draw.randint(1, 4), draw.randint(1, 2)))
    return [*found, Episode(draw.randint(1, 4), draw.random() < 0.5, "finishes", 0, 0, 3, 1)]


def play(episode: Episode, folder: Path) -> tuple[list[int], str]:
    """The exit status of every process, and what they said.

    Raises:
        RuntimeError: one outlived the deadline.
    """
    count = episode.worker_count if episode.in_ranks else 1
    said, meeting = folder / "said.txt", folder / f"meeting-{time.monotonic_ns()}"
    said.write_text("")
    context = process_context()
    processes = [
        context.Process(target=_train, args=(episode, folder, rank, meeting), daemon=True) for rank in range(count)
    ]
    for process in processes:
        process.start()
    end = time.monotonic() + DEADLINE_SECONDS
    try:
        for process in processes:
            process.join(timeout=max(0.0, end - time.monotonic()))
    finally:
        statuses = [process.exitcode for process in processes]
        for process in processes:
            process.kill()
    if None in statuses:
        raise RuntimeError(f"{episode}: exit statuses {statuses} after {DEADLINE_SECONDS} s")
    return [status for status in statuses if status is not None], said.read_text(encoding="utf-8")


def _train(episode: Episode, folder: Path, rank: int, meeting: Path) -> None:
    with Path(folder / "said.txt").open("a", encoding="utf-8") as said:
        os.dup2(said.fileno(), 2)
    torch.set_num_threads(1)
    averager: GroupAverager | LocalAverager = LocalAverager("sparse")
    processes = Processes()
    if episode.in_ranks and episode.worker_count > 1:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{meeting}",
            rank=rank,
            world_size=episode.worker_count,
            timeout=timedelta(seconds=DEADLINE_SECONDS / 2),
        )
        averager = GroupAverager("sparse")
        processes = Processes(rank, episode.worker_count, GroupAverager("dense"))
    keeping = Keeping(folder / "kept", every=episode.every, keep=episode.keep, resume=True)
    with open_keeper(keeping, processes) as keeper:
        assert keeper is not None
        watching = _Watching(keeper, episode, folder, is_victim=rank == episode.rank)
        with suppress(Stop):
            run_training(
                RUN,
                load_dataset("embedded"),
                worker_count=episode.worker_count,
                local_ranks=[rank] if episode.in_ranks else range(episode.worker_count),
                averager=averager,
                keeper=watching,
                observe=watching.note,
            )
    if dist.is_initialized():
        dist.destroy_process_group()


class _Watching:
    """A keeper around one, which ends as the episode has it, and notes what was made."""

    def __init__(self, keeper: FolderKeeper, episode: Episode, folder: Path, *, is_victim: bool) -> None:
        self._keeper, self._episode, self._folder, self._is_victim = keeper, episode, folder, is_victim
        self._calls_left = episode.at
        self._training: Training | None = None
        self._residuals: list[torch.Tensor] = []

    def begin(self, training: Training) -> None:
        self._keeper.begin(training)
        self._training = training
        self._residuals = residuals(training)

    def note(self, step_count: int, corrected: Sequence[torch.Tensor]) -> None:
        """What a step made is noted before it is saved: no checkpoint knows of a step that nobody noted."""
        assert self._training is not None
        for worker, whole, residual in zip(self._training.workers, corrected, self._residuals, strict=True):
            made = whole.double() - residual.double()
            place = self._folder / f"made-{step_count}-{worker.rank}-of-{self._episode.worker_count}.npy"
            np.save(place.with_suffix(".writing.npy"), made.numpy())
            place.with_suffix(".writing.npy").rename(place)
        self._residuals = residuals(self._training)

    def after_step(self, training: Training) -> None:
        fate, is_time = self._episode.fate, len(training.steps) == self._episode.at
        if fate == "is killed" and self._is_victim and is_time:
            os.kill(os.getpid(), signal.SIGKILL)
        if fate == "is killed in a checkpoint" and self._is_victim:
            sys.setprofile(self._count)
        self._keeper.after_step(training)
        sys.setprofile(None)
        if fate == "stops" and is_time:
            raise Stop

    def _count(self, _frame: FrameType, _event: str, _argument: Any) -> None:
        self._calls_left -= 1
        if self._calls_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def residuals(training: Training) -> list[torch.Tensor]:
    """Copies [d] of what each local worker has not sent."""
    return [worker.memory["residual"].clone() for worker in training.workers]


def lost_mass(folder: Path) -> tuple[float, float]:
    """Of a run that has finished: the largest error at any coordinate of x − ē = x₀ − Σ ḡ, and what roundings explain.

    x are the parameters, ē the mean of the residuals, and ḡ the mean of what the workers made in a step. A step is that
    of the last attempt that did it.
    """
    newest = Folder(folder / "kept", 1).checkpoints()[0]
    attempts = json.loads((folder / "kept" / "attempts.json").read_text(encoding="utf-8"))["attempts"]
    counts = {
        step: attempt["worker_count"] for attempt in attempts for step in range(attempt["first_step"] + 1, STEPS + 1)
    }
    last = newest.manifest()["worker_count"]
    saved = newest.read(["parameters", *(f"workers/{rank}/memory/residual" for rank in range(last))])
    start = new_training(
        RUN, load_dataset("embedded"), worker_count=1, local_ranks=[0], averager=LocalAverager("sparse")
    ).replica.model.parameters.double()
    pending = sum(saved[f"workers/{rank}/memory/residual"].double() for rank in range(last)) / last
    made, largest = torch.zeros_like(start), 0.0
    for step, count in counts.items():
        for rank in range(count):
            vector = torch.from_numpy(np.load(folder / f"made-{step}-{rank}-of-{count}.npy"))
            made += vector / count
            largest = max(largest, float(vector.abs().max()))
    error = float((saved["parameters"].double() - pending - start + made).abs().max())
    # A step adds P payloads, divides, subtracts, and adds the gradient to what is left, of at most STEPS gradients.
    scale = float(start.abs().max()) + STEPS * largest
    return error, STEPS * (max(counts.values()) + 3) * float(torch.finfo(torch.float32).eps) * scale
