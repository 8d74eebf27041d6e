"""One process shows what n workers do: deterministically, and equal to algorithms known from elsewhere."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.payloads import mean_in_rank_order
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS, new_selector
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.models import MODELS, FlatModel
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.band_search import count_band
from sparsync.kernels.selection import SELECTORS
from tests.support.slow_cases import slow_except

STEPS = 8


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("embedded", pixels="unit")


def short(name: str) -> Run:
    return replace(RUNS[name], steps=STEPS, evaluate_every=5)


@cache
def simulated(name: str, steps: int = STEPS) -> TrainingResult:
    """A run that several tests look at; nobody changes it."""
    return simulate(replace(short(name), steps=steps), load_dataset("embedded", pixels="unit"))


@pytest.mark.parametrize("name", slow_except({name for name in RUNS if not name.endswith("_paper")}, RUNS))
def test_the_same_run_twice_gives_the_same_bits(name: str, data: Dataset) -> None:
    first, second = simulated(name), simulate(short(name), data)
    assert torch.equal(first.parameters, second.parameters)
    assert first.parameters_sha256 == second.parameters_sha256
    assert first.steps == second.steps


def test_another_seed_gives_another_run(data: Dataset) -> None:
    assert short("fnn3_top_k").seed != 1
    other = simulate(replace(short("fnn3_top_k"), seed=1), data)
    assert other.parameters_sha256 != simulated("fnn3_top_k").parameters_sha256


def test_dense_training_is_sgd_on_the_mean_loss_of_all_workers(data: Dataset) -> None:
    """Against torch's own SGD on one batch of 4 × 32, in float64 so that only roundings differ."""
    run = replace(short("fnn3_dense"), workers=4)
    theirs = _plain_sgd(run, data)
    ours = simulate(run, data).parameters.double()
    # Float32 steps of size 0.1 round gradients of norm below 10 at 2⁻²⁴ a handful of times per sum of up to 784 terms;
    # a wrong average would be off by the size of a step, 1e-2.
    assert float((ours - theirs).abs().max()) < 1e-5


def _plain_sgd(run: Run, data: Dataset) -> torch.Tensor:
    network = MODELS[run.model](data.feature_count, data.class_count).double()
    start = FlatModel(run.model, feature_count=data.feature_count, class_count=data.class_count, seed=run.seed)
    nn.utils.vector_to_parameters(start.parameters.double(), network.parameters())
    optimiser = torch.optim.SGD(network.parameters(), lr=run.step_size)
    together = BatchSchedule(len(data.train_labels), worker_count=1, batch_size=4 * run.batch_size, seed=run.seed)
    for index in range(run.steps):
        examples = together.batch(index, 0)
        optimiser.zero_grad()
        logits = network(data.train_images[examples].double())
        nn.functional.cross_entropy(logits, data.train_labels[examples]).backward()
        optimiser.step()
    return nn.utils.parameters_to_vector(network.parameters()).detach()


def test_the_recorded_loss_is_the_mean_over_the_workers(data: Dataset) -> None:
    run = short("fnn3_top_k")
    model = FlatModel(run.model, feature_count=data.feature_count, class_count=data.class_count, seed=run.seed)
    schedule = BatchSchedule(len(data.train_labels), worker_count=4, batch_size=run.batch_size, seed=run.seed)
    batches = [schedule.batch(0, rank) for rank in range(4)]
    losses = [model.loss_and_gradient(data.train_images[b], data.train_labels[b])[0] for b in batches]
    assert simulated("fnn3_top_k").steps[0].loss == math.fsum(losses) / 4
    assert len(set(losses)) == 4


@pytest.mark.parametrize("name", ["top_k", "gaussian_k"])
def test_density_one_is_dense_training_bit_for_bit(name: str, data: Dataset) -> None:
    dense = simulated("fnn3_dense")
    everything = simulate(replace(short(f"fnn3_{name}"), density=1.0), data)
    assert torch.equal(everything.parameters, dense.parameters)


def test_gaussian_k_keeps_its_count_in_the_band_on_every_step_of_every_worker() -> None:
    result = simulated("fnn3_gaussian_k", steps=60)
    low, high = count_band(199)
    counts = [count for facts in result.steps for count in facts.selected_counts]
    assert len(counts) == 60 * 4
    assert all(low <= count <= high for count in counts)


def test_measured_delta_of_top_k_is_at_least_the_density_and_of_dense_is_one() -> None:
    top_k = simulated("fnn3_top_k")
    assert all(199 / top_k.dimension <= delta < 1 for facts in top_k.steps for delta in facts.deltas)
    assert {delta for facts in simulated("fnn3_dense").steps for delta in facts.deltas} == {1.0}


