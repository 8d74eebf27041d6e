"""Distributed training, one worker per process, under torchrun: gloo on CPUs, NCCL on GPUs.

`torchrun --nproc-per-node 4 -m sparsync.experiments.train --run-name fnn3_top_k --steps 200 --output FILE`
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import timedelta

import torch
import torch.distributed as dist

from sparsync.experiments import launcher
from sparsync.experiments.checkpoints.keeper import open_keeper
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.command import (
    Command,
    exit_on_bad_input,
    output_held,
    read_command,
    say_result,
    step_progress,
)
from sparsync.experiments.training.averager import Averager, ranks_unlike_the_first
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.groups import join, own_device
from sparsync.experiments.training.loop import TrainingResult, run_training
from sparsync.experiments.training.record import training_record
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.slices import SlicedAverager, shares
from sparsync.verify.tools.provenance import write_json


def train(command: Command) -> None:
    """Train this process's share of the run; rank 0 writes the result.

    Raises:
        ValueError: `--workers` is less than the number of processes, settings differ between ranks, a rank has no GPU
            where others have, another process writes the same output, or see `load_dataset` and `run_training`.
        FloatingPointError: see `run_training`.
        ExchangeError: not all ranks have come in time, or see `GroupAverager`.
        OSError: a checkpoint or the result cannot be written, or the launcher has ended.
    """
    rank, process_count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    worker_count = command.settings.workers or process_count
    local_ranks = list(shares(worker_count, process_count)[rank])
    run = replace(command.settings, workers=worker_count)
    # Before any arithmetic, since sums depend on it.
    torch.set_num_threads(run.threads)
    data = load_dataset(run.data, pixels=run.pixels)
    device = own_device()
    with _joined(process_count, device, command) as processes, ExitStack() as stack:
        require_equal_settings(run, data.sha256, processes.averager)
        shown = stack.enter_context(step_progress(run.steps, visible=rank == 0))
        processes.together(lambda: stack.enter_context(output_held(command)) if rank == 0 else None)
        keeper = stack.enter_context(open_keeper(command.keeping, processes))

        def advance() -> None:
            require_launcher()
            shown()

        require_launcher()
        result: TrainingResult = run_training(
            run,
            data,
            worker_count=worker_count,
            local_ranks=local_ranks,
            averager=_averager(run, process_count, device, command),
            device=device,
            advance=advance,
            keeper=keeper,
        )
        if rank == 0:
            record = training_record(command.run, result, process_count=process_count)
            require_launcher()
            write_json(command.output, record)
            say_result(command, result)


def require_equal_settings(run: Run, data_sha256: str, averager: Averager) -> None:
    """All ranks train the same run on the same data, or none does.

    Args:
        run: the settings of this process.
        data_sha256: digest of its data.
        averager: how processes meet, each with one number.

    Raises:
        ValueError: on every rank, if one was started with other settings or data than rank 0; what differs is named
            with this rank's value.
    """
    settings = {**asdict(run), "data_sha256": data_sha256}

    def ranks_unlike(value: object) -> list[int]:
        return ranks_unlike_the_first(value, averager)

    ranks = ranks_unlike(settings)
    if not ranks:
        return
    said = f"ranks {ranks} were started with other settings or data than rank 0"
    # Every rank has to ask equally often, and another version may have other fields.
    if ranks_unlike(list(settings)):
        raise ValueError(f"{said}, by another version of sparsync")
    different = [name for name, value in settings.items() if ranks_unlike(value)]
    raise ValueError(f"{said}: here {', '.join(f'{name} is {settings[name]!r}' for name in different)}")


def require_launcher() -> None:
    """Refuse to go on once torchrun's agent is gone: another may have started the run anew, and write its result.

    Raises:
        ProcessLookupError: the agent that started this process has ended.
    """
    if "TORCHELASTIC_RUN_ID" in os.environ and os.getppid() != launcher():
        raise ProcessLookupError(f"process {launcher()}, which launched this rank, has ended; no result is written")


@contextmanager
def _joined(process_count: int, device: torch.device, command: Command) -> Iterator[Processes]:
    """Join the process group for as long as the training lasts; a lone process needs none.

    A rank that fails leaves the group only as its process ends, when its error is said: torchrun ends it, whatever it
    was about to say, as soon as a peer has failed for missing it.
    """
    if process_count == 1:
        yield Processes()
        return
    join(process_count, device, command.join_seconds)
    seconds = command.patience_seconds + command.disk_seconds
    group = dist.new_group(timeout=timedelta(seconds=seconds))
    averager = GroupAverager("dense", device=device, group=group, timeout_seconds=seconds)
    yield Processes(dist.get_rank(), process_count, averager, group)
    dist.destroy_process_group()


def _averager(run: Run, process_count: int, device: torch.device, command: Command) -> Averager:
    """How the workers of this process meet all others; with a fixed number of them, in the same bits wherever they are.

    Raises:
        ValueError: see `GroupAverager` and `SlicedAverager`.
    """
    nodes, seconds = run.node_size, command.timeout_seconds
    worker_count = command.settings.workers
    if process_count == 1:
        return LocalAverager(run.collective, node_size=nodes)
    if worker_count in (None, process_count):
        order = run.rank_order or worker_count is not None
        return GroupAverager(run.collective, rank_order=order, node_size=nodes, device=device, timeout_seconds=seconds)
    return SlicedAverager(
        run.collective, worker_count=worker_count, node_size=nodes, device=device, timeout_seconds=seconds
    )


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        train(read_command("torchrun -m sparsync.experiments.train", "Distributed training; start it with torchrun."))


if __name__ == "__main__":
    main()
