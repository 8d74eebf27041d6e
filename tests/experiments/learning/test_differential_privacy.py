"""Gradients of examples, clipping, sampling and noise are what the accountant is told; ε is what theory says it is."""

from __future__ import annotations

import math
import secrets
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.learning.differential_privacy import (
    ExampleGradients,
    Mechanism,
    epsilon,
    poisson_sample,
    secret_uniform,
)
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.seeding import random_stream
from sparsync.theory.statements import STATEMENTS

DATA = load_dataset("embedded")
DELTA = 1e-5


def model(name: str = "fnn2") -> FlatModel:
    return FlatModel(name, feature_count=784, class_count=10, seed=0)


def test_gradients_of_examples_have_the_batchs_as_their_mean() -> None:
    network, count = model(), 16
    found = ExampleGradients("fnn2", DATA, network)(DATA.train_images[:count], DATA.train_labels[:count])
    _, whole = network.loss_and_gradient(DATA.train_images[:count], DATA.train_labels[:count])
    # Both add 16 terms of the size of the longest gradient, in two orders, after products over 784 pixels and 32 units.
    room = (count + 784 + 32) * 2.0**-24 * float(found.abs().max())
    assert torch.allclose(found.mean(dim=0), whole, rtol=0, atol=room)
    alone = network.loss_and_gradient(DATA.train_images[3:4], DATA.train_labels[3:4])[1]
    assert torch.allclose(found[3], alone, rtol=0, atol=room)


def test_no_examples_have_no_gradients_and_a_sum_of_zeros() -> None:
    found = ExampleGradients("fnn2", DATA, model())(DATA.train_images[:0], DATA.train_labels[:0])
    assert found.shape == (0, 25_450)
    assert Mechanism(1.0, 1.0).clipped_sum(found).eq(0).all()


def test_a_model_whose_layers_see_the_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="resnet20"):
        ExampleGradients("resnet20", DATA, model())


@given(
    rows=st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3), min_size=1, max_size=5),
    clip=st.sampled_from([0.125, 1.0, 30.0]),
)
def test_one_example_moves_a_clipped_sum_by_no_more_than_stated(rows: list[list[float]], clip: float) -> None:
    gradients, mechanism = torch.tensor(rows, dtype=torch.float64), Mechanism(clip, 0.0)
    moved = mechanism.clipped_sum(gradients) - mechanism.clipped_sum(gradients[1:])
    # Sums of five clipped rows of three entries, rounded in float64.
    room = 20 * 2.0**-53 * clip * len(rows)
    assert float(moved.norm()) <= STATEMENTS["clipped_sum_move"].evaluate(clip_norm=clip) + room
    short = gradients * (gradients.norm(dim=1, keepdim=True) <= clip)
    assert torch.equal(mechanism.clipped_sum(short), short.sum(dim=0))
    assert mechanism.clipped_sum(torch.zeros(2, 3)).tolist() == [0.0, 0.0, 0.0]


def test_noise_has_the_deviation_that_it_is_accounted_for_and_comes_from_the_generator() -> None:
    mechanism, zero = Mechanism(clip=3.0, noise=0.5), torch.zeros(100_000, dtype=torch.float64)
    drawn = mechanism.noisy(zero, random_stream(1, "noise"))
    assert torch.equal(drawn, mechanism.noisy(zero, random_stream(1, "noise")))
    # The sample deviation of 10⁵ draws is within five of its own standard errors, σ/√(2·10⁵).
    assert float(drawn.std()) == pytest.approx(1.5, rel=5 / (2e5) ** 0.5)
    assert abs(float(drawn.mean())) < 5 * 1.5 / 1e5**0.5


def test_secret_noise_is_normal_and_new_each_time() -> None:
    mechanism, zero = Mechanism(clip=3.0, noise=0.5), torch.zeros(2, 50_000)
    drawn, again = (mechanism.noisy(zero, None) for _ in range(2))
    assert drawn.dtype == torch.float32
    assert drawn.shape == zero.shape
    assert float((drawn == again).double().mean()) < 1e-3
    # Kolmogorov's distance of 10⁵ draws from the normal law is above 0.0081 in one case of a million.
    ranked = (drawn.flatten().double() / 1.5).sort().values
    steps = torch.arange(1, len(ranked) + 1) / len(ranked)
    assert float((torch.special.ndtr(ranked) - steps).abs().max()) < 0.0086
    assert bool(drawn.isfinite().all())


