"""One run of the study of densities: dense with the law of its gradients, or Top-k with the energies that give its lag.

Plain SGD or heavy ball with a constant step size; the memory holds gradients, so that a lag is in steps. Batches are
drawn anew at every step, with repetition: in an epoch without, a worker's noise would sum to little, and what the
residual holds of it would point against the gradients to come, by as much as the lag. Used by `density_costs.py`. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.studies.training.contestants import Setup
from sparsync.experiments.studies.training.lag_model import FOLD_COUNT, Gathering, GradientLaw, predicted_lag
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import Training, new_training
from sparsync.experiments.training.roads import Sent
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.experiments.training.worker import Replica, step
from sparsync.verify.tools.provenance import machine_name

STRETCH_COUNT = 4
"""Parts of a run, in each of which what lasts of the gradient is measured."""


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        setup: the network, and for how many steps it trains.
        step_size: constant.
        seed: names parameters, batches and draws.
        worker_count: n.
        evaluate_every: steps between test losses; they are counted from 0.
        density: of Top-k; None is dense.
        momentum: heavy ball, after aggregation.
        predicts: densities whose lags are predicted at the places.
        places: steps about which the law of the gradients is looked at.
        reach: steps before and after a place that are its path; a multiple of three.
        fold_size: gradients of each fold that are drawn at the place itself, at most.
    """

    setup: Setup
    step_size: float
    seed: int
    worker_count: int
    evaluate_every: int
    density: float | None = None
    momentum: float = 0.0
    predicts: tuple[float, ...] = ()
    places: tuple[int, ...] = ()
    reach: int = 0
    fold_size: int = 0


