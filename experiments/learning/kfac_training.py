"""What does K-FAC gain over plain descent? A network trained by either on any number of processes, and the system.

Every worker has its rank, batches and running statistics wherever it lives, so a run has the same bits on any number
of processes. Descent without K-FAC takes the same road, gradients averaged as they are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, Literal

from torch import Tensor

from sparsync.experiments.learning.kfac import Kfac
from sparsync.experiments.learning.kfac_sending import Sender
from sparsync.experiments.learning.kfac_settings import KfacSettings, Scheme, Sending
from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.training.averager import VectorAverager
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset, kind_of, load_dataset
from sparsync.experiments.training.descent import Descent, OptimiserName, new_descent
from sparsync.experiments.training.models import FlatModel, require_pair
from sparsync.experiments.training.slices import shares

Method = Literal["kfac", "sgd", "adamw"]
METHODS: tuple[Method, ...] = ("kfac", "sgd", "adamw")


@dataclass(frozen=True)
class KfacRun:
    """A training run."""

    method: Method = "kfac"
    """kfac preconditions the gradients of sgd; sgd and adamw leave them as they are"""
    model: str = "resnet20"
    """key of MODELS"""
    data: str = "embedded"
    """source of the examples, see load_dataset"""
    workers: int = 4
    """over all processes, of which there may be fewer; the bits depend on this number alone"""
    batch_size: int = 8
    """examples per worker and step"""
    steps: int = 120
    """updates"""
    step_size: float = 0.05
    """at the first step; it falls in a straight line to zero behind the last"""
    momentum: float = 0.9
    """of sgd, also behind kfac; of the first moment of adamw"""
    weight_decay: float = 0.0
    """added to the gradient, or by adamw taken from the parameters"""
    scheme: Scheme = "everyone"
    """who preconditions: everyone after decompositions are sent, or the owners of layers, who send at every step"""
    factor_period: int = 5
    """steps from one averaging of factors to the next"""
    decomposition_period: int = 20
    """steps from one decomposition to the next"""
    decay: float = 0.95
    """of the running means of factors"""
    damping: float = 0.003
    """gamma at the first step"""
    damping_end: float | None = None
    """gamma at the last step, by equal ratios; None keeps it"""
    clip: float = 0.001
    """kappa of the clipping of preconditioned gradients; 0 clips nothing"""
    density: float = 1.0
    """share of the gradient's entries that are sent"""
    factor_density: float = 1.0
    """share of the factors' entries that are sent"""
    selector: str = "top_k"
    """key of SELECTORS, for densities below 1"""
    feedback: str = "ef14"
    """key of FEEDBACKS: what becomes of what is not sent of gradients"""
    factor_feedback: str = "ef21"
    """the same of factors"""
    evaluate_every: int = 60
    """updates from one evaluation to the next; there is one behind the last"""
    test_limit: int | None = None
    """test examples that are used; None takes all"""
    seed: int = 0
    """names parameters, batches and draws"""

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            ValueError: a setting out of range; the message holds it.
        """
        require_pair(self.model, kind_of(self.data))
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        for name in ("workers", "batch_size", "steps", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.test_limit is not None and self.test_limit < 1:
            raise ValueError(f"test_limit must be at least 1, got {self.test_limit}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {self.momentum}")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay must be at least 0 and finite, got {self.weight_decay}")
        if self.clip < 0:
            raise ValueError(f"clip must be at least 0, got {self.clip}")
        for step in (0, self.steps - 1):
            self.preconditioner().at(step)

    def step_size_at(self, step: int) -> float:
        """η of a step, from 0."""
        return self.step_size * (1 - step / self.steps)

    def damping_at(self, step: int) -> float:
        """γ of a step, from 0."""
        if self.damping_end is None or self.steps == 1:
            return self.damping
        return float(self.damping * (self.damping_end / self.damping) ** (step / (self.steps - 1)))

    def gradients(self) -> Sending:
        """What is sent of gradients."""
        return Sending(self.density, self.selector, self.feedback)

    def preconditioner(self) -> KfacSettings:
        """What K-FAC does."""
        if self.damping_end is not None and not 0 < self.damping_end < math.inf:
            raise ValueError(f"damping_end must be positive and finite, got {self.damping_end}")
        return KfacSettings(
            scheme=self.scheme,
            factor_period=self.factor_period,
            decomposition_period=self.decomposition_period,
            decay=self.decay,
            damping=self.damping if self.damping_end is None else self.damping_at,
            clip=self.clip or None,
            step_size=self.step_size_at,
            gradients=self.gradients(),
            factors=Sending(self.factor_density, self.selector, self.factor_feedback),
            seed=self.seed,
        )


@dataclass(eq=False)
class _Training:
    """A run under way on this process.

    Args:
        run: settings.
        data: examples, on the device.
        model: the replica.
        descent: what moves it.
        schedule: batches.
        ranks: of the workers here.
        meeting: how the workers meet for what is measured.
        statistics: running means and variances of each worker here.
    """

    run: KfacRun
    data: Dataset
    model: FlatModel
    descent: Descent
    schedule: BatchSchedule
    ranks: range
    meeting: VectorAverager
    statistics: list[Tensor]
    losses: list[float] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    def backward(self, step: int, after_each: Callable[[], None]) -> None:
        """The gradient of each worker here in turn."""
        found = []
        for rank, statistics in zip(self.ranks, self.statistics, strict=True):
            examples = self.schedule.batch(step, rank)
            self.model.statistics.copy_(statistics)
            loss = self.model.backward(self.data.train_images[examples], self.data.train_labels[examples])
            statistics.copy_(self.model.statistics)
            found.append(float(loss))
            after_each()
        losses = self.meeting.gather(found)
        if unfit := [rank for rank, loss in enumerate(losses) if not math.isfinite(loss)]:
            raise FloatingPointError(f"step {step}: the loss of workers {unfit} is not finite; try a smaller step size")
        self.losses.append(math.fsum(losses) / len(losses))

    def evaluate(self, step_count: int) -> None:
        """Accuracy and loss on the test examples; layers that normalise take the mean of all workers' statistics."""
        if self.model.statistics.numel():
            self.model.statistics.copy_(self.meeting.mean(self.statistics))
        accuracy, loss = self.model.quality(self.data.test_images, self.data.test_labels)
        self.evaluations.append({"step_count": step_count, "test_accuracy": accuracy, "test_loss": loss})


