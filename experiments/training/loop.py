"""The training loop that `simulate.py` and `train.py` share, and what it returns.

`Run` and data → n steps of `worker.step` → `TrainingResult`, from which `record.py` writes the JSON.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import torch

from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.training.adaptive import new_selector
from sparsync.experiments.training.averager import Averager, ranks_unlike_the_first
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.descent import new_descent
from sparsync.experiments.training.models import FlatModel, require_pair
from sparsync.experiments.training.roads import Worker, takes_kernel
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.experiments.training.worker import Replica, StepFacts, step
from sparsync.kernels.native import SelectionState

Observer = Callable[[int, Sequence[torch.Tensor]], None]


@dataclass(frozen=True)
class Evaluation:
    """Test accuracy and mean cross-entropy after a number of updates; of text per token."""

    step_count: int
    test_accuracy: float
    test_loss: float


@dataclass(frozen=True)
class Attempt:
    """From a start, or from a checkpoint, until the end or until the processes were lost.

    Args:
        first_step: the number of updates that it began with.
        worker_count: n.
        step_count: of updates that were done when it ended; None if it goes on.
    """

    first_step: int
    worker_count: int
    step_count: int | None = None


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What a run measured.

    Args:
        run: its settings, the actual number of workers filled in.
        dimension: d.
        data_sha256: digest that names the data.
        train_count: number of training examples.
        test_count: of those that an evaluation takes; the accuracy is a multiple of one over their predictions.
        steps: one `StepFacts` per update.
        evaluations: before the first update, every `run.evaluate_every` updates, and after the last.
        parameters: [d], final.
        wall_seconds: of the loop, evaluations included, in all attempts, but for what was lost.
        attempts: one, or as many as the run was begun with or gone on with.
        diverged_at_step: the number of updates after which a loss, a gradient or an output on the test images was not
            finite, and the run ended. None for a run that went to its end.
        divergence: what was not finite, in words; empty likewise.
    """

    run: Run
    dimension: int
    data_sha256: str
    train_count: int
    test_count: int
    steps: list[StepFacts]
    evaluations: list[Evaluation]
    parameters: torch.Tensor
    wall_seconds: float
    attempts: list[Attempt]
    diverged_at_step: int | None = None
    divergence: str = ""

    @property
    def test_accuracy(self) -> float:
        """At the last evaluation, in [0, 1]: after the last update, or the last that was made before a divergence."""
        return self.evaluations[-1].test_accuracy

    @property
    def lost_steps(self) -> int:
        """Updates that were done again, since processes were lost after the last checkpoint."""
        return sum(max(0, (old.step_count or 0) - new.first_step) for old, new in pairwise(self.attempts))

    @property
    def parameters_sha256(self) -> str:
        """Digest of the final parameters' bytes: equal digests mean equal bits."""
        return _sha256(self.parameters)


@dataclass(eq=False)
class Training:
    """A run under way, of which this process holds some workers.

    Args:
        replica: the parameters, and what moves them.
        workers: those that live here, in rank order.
        averager: how they meet the others.
        steps: what each update so far measured, those of earlier attempts too.
        evaluations: likewise.
        attempts: of which the last is this one.
        past_seconds: of the loop, in earlier attempts.
        started: when the loop of this one began.
    """

    replica: Replica
    workers: Sequence[Worker]
    averager: Averager
    steps: list[StepFacts] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    past_seconds: float = 0.0
    started: float = field(default_factory=time.perf_counter)

    @property
    def worker_count(self) -> int:
        """Over all processes."""
        return self.replica.schedule.worker_count

    @property
    def wall_seconds(self) -> float:
        """Of the loop, earlier attempts included."""
        return self.past_seconds + time.perf_counter() - self.started


class Keeper(Protocol):
    """Keeps a run's state, so that another process can go on with it."""

    def begin(self, training: Training) -> None:
        """Before the first step: bring the run to where it was, if it was anywhere."""
        ...

    def after_step(self, training: Training) -> None:
        """After every update, with its measurements."""
        ...


class _KeepsNothing:
    def begin(self, training: Training) -> None:
        training.attempts.append(Attempt(0, training.worker_count))

    def after_step(self, training: Training) -> None:
        pass


def run_training(
    run: Run,
    data: Dataset,
    *,
    worker_count: int,
    local_ranks: Sequence[int],
    averager: Averager,
    device: torch.device | str = "cpu",
    observe: Observer | None = None,
    advance: Callable[[], object] = lambda: None,
    keeper: Keeper | None = None,
) -> TrainingResult:
    """Train `run.steps` updates with the workers `local_ranks` in this process; fewer if the run diverges.

    Args:
        run: settings.
        data: examples, on any device.
        worker_count: n, over all processes.
        local_ranks: the workers that live here, ascending.
        averager: how they meet the others.
        device: where parameters, residuals and examples live.
        observe: called after each update, and before the keeper, with the number of updates done and the corrected
            gradients [d] of the local workers, which are put together for it alone.
        advance: called after each update, before the keeper, and for those of earlier attempts at once.
        keeper: of the run's state; None keeps nothing.

    Raises:
        ValueError: a model that does not take such data; fewer training examples than one step needs; `run.kernel` is
            "native" and there is none; the keeper refuses; or, at an evaluation and on every rank alike, unequal
            parameters.
        FloatingPointError: already the first output on the test images is not finite.
    """
    training = new_training(
        run, data, worker_count=worker_count, local_ranks=local_ranks, averager=averager, device=device
    )
    keeper = _KeepsNothing() if keeper is None else keeper
    keeper.begin(training)
    training.started = time.perf_counter()
    for _ in training.steps:
        advance()
    if not training.evaluations:
        training.evaluations.append(_evaluation(0, training))
    return _result(training, _advance(training, keeper, observe, advance))


