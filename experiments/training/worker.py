"""One step of distributed SGD with error feedback, from gradients to the update, in one function.

gradient [d] → corrected [d] → `SparsePayload` (values [m], indices [m], d) → residual → mean [d] → update.
A process may hold one worker (torchrun) or all of them (simulation): `averager` is the only difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.collectives import Averager
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.descent import MomentumDescent
from sparsync.experiments.training.feedback import ErrorFeedback
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.runs import Run
from sparsync.kernels.magnitude import is_finite
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import Selector


@dataclass(eq=False)
class Worker:
    """What one worker keeps between steps: its residual, its random stream, what its selector remembers.

    Args:
        rank: its place among all workers of the run, from 0.
        feedback: its residual.
        generator: where a random selector draws from.
        select: its own selector, see `new_selector`.
    """

    rank: int
    feedback: ErrorFeedback
    generator: torch.Generator
    select: Selector


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
    descent: MomentumDescent


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


def step(index: int, replica: Replica, workers: Sequence[Worker], averager: Averager) -> tuple[StepFacts, list[Tensor]]:
    """Advance the replica by one update and the workers by one residual.

    Args:
        index: the step, from 0.
        replica: changed in place.
        workers: those that live in this process, in rank order; changed in place.
        averager: how they meet the others.

    Returns:
        What was measured, and the corrected gradient [d] of each local worker.

    Raises:
        FloatingPointError: a loss or gradient is not finite; on every rank alike, before anything is sent.
    """
    run, epoch = replica.run, index // replica.schedule.steps_per_epoch
    step_size = run.step_size_at(index, replica.schedule.steps_per_epoch)
    target_count = run.target_count(replica.model.parameters.numel(), epoch)
    losses, corrected, payloads = [], [], []
    for worker in workers:
        examples = replica.schedule.batch(index, worker.rank)
        images, labels = replica.data.train_images[examples], replica.data.train_labels[examples]
        loss, gradient = replica.model.loss_and_gradient(images, labels)
        corrected.append(worker.feedback.correct(gradient, step_size))
        losses.append(loss if is_finite(corrected[-1]) else math.nan)
    all_losses = _require_finite(index, averager.gather(losses))
    for worker, vector in zip(workers, corrected, strict=True):
        payload = worker.select(vector, target_count, worker.generator)
        worker.feedback.store_residual(vector, payload)
        payloads.append(payload)
    averaged = averager.average(payloads)
    replica.descent.apply(averaged.mean, step_size)
    captured = [captured_share(vector, payload) for vector, payload in zip(corrected, payloads, strict=True)]
    facts = StepFacts(
        target_count=target_count,
        loss=math.fsum(all_losses) / len(all_losses),
        selected_counts=[int(count) for count in averager.gather([payload.count for payload in payloads])],
        deltas=averager.gather(captured),
        sent_bytes=averaged.sent_bytes,
    )
    return facts, corrected


def captured_share(corrected: Tensor, payload: SparsePayload) -> float:
    """The measured contraction δ = 1 − ‖u − C(u)‖²/‖u‖² = ‖C(u)‖²/‖u‖², in float64; 1 where u = 0."""
    total = float(torch.linalg.vector_norm(corrected, dtype=torch.float64)) ** 2
    kept = float(torch.linalg.vector_norm(payload.values, dtype=torch.float64)) ** 2
    # Rounding could put the share of a selection that lost nothing just above 1.
    return min(1.0, kept / total) if total else 1.0


def _require_finite(index: int, losses: list[float]) -> list[float]:
    for rank, loss in enumerate(losses):
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"step {index}: loss or gradient of worker {rank} is not finite ({loss}); try a smaller step size"
            )
    return losses
