"""Shards are a partition whatever the concentration; batches and contributions are what they are said to be."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.learning.differential_privacy import ExampleGradients, poisson_sample
from sparsync.experiments.learning.federated_clients import (
    Client,
    FederatedSettings,
    Scheme,
    batches,
    dirichlet_split,
    member_places,
    participants,
    require_fit,
    shards,
)
from sparsync.experiments.parties.party import CPU
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.seeding import random_stream

DATA = load_dataset("embedded")
ALL = torch.arange(12_000)


@settings(max_examples=40, deadline=None)
@given(
    classes=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    concentration=st.floats(1e-6, 1e6),
    data=st.data(),
    seed=st.integers(0, 2**32),
)
def test_every_example_has_one_client_and_every_client_an_example(
    classes: list[int], concentration: float, data: st.DataObject, seed: int
) -> None:
    labels, count = torch.tensor(classes), data.draw(st.integers(1, len(classes)))
    found = dirichlet_split(labels, count, concentration, random_stream(seed, "shards"))
    assert len(found) == count
    assert min(map(len, found)) >= 1
    assert torch.cat(found).sort().values.tolist() == list(range(len(classes)))
    again = dirichlet_split(labels, count, concentration, random_stream(seed, "shards"))
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))


def shares(concentration: float) -> Tensor:
    """[classes, clients] of every class."""
    found = dirichlet_split(DATA.train_labels, 4, concentration, random_stream(0, "shards"))
    counts = torch.stack([DATA.train_labels[part].bincount(minlength=10) for part in found], dim=1)
    return counts / counts.sum(dim=1, keepdim=True)


def test_a_large_concentration_is_even_and_a_small_one_gives_each_class_to_one() -> None:
    # A share has the variance (1/4)(3/4)/(4α + 1); 40 of them lie within six deviations, and half an example of 1200.
    assert float((shares(1e4) - 0.25).abs().max()) < 6 * (3 / 16 / 40_001) ** 0.5 + 1 / 1200
    assert float(shares(1e-3).max(dim=1).values.min()) > 0.99


@pytest.mark.parametrize(("count", "concentration"), [(0, 1.0), (4, 1.0), (2, 0.0), (2, float("inf"))])
def test_a_split_that_cannot_be_is_refused(count: int, concentration: float) -> None:
    with pytest.raises(ValueError, match=str(count) if count != 2 else str(concentration)):
        dirichlet_split(torch.zeros(3, dtype=torch.int64), count, concentration, random_stream(0, "shards"))


@pytest.mark.parametrize(
    "settings",
    [
        {"scheme": "gossip"},
        {"rounds": 0},
        {"local_steps": 0},
        {"step_size": float("inf")},
        {"dirichlet": 0.0},
        {"delta": 1.0},
        {"density": 0.0},
        {"selector": "median"},
        {"clip": -1.0},
        {"noise": 0.5},
        {"clip": 1.0, "noise": -0.5},
        {"drop_client": 2},
        {"drop_round": -7},
        {"examples": -3},
        {"scheme": "split", "density": 0.25},
        {"scheme": "split", "secure": True},
        {"secure": True, "threshold": 1},
        {"secure": True, "sampled_clients": 1},
        {"secure": True, "drop_client": 2, "rounds": 7, "drop_round": 7},
    ],
)
def test_settings_out_of_range_are_refused_with_their_value(settings: dict[str, object]) -> None:
    value = str(list(settings.values())[-1]) if settings.get("scheme") != "split" else "split"
    with pytest.raises(ValueError, match=value):
        FederatedSettings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [{"sampled_clients": 5}, {"drop_client": 6, "secure": True}, {"examples": 12_001}, {"threshold": 7}],
    ids=str,
)
def test_settings_that_do_not_suit_the_clients_are_refused(settings: dict[str, object]) -> None:
    name, value = next(iter(settings.items()))
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        require_fit(FederatedSettings(**settings), DATA, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"secure": True, "threshold": 1}, "hides nobody.*threshold 1 and"),
        ({"secure": True, "sampled_clients": 1}, "hides nobody.*sampled_clients 1, of"),
        ({"secure": True, "drop_client": 2, "rounds": 2, "drop_round": 2}, "client 2 cannot leave in round 2 of 2"),
        ({"scheme": "split", "density": 0.25, "clip": 2.0}, r"got clip 2\.0, density 0\.25"),
        ({"scheme": "split", "secure": True, "sampled_clients": 3}, "got secure True, sampled_clients 3"),
    ],
    ids=str,
)
def test_settings_that_contradict_each_other_are_refused_with_both(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        FederatedSettings(**settings)  # type: ignore[arg-type]


def test_one_client_has_nobody_to_hide_among() -> None:
    require_fit(FederatedSettings(secure=True), DATA, 2)
    with pytest.raises(ValueError, match="hides nobody in a sum of one client, and there are 1"):
        require_fit(FederatedSettings(secure=True), DATA, 1)


@pytest.mark.parametrize(("scheme", "exchange"), [("federated", 2), ("large_batch", 10)])
def test_a_client_leaves_in_the_round_that_is_said(scheme: Scheme, exchange: int) -> None:
    of = FederatedSettings(scheme=scheme, rounds=4, local_steps=5, secure=True, drop_client=3, drop_round=2)
    assert [of.leaves(3, place) for place in range(of.exchanges)] == [
        place >= exchange for place in range(of.exchanges)
    ]
    assert not any(of.leaves(2, place) for place in range(of.exchanges))


def test_shards_are_of_the_examples_that_are_drawn() -> None:
    of = FederatedSettings(examples=100, seed=3)
    members = member_places(of, DATA)
    assert torch.equal(torch.cat(shards(of, DATA, 3)).sort().values, members)
    assert len(members) == len(members.unique()) == 100
    assert int(members.max()) > 6000
    assert not torch.equal(members, member_places(FederatedSettings(examples=100, seed=4), DATA))
    assert torch.equal(member_places(FederatedSettings(), DATA), ALL)


@pytest.mark.parametrize(("size", "of_shard", "per_pass"), [(3, 10, 3), (10, 10, 1), (64, 10, 1), (1, 4, 4)])
def test_a_pass_shows_each_example_once_at_most(size: int, of_shard: int, per_pass: int) -> None:
    shard = torch.arange(100, 100 + of_shard)
    found = list(islice(batches(FederatedSettings(batch_size=size), shard, 1), 2 * per_pass))
    for turn in (found[:per_pass], found[per_pass:]):
        seen = torch.cat(turn)
        assert len(seen.unique()) == len(seen) == per_pass * min(size, of_shard)
        assert set(seen.tolist()) <= set(shard.tolist())
    assert list(batches(FederatedSettings(), shard[:0], 1)) == []


def client(shard: Tensor, **settings: object) -> Client:
    return Client(FederatedSettings(**settings), DATA, shard, 1, CPU)  # type: ignore[arg-type]


def test_local_gradients_lead_from_the_model_to_where_the_local_steps_end() -> None:
    one = client(ALL[:64], local_steps=3, batch_size=16)
    before = one.model.parameters.clone()
    total = one.local_gradients()
    assert torch.equal(one.model.parameters, before)
    reference = client(ALL[:64], local_steps=3, batch_size=16)
    for _ in range(3):
        _, gradient = reference.model.loss_and_gradient(*reference.examples(reference.next_batch()))
        reference.model.parameters.sub_(gradient, alpha=0.1)
    # Each of three steps rounds the parameter, of magnitude below 1, and the sum once more.
    assert torch.allclose(before - 0.1 * total, reference.model.parameters, rtol=0, atol=8 * 2.0**-24)


@pytest.mark.parametrize("privacy", [{}, {"clip": 1.0, "noise": 0.5}])
def test_an_empty_shard_contributes_zeros_and_a_shard_of_one_something_finite(privacy: dict[str, float]) -> None:
    assert client(ALL[:0], **privacy).local_gradients().eq(0).all()
    assert client(ALL[:1], batch_size=1, **privacy).local_gradients().isfinite().all()


def test_what_is_not_selected_is_sent_later() -> None:
    one = client(ALL[:64], density=0.01)
    gradients = one.local_gradients()
    first, second = one.selected(gradients), one.selected(torch.zeros_like(gradients))
    sent = first.dense() + second.dense()
    assert first.count == second.count == 254
    assert torch.equal(sent, gradients * (sent != 0))
    assert not bool((first.dense() * second.dense()).any())


def test_a_client_that_diverges_says_so() -> None:
    one = client(ALL[:64], step_size=1e30)
    with pytest.raises(FloatingPointError, match="client 1"):
        one.local_gradients()


def test_participants_are_a_sample_of_those_with_examples() -> None:
    settings = FederatedSettings(sampled_clients=2)
    drawn = {tuple(participants(settings, [1, 2, 4], [5, 0, 5, 5], exchange)) for exchange in range(20)}
    assert drawn == {(1, 4)}
    many = [participants(settings, [1, 2, 3, 4], [5] * 4, exchange) for exchange in range(60)]
    assert all(len(set(some)) == 2 and some == sorted(some) for some in many)
    assert len(set(map(tuple, many))) == 6
    assert participants(FederatedSettings(), [1, 3], [5, 5, 5], 0) == [1, 3]
    with pytest.raises(ValueError, match=r"\[1, 2\]"):
        participants(settings, [1, 2], [0, 0, 5], 0)


def test_a_private_step_divides_by_the_examples_that_are_expected_not_by_those_drawn() -> None:
    """What was drawn is nobody's to know: one example more would change a mean by more than its own gradient."""
    one = client(ALL[:40], clip=1e9, noise=0.0, seeded_noise=True, batch_size=10, scheme="large_batch")
    drawn = poisson_sample(40, 0.25, random_stream(0, "privacy", 1))
    assert len(drawn) != 10
    reference = ExampleGradients("fnn2", DATA, one.model)(*one.examples(drawn)).sum(dim=0) / 10
    # Clipped by a factor of 1, and nothing else is done to them.
    assert torch.equal(one.local_gradients(), reference)


