"""Late updates arrive when they are due, none is lost, and without delays the run is synchronous to the bit."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sparsync.experiments.engine.problems import Training
from sparsync.experiments.studies.staleness.stacked_networks import StackedTraining
from sparsync.experiments.studies.staleness.stale_descent import (
    OPTIMISERS,
    Delays,
    Gradients,
    StaleDescent,
    uniform_delays,
)
from sparsync.experiments.training.data import Dataset, load_dataset

CURVATURES = torch.tensor([1.0, 0.5, 0.1], dtype=torch.float64)
ONES = torch.ones(3, dtype=torch.float64)
ORIGIN = torch.zeros(1, dtype=torch.float64)


@pytest.fixture(scope="module")
def data() -> Dataset:
    whole = load_dataset("embedded")
    return replace(whole, train_images=whole.train_images[:400], train_labels=whole.train_labels[:400])


def fixed(delay: int, worker_count: int = 1) -> Delays:
    return lambda: [[delay] * worker_count] * worker_count


def slopes(*values: float) -> Gradients:
    """Worker w has the constant slope values[w]."""
    return lambda _step, _models: torch.tensor(values, dtype=torch.float64)[:, None]


def noisy(_step: int, models: Tensor) -> Tensor:
    """Of Σ h_i x_i²/2, with noise that depends on the step and the worker."""
    stream = torch.Generator().manual_seed(_step)
    return models * CURVATURES + torch.randn(models.shape, generator=stream, dtype=models.dtype)


def test_without_delays_a_network_trains_as_synchronous_sgd_does_to_the_bit(data: Dataset) -> None:
    count, step_size = 3, 0.05
    training = StackedTraining(data, model="deep1", worker_count=count, batch_size=8, seed=3)
    descent = StaleDescent(
        training.gradients,
        training.initial,
        optimiser="sgd",
        step_size=step_size,
        worker_count=count,
        delays=uniform_delays(0, worker_count=count, seed=3),
    )
    model = training.initial
    for step in range(12):
        descent.step()
        gradients = training.gradients(step, model.repeat(count, 1))
        total = torch.zeros_like(model)
        for gradient in gradients:
            total = total - step_size * gradient / count
        model = model + total
        assert all(torch.equal(copy, model) for copy in descent.copies)


@pytest.mark.parametrize("name", ["deep0", "deep2"])
def test_stacked_gradients_are_those_of_each_workers_own_network(name: str, data: Dataset) -> None:
    training = StackedTraining(data, model=name, worker_count=3, batch_size=8, seed=3)
    alone = Training(data, worker_count=3, model=name, batch_size=8, seed=3)
    assert torch.equal(training.initial, alone.initial)
    stream = torch.Generator().manual_seed(1)
    models = training.initial + 0.01 * torch.randn(3, len(training.initial), generator=stream)
    for step in (0, 20):
        expected = torch.stack([alone.loss_and_gradient(w, step, models[w], 1.0)[1].clone() for w in range(3)])
        # Sums of 784 products in another order.
        torch.testing.assert_close(training.gradients(step, models), expected, rtol=1e-4, atol=1e-6)
    assert training.accuracy(models[0]) == alone.quality(models[0])


def test_the_gradient_of_many_examples_is_the_mean_over_their_batches(data: Dataset) -> None:
    """Fifty batches of one epoch are all 400 examples."""
    training = StackedTraining(data, model="deep1", worker_count=2, batch_size=8, seed=0)
    models = training.initial.repeat(2, 1)
    mean = torch.stack([training.gradients(step, models) for step in range(25)]).flatten(end_dim=1).mean(dim=0)
    torch.testing.assert_close(training.loss_gradient(training.initial, 400), mean, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_one_worker_without_delays_is_the_optimiser_itself(optimiser: str) -> None:
    descent = StaleDescent(noisy, ONES, optimiser=optimiser, step_size=0.03, worker_count=1, delays=fixed(0))
    model = ONES.clone()
    plain = OPTIMISERS[optimiser]([model], lr=0.03)
    for step in range(20):
        descent.step()
        model.grad = noisy(step, model[None])[0]
        plain.step()
    # The update is rounded before it is added here, and with the sum there.
    torch.testing.assert_close(descent.copies[0], model, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_worker_has_an_optimiser_of_its_own(optimiser: str) -> None:
    """Three workers whose updates come one step late, against three optimisers from PyTorch that share nothing."""
    descent = StaleDescent(noisy, ONES, optimiser=optimiser, step_size=0.03, worker_count=3, delays=fixed(1, 3))
    updates = [torch.zeros(3, dtype=torch.float64) for _ in range(3)]
    own = [OPTIMISERS[optimiser]([update], lr=0.03) for update in updates]
    model, late = ONES.clone(), torch.zeros(3, dtype=torch.float64)
    for step in range(20):
        descent.step()
        for update, gradient, worker in zip(updates, noisy(step, model.repeat(3, 1)), own, strict=True):
            update.zero_()
            update.grad = gradient
            worker.step()
        model, late = model + late, torch.stack(updates).mean(dim=0)
    torch.testing.assert_close(descent.copies, model.repeat(3, 1), rtol=1e-12, atol=1e-13)


def test_opposite_workers_cancel_under_adam_whatever_their_slopes() -> None:
    """Adam's first update has the size of the step: were the gradients averaged first, the steeper would win."""
    descent = StaleDescent(
        slopes(1.0, -100.0), ORIGIN, optimiser="adam", step_size=0.1, worker_count=2, delays=fixed(0, 2)
    )
    descent.step()
    assert float(descent.copies[0]) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("delay", [0, 1, 5])