@pytest.mark.parametrize(("word", "value"), [(b"\0", 2.0**-53), (b"\xff", 1 - 2.0**-53)])
def test_secret_draws_never_reach_the_ends_where_noise_would_be_infinite(
    word: bytes, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_bytes", lambda count: word * count)
    assert secret_uniform(2).tolist() == [value] * 2
    assert bool(Mechanism(1.0, 1.0).noisy(torch.zeros(3), None).isfinite().all())
    assert len(secret_uniform(0)) == 0


@pytest.mark.parametrize("stream", [random_stream(2, "sample"), None], ids=["seeded", "secret"])
def test_a_poisson_sample_takes_every_place_by_itself(stream: torch.Generator | None) -> None:
    counts = torch.zeros(4)
    sizes = []
    for _ in range(4000):
        found = poisson_sample(4, 0.25, stream)
        counts[found] += 1
        sizes.append(len(found))
    # Binomial(4000, 1/4): deviation 27.4; the size is binomial(4, 1/4), with variance 3/4, which no fixed size has.
    assert float((counts - 1000).abs().max()) < 5 * 27.4
    assert torch.tensor(sizes, dtype=torch.float64).var() == pytest.approx(0.75, abs=5 * 0.75 * (2 / 4000) ** 0.5 * 1.2)
    assert {0, 4} <= set(sizes)
    assert poisson_sample(5, 1.0, stream).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("rate", [0.0, 1.5])
def test_a_rate_out_of_range_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=str(rate)):
        poisson_sample(3, rate, random_stream(0, "sample"))


@pytest.mark.parametrize(("clip", "noise"), [(0.0, 1.0), (math.inf, 1.0), (1.0, -0.5)])
def test_a_mechanism_out_of_range_is_refused(clip: float, noise: float) -> None:
    with pytest.raises(ValueError, match=str(clip if noise == 1 else noise)):
        Mechanism(clip, noise)


def converted(divergence: float, order: float, delta: float) -> float:
    """ε of a Rényi divergence (Canonne, Kamath and Steinke 2020, proposition 12)."""
    return divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)


def test_without_sampling_epsilon_is_that_of_the_gaussian_mechanism() -> None:
    noise, steps = 4.0, 7
    orders = [1 + tenth / 10 for tenth in range(1, 100)] + list(range(12, 64))
    expected = min(converted(steps * order / (2 * noise**2), order, DELTA) for order in orders)
    # The same few operations on doubles, of which none cancels more than three digits.
    assert epsilon(noise, 1.0, steps, delta=DELTA) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_with_sampling_epsilon_is_what_the_divergences_of_theory_say() -> None:
    noise, rate, steps = 2.0, 0.02, 100
    stated = STATEMENTS["sampled_gaussian_divergence"].evaluate
    whole = {order: stated(order=order, sample_share=rate, noise_ratio=noise) for order in range(12, 64)}
    expected = min(converted(steps * value, order, DELTA) for order, value in whole.items())
    # The best order is above 11, where the accountant looks at whole ones only; it adds up in logarithms.
    assert epsilon(noise, rate, steps, delta=DELTA) == pytest.approx(expected, rel=1e-9)
    # The other accountant is told its own error, a hundredth of ε or so, and is not above the bound by more.
    assert 0 < epsilon(noise, rate, steps, delta=DELTA, accountant="prv") <= expected * 1.01


def test_no_step_costs_nothing() -> None:
    assert epsilon(1.0, 0.5, 0, delta=DELTA) == 0


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"), [(0.0, 1, 1, 0.1), (1, 2.5, 1, 0.1), (1, 1, -3, 0.1), (1, 1, 1, 1.0)]
)
def test_an_account_out_of_range_is_refused(noise: float, rate: float, steps: int, delta: float) -> None:
    with pytest.raises(ValueError, match="ε needs"):
        epsilon(noise, rate, steps, delta=delta)


def test_without_opacus_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opacus.accountants", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsync\[learning\]'"):
        epsilon(1.0, 0.5, 1, delta=DELTA)