def train(run: KfacRun, party: Party, data: Dataset | None = None) -> dict[str, Any]:
    """Train on this process's workers; what was measured, alike on all processes.

    Args:
        run: settings.
        party: which process this is.
        data: examples; None loads `run.data`.

    Raises:
        ValueError: fewer workers than processes, or more examples a step than there are.
        FloatingPointError: it diverged.
        ExchangeError: another process is lost.
    """
    training = _begun(run, party, load_dataset(run.data) if data is None else data)
    new_averager = partial(party.averager, worker_count=run.workers)
    ranks, model = training.ranks, training.model
    step: Callable[[], None]
    collect: Callable[[], None]
    if run.method == "kfac":
        kfac = Kfac(
            model.network, run.preconditioner(), new_averager=new_averager, worker_count=run.workers, ranks=ranks
        )
        step, sent, collect = kfac.step, kfac.sent_bytes, kfac.collect
    else:
        kfac = None
        plain = _Plain(
            model, Sender(run.gradients(), new_averager(run.gradients().collective), "gradients", ranks, seed=run.seed)
        )
        step, sent, collect = plain.step, plain.sent_bytes, plain.collect
    began = perf_counter()
    for index in range(run.steps):
        training.backward(index, collect)
        step()
        training.descent.apply(model.gradient, run.step_size_at(index))
        if (index + 1) % run.evaluate_every == 0 or index + 1 == run.steps:
            training.evaluate(index + 1)
        party.advance()
    return {
        "loss": training.losses,
        "evaluations": training.evaluations,
        "sent_bytes": dict(sent),
        "dimension": model.parameters.numel(),
        "layer_sizes": [] if kfac is None else kfac.layer_sizes,
        "plain_parameters": sorted({} if kfac is None else kfac.plain),
        "parameters_sha256": hashlib.sha256(model.parameters.cpu().numpy().tobytes()).hexdigest(),
        "wall_seconds": perf_counter() - began,
    }


@dataclass(eq=False)
class _Plain:
    """Averages gradients and does nothing else to them."""

    model: FlatModel
    sender: Sender
    taken: list[Tensor] = field(default_factory=list)
    sent_bytes: dict[str, int] = field(default_factory=lambda: {"gradients": 0})

    def collect(self) -> None:
        self.taken.append(self.model.gradient.clone())

    def step(self) -> None:
        average = self.sender.mean(self.taken)
        self.taken = []
        self.sent_bytes["gradients"] += average.sent_bytes
        self.model.gradient.copy_(average.mean)


def _begun(run: KfacRun, party: Party, data: Dataset) -> _Training:
    device = party.device
    model = FlatModel(
        run.model,
        feature_count=data.feature_count,
        class_count=data.class_count,
        seed=run.seed,
        device=device,
        image_shape=data.image_shape,
    )
    limits = {"train_images": None, "train_labels": None, "test_images": run.test_limit, "test_labels": run.test_limit}
    taken = replace(data, **{name: getattr(data, name)[:limit].to(device) for name, limit in limits.items()})
    ranks = shares(run.workers, party.size)[party.rank]
    optimiser: OptimiserName = "adamw" if run.method == "adamw" else "sgd"
    return _Training(
        run=run,
        data=taken,
        model=model,
        descent=new_descent(
            optimiser,
            model.parameters,
            momentum=run.momentum,
            weight_decay=run.weight_decay,
            step_location="outside",
        ),
        schedule=BatchSchedule(
            len(data.train_labels), worker_count=run.workers, batch_size=run.batch_size, seed=run.seed
        ),
        ranks=ranks,
        meeting=party.averager("dense", worker_count=run.workers),
        statistics=[model.statistics.clone() for _ in ranks],
    )


def _line(result: dict[str, Any]) -> str:
    last, sent = result["evaluations"][-1], sum(result["sent_bytes"].values()) / 1e6
    return f"test accuracy {last['test_accuracy']:.3f} after {last['step_count']} updates, {sent:.1f} MB sent"


SYSTEM = System(
    summary="preconditions gradients by Kronecker-factored curvature",
    settings=KfacRun,
    run=train,
    line=_line,
    step_count=lambda run: run.steps,
)
"""The system as the command runs it."""