def test_a_fixed_delay_is_the_delayed_recursion(delay: int) -> None:
    descent = StaleDescent(
        lambda _step, models: models * CURVATURES,
        ONES,
        optimiser="sgd",
        step_size=0.2,
        worker_count=1,
        delays=fixed(delay),
    )
    path = [ONES] * (delay + 1)
    for step in range(40):
        descent.step()
        # Before the first update is due, the model stays.
        path.append(path[-1] - 0.2 * CURVATURES * path[-1 - delay] * (step >= delay))
        torch.testing.assert_close(descent.copies[0], path[-1], rtol=1e-13, atol=1e-15)


def test_every_copy_is_the_start_and_what_was_due_by_then() -> None:
    """Three workers of constant slopes: copy q before step t is −η/3 Σ slope_p over all (p, u) with u + 1 + r ≤ t."""
    values, step_size, count = (1.0, 10.0, 100.0), 0.5, 3
    tables = [uniform_delays(4, worker_count=count, seed=8) for _ in range(2)]
    descent = StaleDescent(
        slopes(*values), ORIGIN, optimiser="sgd", step_size=step_size, worker_count=count, delays=tables[0]
    )
    drawn: list[list[list[int]]] = []
    for step in range(1, 31):
        descent.step()
        drawn.append(tables[1]())
        for reader in range(count):
            due = sum(
                values[maker]
                for made, table in enumerate(drawn)
                for maker in range(count)
                if made + 1 + table[maker][reader] <= step
            )
            assert float(descent.copies[reader]) == pytest.approx(-step_size * due / count, rel=1e-13)


def test_nothing_is_lost_and_settled_copies_agree() -> None:
    delays = uniform_delays(7, worker_count=4, seed=2)
    descent = StaleDescent(noisy, ONES, optimiser="adam", step_size=0.05, worker_count=4, delays=delays)
    for _ in range(25):
        descent.step()
    assert not torch.allclose(descent.copies[0], descent.copies[1])
    # The same 100 updates in four orders.
    torch.testing.assert_close(descent.settled(), descent.settled()[:1].repeat(4, 1), rtol=0, atol=1e-14)


def test_gradients_are_taken_at_a_workers_own_copy() -> None:
    """Worker 0 hears of everything at once, worker 1 of nothing before step 10."""
    asked: list[list[float]] = []

    def ask(step: int, models: Tensor) -> Tensor:
        asked.append(models.flatten().tolist())
        return torch.ones_like(models)

    descent = StaleDescent(ask, ORIGIN, optimiser="sgd", step_size=1.0, worker_count=2, delays=lambda: [[0, 9], [0, 9]])
    for _ in range(3):
        descent.step()
    assert asked == [[0.0, 0.0], [-1.0, 0.0], [-2.0, 0.0]]


def test_delays_are_uniform_independent_and_bounded() -> None:
    staleness, draw_count = 3, 8000
    delays = uniform_delays(staleness, worker_count=2, seed=5)
    drawn = torch.tensor([delays() for _ in range(draw_count)]).view(draw_count, 4)
    shares = torch.stack([(drawn == value).double().mean(dim=0) for value in range(staleness + 1)])
    assert torch.allclose(shares.sum(dim=0), torch.ones(4, dtype=torch.float64))
    # Five standard deviations of a share of ¼.
    assert float((shares - 0.25).abs().max()) < 5 * math.sqrt(0.25 * 0.75 / draw_count)
    off_diagonal = torch.corrcoef(drawn.T.double()) - torch.eye(4)
    assert float(off_diagonal.abs().max()) < 5 / math.sqrt(draw_count)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="staleness must be at least 0, got -1"):
        uniform_delays(-1, worker_count=1, seed=0)
    with pytest.raises(ValueError, match="unknown optimiser 'lamb'"):
        StaleDescent(slopes(1.0), ORIGIN, optimiser="lamb", step_size=1.0, worker_count=1, delays=fixed(0))
    with pytest.raises(ValueError, match="at least one worker, got 0"):
        StaleDescent(slopes(), ORIGIN, optimiser="sgd", step_size=1.0, worker_count=0, delays=fixed(0))
