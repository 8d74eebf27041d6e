"""A step follows the schedules of its run and is the same on every rank, against torch's own optimiser and by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import nn

from sparsync.experiments.averaging.messages import Average
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.feedback import StepLocation
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.descent import MomentumDescent
from sparsync.experiments.training.models import MODELS, FlatModel
from sparsync.experiments.training.roads import Worker
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.worker import Replica, step
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS

FEATURES, CLASSES = 5, 3
# Two workers with four examples each: three steps an epoch, and two examples left over.
RUN = Run(
    selector="keep_all", collective="dense", model="deep0", batch_size=4, steps=9, evaluate_every=4, workers=2, seed=3
)
STEPS_PER_EPOCH = 3


def few_examples() -> Dataset:
    stream = torch.Generator().manual_seed(11)
    return Dataset(
        name="few",
        train_images=torch.randn(26, FEATURES, generator=stream),
        train_labels=torch.randint(CLASSES, (26,), generator=stream),
        test_images=torch.randn(31, FEATURES, generator=stream),
        test_labels=torch.randint(CLASSES, (31,), generator=stream),
        class_count=CLASSES,
        image_shape=(1, 1, FEATURES),
        sha256="few",
    )


def new_model(run: Run) -> FlatModel:
    return FlatModel(run.model, feature_count=FEATURES, class_count=CLASSES, seed=run.seed)


def test_the_target_count_follows_the_epochs() -> None:
    run = replace(RUN, selector="top_k", collective="sparse", density=1 / 18, density_warmup=(1.0, 0.5))
    counts = [facts.target_count for facts in simulate(run, few_examples()).steps]
    assert counts == [18, 18, 18, 9, 9, 9, 1, 1, 1]


def test_counts_are_of_what_was_selected_not_of_what_was_asked_for() -> None:
    facts = simulate(replace(RUN, density=1 / 18, steps=1), few_examples()).steps[0]
    assert (facts.target_count, facts.selected_counts) == (1, [18, 18])


@pytest.mark.parametrize("step_location", ["inside", "outside"])
def test_momentum_decay_and_warm_up_are_those_of_torch_on_the_mean_gradient(step_location: StepLocation) -> None:
    """torch multiplies what momentum remembers by the step size of now, as outside does; inside has no momentum."""
    momentum = 0.9 if step_location == "outside" else 0.0
    run = replace(
        RUN, step_size=0.5, step_size_warmup_epochs=2, step_location=step_location, momentum=momentum, weight_decay=0.1
    )
    data = few_examples()
    ours = simulate(run, data).parameters.double()
    # Fewer than a hundred float32 roundings of numbers below 4 a step, amplified at most tenfold by momentum.
    assert float((ours - _by_torch(run, data)).abs().max()) < 9 * 100 * 4 * 10 * 2.0**-24


def _by_torch(run: Run, data: Dataset) -> torch.Tensor:
    network = MODELS[run.model](FEATURES, CLASSES).double()
    nn.utils.vector_to_parameters(new_model(run).parameters.double(), network.parameters())
    optimiser = torch.optim.SGD(network.parameters(), momentum=run.momentum, weight_decay=run.weight_decay)
    together = BatchSchedule(len(data.train_labels), worker_count=1, batch_size=8, seed=run.seed)
    for index in range(run.steps):
        examples = together.batch(index, 0)
        optimiser.param_groups[0]["lr"] = run.step_size * min(1.0, (index + 1) / (2 * STEPS_PER_EPOCH))
        optimiser.zero_grad()
        outputs = network(data.train_images[examples].double())
        nn.functional.cross_entropy(outputs, data.train_labels[examples]).backward()
        optimiser.step()
    return nn.utils.parameters_to_vector(network.parameters()).detach()


def test_accuracy_is_measured_on_the_test_images() -> None:
    data, run = few_examples(), replace(RUN, step_size=1.0)
    result, model = simulate(run, data), new_model(run)
    before = model.accuracy(data.test_images, data.test_labels)
    assert before != model.accuracy(data.train_images, data.train_labels)
    model.parameters.copy_(result.parameters)
    after = model.accuracy(data.test_images, data.test_labels)
    assert after != model.accuracy(data.train_images, data.train_labels)
    assert (result.evaluations[0].test_accuracy, result.test_accuracy) == (before, after)


def test_a_simulation_that_names_no_number_of_workers_has_four_and_says_so() -> None:
    result = simulate(replace(RUN, workers=None, steps=1), few_examples())
    assert (result.run.workers, len(result.steps[0].selected_counts)) == (4, 4)


@pytest.mark.parametrize("place", [0, -1])
def test_every_parameter_changes_the_digest(place: int) -> None:
    result = simulate(replace(RUN, model="fnn2", steps=1), few_examples())
    parameters = result.parameters.clone()
    assert replace(result, parameters=parameters).parameters_sha256 == result.parameters_sha256
    parameters[place] += 1.0
    assert replace(result, parameters=parameters).parameters_sha256 != result.parameters_sha256


class OneOfTwoRanks(Averager):
    """The other rank's loss is what it is made with; nobody may send payloads."""

    def __init__(self, other: float) -> None:
        self._other = other

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        return [*map(list, rows), [self._other, 1.0, 1.0]]

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        raise AssertionError(f"{len(payloads)} payloads sent")

    def mean(self, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        raise AssertionError(f"{len(vectors)} vectors sent")


@pytest.mark.parametrize("other", [math.nan, math.inf])
def test_a_loss_of_another_rank_that_is_not_finite_ends_this_one_before_anything_is_sent(other: float) -> None:
    data, model = few_examples(), new_model(RUN)
    schedule = BatchSchedule(len(data.train_labels), worker_count=2, batch_size=4, seed=0)
    descent = MomentumDescent(model.parameters, momentum=0.0, weight_decay=0.0, step_location="inside")
    memory = Ef14().memory(model.parameters.numel(), dtype=torch.float32, device="cpu")
    worker = Worker(0, Ef14(), memory, torch.Generator(), RUN.selector, SELECTORS[RUN.selector])
    with pytest.raises(FloatingPointError, match=f"step 2: loss or gradient of worker 1 is not finite .{other}"):
        step(2, Replica(RUN, data, schedule, model, descent), [worker], OneOfTwoRanks(other))