def test_private_steps_take_new_noise_each() -> None:
    one = client(torch.tensor([5]), clip=1e-6, noise=1e6, batch_size=1, scheme="large_batch")
    first, second = one.local_gradients(), one.local_gradients()
    # Noise of deviation 1 hides a gradient of length 10⁻⁶.
    assert float(first.std()) == pytest.approx(1.0, abs=0.05)
    assert abs(float((first * second).mean())) < 5 / len(first) ** 0.5


def test_noise_cannot_be_drawn_again_unless_it_is_seeded() -> None:
    """The server knows the seed, and whoever knows the noise takes it off."""
    private = {"clip": 1e-6, "noise": 1e6, "batch_size": 1, "scheme": "large_batch"}
    first, second = (client(ALL[:4], **private).local_gradients() for _ in range(2))
    assert not bool((first == second).any())
    first, second = (client(ALL[:4], **private, seeded_noise=True).local_gradients() for _ in range(2))
    assert torch.equal(first, second)
    # The gradient is shorter than 10⁻⁶ over the batch of 1, and nothing else is left.
    stream = random_stream(0, "privacy", 1)
    poisson_sample(4, 0.25, stream)
    assert float((first - torch.randn(len(first), generator=stream)).norm()) < 5e-3


def test_the_poisson_sample_cannot_be_drawn_again_unless_it_is_seeded() -> None:
    private = {"clip": 1.0, "noise": 0.0, "batch_size": 20, "scheme": "large_batch"}
    # Of 40 places that are taken with 1/2 the same are taken twice in a row in one case of 10¹².
    first, second = (client(ALL[:40], **private).local_gradients() for _ in range(2))
    assert not torch.equal(first, second)


def test_no_two_clients_share_their_noise_or_batches_and_no_two_passes_their_order() -> None:
    of = FederatedSettings(clip=1e-6, noise=1e6, seeded_noise=True, batch_size=1, scheme="large_batch")
    one, other = (Client(of, DATA, ALL[:4], rank, CPU).local_gradients() for rank in (1, 2))
    assert not bool((one == other).any())
    plain = FederatedSettings(batch_size=1)
    orders = [torch.cat(list(islice(batches(plain, ALL[:50], rank), 50))).tolist() for rank in (1, 2)]
    assert orders[0] != orders[1]
    passes = torch.cat(list(islice(batches(plain, ALL[:50], 1), 100))).view(2, 50)
    assert not torch.equal(*passes)
