"""Distributed training with all workers in one process: the same steps, the same bits as `train.py`.

`python -m sparsync.experiments.simulate --run fnn3_top_k --workers 4 --output FILE`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from sparsync.experiments.checkpoints.keeper import open_keeper
from sparsync.experiments.command import (
    Command,
    exit_on_bad_input,
    output_held,
    read_command,
    say_result,
    step_progress,
)
from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import Keeper, Observer, TrainingResult, run_training
from sparsync.experiments.training.record import training_record
from sparsync.experiments.training.runs import Run
from sparsync.verify.tools.provenance import write_json

DEFAULT_WORKER_COUNT = 4


def simulate(
    run: Run,
    data: Dataset | None = None,
    observe: Observer | None = None,
    *,
    device: torch.device | str = "cpu",
    advance: Callable[[], object] = lambda: None,
    averager: Averager | None = None,
    keeper: Keeper | None = None,
) -> TrainingResult:
    """Train with `run.workers` workers (4 if None) in this process.

    Args:
        run: settings.
        data: examples; None loads `run.data`.
        observe: see `run_training`.
        device: where everything is computed.
        advance: called after each update.
        averager: how the workers meet, for what is none of `COLLECTIVES`; None is `run.collective`.
        keeper: see `run_training`.

    Raises:
        ValueError: see `load_dataset` and `run_training`.
        FloatingPointError: see `run_training`.
    """
    worker_count = run.workers or DEFAULT_WORKER_COUNT
    run = replace(run, workers=worker_count)
    # Before any arithmetic, since sums depend on it.
    torch.set_num_threads(run.threads)
    return run_training(
        run,
        load_dataset(run.data, pixels=run.pixels) if data is None else data,
        worker_count=worker_count,
        local_ranks=range(worker_count),
        averager=LocalAverager(run.collective, node_size=run.node_size) if averager is None else averager,
        device=device,
        observe=observe,
        advance=advance,
        keeper=keeper,
    )


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command: Command = read_command(
            "python -m sparsync.experiments.simulate", "Simulate distributed training in one process."
        )
        with (
            output_held(command),
            open_keeper(command.keeping) as keeper,
            step_progress(command.settings.steps, visible=True) as advance,
        ):
            result = simulate(command.settings, advance=advance, keeper=keeper)
            write_json(command.output, training_record(command.run, result, process_count=1))
        say_result(command, result)


if __name__ == "__main__":
    main()