def run_case(case: Case, device: str = "cpu") -> dict[str, Any]:
    """Train once.

    Returns:
        `test_loss` at steps 0, `evaluate_every`, …; of every such interval `late`, the mean over its steps and all
        workers of ⟨e, g⟩ as the energies have it, and `persistent`, the mean of ⟨g_i, g_j⟩ over pairs of workers; of
        each quarter of the run `lasting`, the same of the workers' mean gradients; `predicted`: for each place, of
        gradients drawn at that `point` and of those of the `path` around it, the `energy` ‖m‖² and `noise` of one
        worker's gradient, and the `lags`; `diverged_at_step`, from which on nothing is listed, or null; `dimension`;
        and where it was computed.
    """
    torch.set_num_threads(1)
    training = _new(case, device)
    found: dict[str, Any] = {"test_loss": [_test_loss(training)], "predicted": []}
    found |= {"late": [], "persistent": [], "lasting": []}
    meter, watch, diverged = _Meter(training), _Watch(case, training), None
    for index in range(case.setup.steps):
        watch.look(index)
        try:
            _, sent = step(index, training.replica, training.workers, training.averager)
            watch.follow(index, sent)
            if case.density is not None:
                meter.read([made.corrected() for made in sent], [made.rest for made in sent])
            if (index + 1) % case.evaluate_every == 0:
                found["test_loss"].append(_test_loss(training))
        except FloatingPointError:
            diverged = index
            break
        if case.density is not None and (index + 1) % case.evaluate_every == 0:
            for name, value in meter.means().items():
                found[name].append(value)
        if case.density is not None and (index + 1) % (case.setup.steps // STRETCH_COUNT) == 0:
            found["lasting"].append(meter.lasting())
    found["predicted"] = watch.found
    dimension = training.replica.model.parameters.numel()
    return {**found, "diverged_at_step": diverged, "dimension": dimension, "computed_on": machine_name(device)}


class Drawn(BatchSchedule):
    """Batches drawn from all examples, independent of all before, by step and rank."""

    def batch(self, step: int, rank: int) -> Tensor:
        """Indices [batch_size] int64 of the examples that worker `rank` sees at `step` (from 0)."""
        stream = random_stream(self._seed, "independent batch", step, rank)
        return torch.randint(self._example_count, (self._batch_size,), generator=stream)


class _Watch:
    """Looks at the gradients of a run about its places.

    Args:
        case: the run.
        training: the same, under way.
    """

    def __init__(self, case: Case, training: Training) -> None:
        self._case, self._training = case, training
        self.found: list[dict[str, Any]] = []
        self._path: Gathering | None = None

    def look(self, index: int) -> None:
        """Before a step: at a place, draw gradients there; where its path begins or ends, begin or end to gather."""
        parameters = self._training.replica.model.parameters
        if self._path is not None and index - self._case.reach in self._case.places:
            self.found[-1]["path"] = self._said(self._path.law(), index)
            self._path = None
        if index + self._case.reach in self._case.places:
            self._path = Gathering(parameters.numel(), parameters.device)
        if index in self._case.places:
            law = _law(self._training.replica, self._case, index)
            self.found.append({"step": index, "point": self._said(law, index)})

    def follow(self, index: int, sent: Sequence[Sent]) -> None:
        """After a step of dense training: on a path, take the gradients, so that every fold has some of every step."""
        if self._path is not None:
            for rank, made in enumerate(sent):
                self._path.add(made.corrected(), (index + rank) % FOLD_COUNT)

    def _said(self, law: GradientLaw, index: int) -> dict[str, Any]:
        """What a law says; nothing of the lags where no part of the gradient is known to persist."""
        lags = [predicted_lag(law, density, index) if law.energy > 0 else None for density in self._case.predicts]
        return {"energy": law.energy, "noise": float(law.variance.sum()), "lags": lags}


class _Meter:
    """Sums of energies over the workers and steps since it was last asked.

    Args:
        training: whose workers.
    """

    def __init__(self, training: Training) -> None:
        self._kept = [torch.zeros_like(training.replica.model.parameters) for _ in training.workers]
        self._stretch = [torch.zeros_like(each, dtype=torch.float64) for each in self._kept]
        self._stretch_count = 0
        self._clear(self._kept_energy())

    def read(self, corrected: Sequence[Tensor], kept: Sequence[Tensor]) -> None:
        """Take a step's corrected gradients u [d] and what is kept of them, of every worker."""
        gradients = [u - e for u, e in zip(corrected, self._kept, strict=True)]
        self._created += math.fsum(map(_square_sum, gradients))
        self._sent += math.fsum(_square_sum(u) - _square_sum(e) for u, e in zip(corrected, kept, strict=True))
        self._persistent += _mean_product(gradients)
        for total, gradient in zip(self._stretch, gradients, strict=True):
            total += gradient
        self._stretch_count += 1
        self._kept = [e.clone() for e in kept]
        self._count += 1

    def means(self) -> dict[str, float]:
        """`late`, ⟨e, g⟩ by the balance of `feedback_energy`, and `persistent`: see `run_case`."""
        end = self._kept_energy()
        balance = (self._sent - self._created + end - self._start) / 2
        late, persistent = balance / (self._count * len(self._kept)), self._persistent / self._count
        self._clear(end)
        return {"late": late, "persistent": persistent}

    def lasting(self) -> float:
        """‖m‖² of the mean gradient since it was last asked."""
        found = _mean_product(self._stretch) / self._stretch_count**2
        self._stretch, self._stretch_count = [torch.zeros_like(each) for each in self._stretch], 0
        return found

    def _clear(self, start: float) -> None:
        self._start, self._count = start, 0
        self._sent = self._created = self._persistent = 0.0

    def _kept_energy(self) -> float:
        return math.fsum(_square_sum(e) for e in self._kept)


def _new(case: Case, device: str) -> Training:
    run = Run(
        selector="keep_all" if case.density is None else "top_k",
        collective="dense" if case.density is None else "sparse",
        model=case.setup.model,
        data=case.setup.data,
        density=1.0 if case.density is None else case.density,
        batch_size=case.setup.batch_size,
        step_size=case.step_size,
        step_location="outside",
        momentum=case.momentum,
        steps=case.setup.steps,
        test_limit=case.setup.test_limit,
        seed=case.seed,
        workers=case.worker_count,
    )
    training = new_training(
        run,
        _data(run.data),
        worker_count=case.worker_count,
        local_ranks=range(case.worker_count),
        averager=LocalAverager(run.collective),
        device=device,
    )
    training.replica.schedule = Drawn(
        len(training.replica.data.train_labels),
        worker_count=case.worker_count,
        batch_size=case.setup.batch_size,
        seed=case.seed,
    )
    return training


def _test_loss(training: Training) -> float:
    """The loss now; layers that normalise over the batch take the mean of all workers' statistics.

    Raises:
        FloatingPointError: an output is not finite.
    """
    replica = training.replica
    if replica.model.statistics.numel():
        replica.model.statistics.copy_(torch.stack([worker.statistics for worker in training.workers]).mean(dim=0))
    return replica.model.quality(replica.data.test_images, replica.data.test_labels)[1]


def _law(replica: Replica, case: Case, index: int) -> GradientLaw:
    """Of the batches of a pass over all examples, if the folds are large enough; else of as many, drawn anew."""
    example_count, batch_size = len(replica.data.train_labels), case.setup.batch_size
    stream = random_stream(case.seed, "law of gradients", index)
    fold_size = min(case.fold_size, example_count // batch_size // FOLD_COUNT)
    is_whole = FOLD_COUNT * fold_size * batch_size == example_count
    count = FOLD_COUNT * fold_size * batch_size
    order = (
        torch.randperm(example_count, generator=stream)
        if is_whole
        else torch.randint(example_count, (count,), generator=stream)
    )
    statistics, model = replica.model.statistics.clone(), replica.model
    gathering = Gathering(model.parameters.numel(), model.parameters.device)
    for place in range(FOLD_COUNT * fold_size):
        examples = order[place * batch_size : (place + 1) * batch_size]
        _, gradient = model.loss_and_gradient(replica.data.train_images[examples], replica.data.train_labels[examples])
        gathering.add(gradient, place % FOLD_COUNT)
    model.statistics.copy_(statistics)
    return gathering.law(is_whole=is_whole)


def _mean_product(vectors: Sequence[Tensor]) -> float:
    """The mean of ⟨g_i, g_j⟩ over all pairs i ≠ j: of independent ones with one mean, the energy of that."""
    energy = math.fsum(map(_square_sum, vectors))
    return (_square_sum(torch.stack(list(vectors)).sum(dim=0)) - energy) / (len(vectors) * (len(vectors) - 1))


def _square_sum(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector, dtype=torch.float64)) ** 2


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