def new_training(
    run: Run,
    data: Dataset,
    *,
    worker_count: int,
    local_ranks: Sequence[int],
    averager: Averager,
    device: torch.device | str = "cpu",
) -> Training:
    """A run before its first step; see `run_training`."""
    replica = new_replica(run, _taken(run, data, device), worker_count=worker_count, device=device)
    return Training(replica, [new_worker(run, rank, replica.model) for rank in local_ranks], averager)


def _result(training: Training, divergence: tuple[int, str] | None) -> TrainingResult:
    replica = training.replica
    return TrainingResult(
        run=replica.run,
        dimension=replica.model.parameters.numel(),
        data_sha256=replica.data.sha256,
        train_count=len(replica.data.train_labels),
        test_count=len(replica.data.test_labels),
        steps=training.steps,
        evaluations=training.evaluations,
        attempts=training.attempts,
        parameters=replica.model.parameters,
        wall_seconds=training.wall_seconds,
        diverged_at_step=None if divergence is None else divergence[0],
        divergence="" if divergence is None else divergence[1],
    )


def _advance(
    training: Training, keeper: Keeper, observe: Observer | None, advance: Callable[[], object]
) -> tuple[int, str] | None:
    """Run all steps, noting facts and evaluations; where the run diverges, after how many updates, and how it did.

    Every rank meets the divergence in the same step: see `step`; and all evaluate the same model.
    """
    run, steps = training.replica.run, training.steps
    for index in range(len(steps), run.steps):
        try:
            facts, sent = step(index, training.replica, training.workers, training.averager)
            steps.append(facts)
            if (index + 1) % run.evaluate_every == 0 or index + 1 == run.steps:
                training.evaluations.append(_evaluation(index + 1, training))
        except FloatingPointError as error:
            return len(steps), str(error)
        if observe is not None:
            observe(index + 1, [made.corrected() for made in sent])
        advance()
        keeper.after_step(training)
    return None


def _evaluation(step_count: int, training: Training) -> Evaluation:
    """How good the one model is now that all ranks have; where their processors round alike, they have.

    Layers that normalise over the batch do it by the mean of all workers' statistics.
    """
    model, data = training.replica.model, training.replica.data
    workers, averager = training.workers, training.averager
    ranks = ranks_unlike_the_first(_sha256(model.parameters), averager, local_count=len(workers))
    if ranks:
        raise ValueError(
            f"after {step_count} updates ranks {ranks} have other parameters than rank 0: here PyTorch "
            f"{torch.__version__} runs its code for {torch.backends.cpu.get_cpu_capability()}; processors that differ "
            "need the same ATEN_CPU_CAPABILITY (avx2, say) and the same MKL_CBWR (COMPATIBLE) on all ranks"
        )
    if model.statistics.numel():
        model.statistics.copy_(averager.mean([worker.statistics for worker in workers]))
    return Evaluation(step_count, *model.quality(data.test_images, data.test_labels))


def _sha256(parameters: torch.Tensor) -> str:
    return hashlib.sha256(parameters.cpu().numpy().tobytes()).hexdigest()


def _taken(run: Run, data: Dataset, device: torch.device | str) -> Dataset:
    """On the device, and of the test examples those that the run's evaluations take."""
    limits = {"train_images": None, "train_labels": None, "test_images": run.test_limit, "test_labels": run.test_limit}
    return replace(data, **{name: getattr(data, name)[:limit].to(device) for name, limit in limits.items()})


def new_replica(run: Run, data: Dataset, *, worker_count: int, device: torch.device | str) -> Replica:
    """The parameters that a run begins with, and what trains them.

    Args:
        run: settings.
        data: examples, on the device.
        worker_count: n, over all processes.
        device: where parameters live.

    Raises:
        ValueError: a model that does not take such data, or fewer training examples than one step needs.
    """
    require_pair(run.model, data.kind)
    schedule = BatchSchedule(
        len(data.train_labels), worker_count=worker_count, batch_size=run.batch_size, seed=run.seed
    )
    model = FlatModel(
        run.model,
        feature_count=data.feature_count,
        class_count=data.class_count,
        seed=run.seed,
        device=device,
        image_shape=data.image_shape,
    )
    descent = new_descent(
        run.optimiser,
        model.parameters,
        momentum=run.momentum,
        weight_decay=run.weight_decay,
        step_location=run.step_location,
    )
    return Replica(run, data, schedule, model, descent)


def new_worker(run: Run, rank: int, model: FlatModel) -> Worker:
    """A worker that has sent nothing yet.

    Raises:
        ValueError: `run.kernel` is "native" and there is none.
    """
    vector = model.parameters
    feedback = new_feedback(run.feedback, run.feedback_settings, step_location=run.step_location)
    return Worker(
        rank=rank,
        feedback=feedback,
        memory=feedback.memory(vector.numel(), dtype=vector.dtype, device=vector.device),
        generator=random_stream(run.seed, "selection", rank),
        selector=run.selector,
        select=new_selector(run.selector),
        state=SelectionState() if takes_kernel(run.kernel, run.selector, feedback, vector.device) else None,
        values=run.values,
        statistics=model.statistics.clone(),
    )
