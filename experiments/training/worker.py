"""One step of distributed SGD with error feedback, from gradients to the update, in one function.

gradient [d] → `Worker.send` → `SparsePayload` (values [m], indices [m], d) → mean [d] → `deliver` → update.
A process may hold one worker (torchrun) or all of them (simulation): `averager` is the only difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.descent import Descent
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.roads import Sent, Worker, captured_share
from sparsync.experiments.training.runs import Run


@dataclass(eq=False)
class Replica:
    """The parameters that this process holds, and what turns examples into updates.

    Args:
        run: the settings.
        data: training and test examples.
        schedule: which examples each worker sees.
        model: parameters and gradient, one vector each.
        descent: the update rule with its momentum.
    """

    run: Run
    data: Dataset
    schedule: BatchSchedule
    model: FlatModel
    descent: Descent


@dataclass(frozen=True)
class StepFacts:
    """What a step measured; lists hold one number per worker of the whole run, in rank order.

    Args:
        target_count: k.
        loss: mean over the workers of their batch's cross-entropy, before the update.
        selected_counts: m of each worker's payload.
        deltas: 1 − ‖u − C(u)‖²/‖u‖² of each worker, 1 where u = 0.
        sent_bytes: what all workers together handed to the collective.
    """

    target_count: int
    loss: float
    selected_counts: list[int]
    deltas: list[float]
    sent_bytes: int


def step(index: int, replica: Replica, workers: Sequence[Worker], averager: Averager) -> tuple[StepFacts, list[Sent]]:
    """Advance the replica by one update and the workers by one memory.

    Args:
        index: the step, from 0.
        replica: changed in place.
        workers: those that live in this process, in rank order; changed in place.
        averager: how they meet the others.

    Returns:
        What was measured, and what each local worker sent, with what it left.

    Raises:
        FloatingPointError: a loss or corrected gradient is not finite; on every rank alike, before anything is sent.
    """
    run, schedule = replica.run, replica.schedule
    step_size = run.step_size_at(index, schedule.epochs(index + 1))
    target_count = run.target_count(replica.model.parameters.numel(), schedule.position(index).epoch)
    rows, sent = [], []
    for worker in workers:
        examples = schedule.batch(index, worker.rank)
        images, labels = replica.data.train_images[examples], replica.data.train_labels[examples]
        # One model serves all workers of a process, each of which has seen batches of its own.
        replica.model.statistics.copy_(worker.statistics)
        loss, gradient = replica.model.loss_and_gradient(images, labels)
        worker.statistics.copy_(replica.model.statistics)
        made = worker.send(gradient, step_size, target_count)
        if made is None:
            rows.append((math.nan, 0.0, 0.0))
        else:
            rows.append((loss, float(made.payload.count), captured_share(made)))
            sent.append(made)
    # One call for all three: each waits for a message from everybody.
    losses, counts, deltas = map(list, zip(*averager.gather_rows(rows), strict=True))
    _require_finite(index, losses)
    averaged = averager.average([made.payload for made in sent])
    delivered = [worker.feedback.deliver(worker.memory, averaged.mean) for worker in workers]
    replica.descent.apply(delivered[0], step_size)
    facts = StepFacts(
        target_count=target_count,
        loss=math.fsum(losses) / len(losses),
        selected_counts=[int(count) for count in counts],
        deltas=deltas,
        sent_bytes=averaged.sent_bytes,
    )
    return facts, sent


def _require_finite(index: int, losses: list[float]) -> None:
    for rank, loss in enumerate(losses):
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"step {index}: loss or gradient of worker {rank} is not finite ({loss}); try a smaller step size"
            )