def test_sparse_training_sends_what_its_counts_say() -> None:
    top_k = simulated("fnn3_top_k")
    assert {facts.sent_bytes for facts in top_k.steps} == {4 * (ENVELOPE_BYTES + 199 * 8)}
    assert {facts.sent_bytes for facts in simulated("fnn3_dense").steps} == {4 * (ENVELOPE_BYTES + 4 * top_k.dimension)}


def test_accuracy_is_measured_before_every_so_often_and_after() -> None:
    result = simulated("fnn3_top_k")
    assert [evaluation.step_count for evaluation in result.evaluations] == [0, 5, STEPS]
    assert result.test_accuracy == result.evaluations[-1].test_accuracy


def test_learning_happens() -> None:
    """60 steps lift every sound method well above the 10 % of a guess."""
    names = ("fnn3_dense", "fnn3_top_k", "fnn3_gaussian_k")
    accuracies = {name: simulated(name, steps=60).test_accuracy for name in names}
    assert min(accuracies.values()) > 0.4, accuracies


def test_observers_see_every_workers_corrected_gradient(data: Dataset) -> None:
    seen: list[tuple[int, int]] = []
    simulate(short("fnn3_top_k"), data, lambda step_count, corrected: seen.append((step_count, len(corrected))))
    assert seen == [(step_count, 4) for step_count in range(1, STEPS + 1)]


@pytest.mark.parametrize("name", ["fnn3_dense", "fnn3_gaussian_k"])
def test_a_diverging_run_stops_at_the_first_non_finite_loss(name: str, data: Dataset) -> None:
    result = simulate(replace(short(name), step_size=1e30), data)
    assert re.match(r"step \d+: loss or gradient of worker \d is not finite", result.divergence)
    assert result.diverged_at_step == len(result.steps) < result.run.steps
    assert all(math.isfinite(facts.loss) for facts in result.steps)
    assert result.test_accuracy == result.evaluations[-1].test_accuracy


def test_an_infinite_gradient_of_one_worker_ends_the_run_though_every_loss_is_finite(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []
    healthy = FlatModel.loss_and_gradient

    def third_call_overflows(
        model: FlatModel, images: torch.Tensor, labels: torch.Tensor
    ) -> tuple[float, torch.Tensor]:
        loss, gradient = healthy(model, images, labels)
        calls.append(loss)
        if len(calls) == 3:
            gradient[17] = math.inf
        return loss, gradient

    monkeypatch.setattr(FlatModel, "loss_and_gradient", third_call_overflows)
    result = simulate(short("fnn3_top_k"), data)
    assert result.divergence.startswith("step 0: loss or gradient of worker 2 is not finite")
    assert (result.diverged_at_step, result.steps) == (0, [])
    assert all(map(math.isfinite, calls))


def test_a_run_whose_last_update_diverges_has_the_accuracy_of_before(data: Dataset) -> None:
    result = simulate(replace(RUNS["fnn3_dense"], steps=1, step_size=1e30), data)
    assert "outputs are not finite" in result.divergence
    assert (result.diverged_at_step, len(result.steps), len(result.evaluations)) == (1, 1, 1)


@pytest.mark.parametrize("name", [*SELECTORS, *ADAPTIVE_SELECTORS])
def test_every_step_corrects_with_exactly_what_the_last_one_kept(name: str, data: Dataset) -> None:
    """u_{t+1} = (u_t − C(u_t)) + ηg_{t+1} bit for bit, with C and g computed again outside the training loop."""
    # More than the five steps after which the adaptive rule first changes.
    run = replace(RUNS["fnn3_top_k"], selector=name, steps=7, workers=2, seed=3)
    seen = _corrected_by_step(run, data)
    model = FlatModel(run.model, feature_count=data.feature_count, class_count=data.class_count, seed=run.seed)
    schedule = BatchSchedule(len(data.train_labels), worker_count=2, batch_size=run.batch_size, seed=run.seed)
    streams = [random_stream(run.seed, "selection", rank) for rank in range(2)]
    select = [new_selector(name) for _ in range(2)]
    residuals = [torch.zeros_like(model.parameters) for _ in range(2)]
    for index, corrected in enumerate(seen):
        payloads = []
        for rank in range(2):
            batch = schedule.batch(index, rank)
            _, gradient = model.loss_and_gradient(data.train_images[batch], data.train_labels[batch])
            assert torch.equal(corrected[rank], residuals[rank].add(run.step_size * gradient))
            payload = select[rank](corrected[rank], run.target_count(gradient.numel(), 0), streams[rank])
            residuals[rank] = corrected[rank] - payload.dense()
            payloads.append(payload)
        model.parameters.sub_(mean_in_rank_order(payloads))


def _corrected_by_step(run: Run, data: Dataset) -> list[list[torch.Tensor]]:
    seen: list[list[torch.Tensor]] = []
    simulate(run, data, lambda _, corrected: seen.append(list(corrected)))
    return seen
