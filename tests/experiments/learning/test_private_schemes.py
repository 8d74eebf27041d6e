"""Each scheme is the SGD that it should be, in bits where the arithmetic is the same; its bytes are those stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning import federated, private_schemes
from sparsync.experiments.learning.federated import Trained, network_sizes, simulated
from sparsync.experiments.learning.federated_clients import FIXED_POINT, Client, FederatedSettings, batches, shards
from sparsync.experiments.learning.private_schemes import stated_bytes, weights_by_rank
from sparsync.experiments.parties.party import CPU
from sparsync.experiments.parties.talk import Books, take_unless_lost
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.models import FlatModel
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import keep_all
from sparsync.theory.statements import STATEMENTS

DATA = load_dataset("embedded")
SHORT: dict[str, Any] = {"rounds": 3, "local_steps": 2, "batch_size": 16, "examples": 400}


def settings(**changes: Any) -> FederatedSettings:
    return FederatedSettings(**{**SHORT, **changes})


def trained_vector(trained: Trained) -> Tensor:
    return parameters_to_vector(trained.networks[0].parameters()).detach()


def run(client_count: int = 3, **changes: Any) -> tuple[Tensor, Trained, Books]:
    trained, books = simulated(settings(**changes), client_count, data=DATA)
    return trained_vector(trained), trained, books


def fresh_model() -> FlatModel:
    return FlatModel("fnn2", feature_count=784, class_count=10, seed=0)


def large_batch_descent(of: FederatedSettings, client_count: int) -> Tensor:
    """SGD along the mean of the clients' gradients, as the repository's averager adds them."""
    model, averager = fresh_model(), LocalAverager("dense")
    feeds = [batches(of, shard, rank) for rank, shard in enumerate(shards(of, DATA, client_count), start=1)]
    for _ in range(of.rounds * of.local_steps):
        payloads: list[SparsePayload] = []
        for feed in feeds:
            places = next(feed)
            _, gradient = model.loss_and_gradient(DATA.train_images[places], DATA.train_labels[places])
            payloads.append(keep_all(gradient.clone(), len(gradient)))
        model.parameters.sub_(averager.average(payloads).mean, alpha=of.step_size)
    return model.parameters


def test_an_exchange_after_every_step_is_large_batch_descent_in_bits() -> None:
    of = settings(scheme="large_batch", dirichlet=1e9)
    # Whoever has fewer examples than a batch would weigh less.
    assert min(map(len, shards(of, DATA, 4))) >= of.batch_size
    found, trained, _ = run(4, scheme="large_batch", dirichlet=1e9)
    assert len(trained.minutes.meetings) == of.rounds * of.local_steps
    assert torch.equal(found, large_batch_descent(of, 4))


def test_averaging_with_one_local_step_is_large_batch_descent_in_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    of = settings(local_steps=1)
    equal = [torch.arange(first, first + 100) for first in range(0, 400, 100)]
    monkeypatch.setattr(federated, "shards", lambda *_: equal)
    monkeypatch.setitem(globals(), "shards", lambda *_: equal)
    found, _, _ = run(4, local_steps=1)
    assert torch.equal(found, large_batch_descent(of, 4))


def test_averaging_with_one_local_step_weighs_shards_where_large_batches_weigh_steps() -> None:
    of = settings(local_steps=1)
    sizes = list(map(len, shards(of, DATA, 4)))
    assert min(sizes) >= of.batch_size
    assert len(set(sizes)) > 1
    assert not torch.equal(run(4, local_steps=1)[0], large_batch_descent(of, 4))
    assert torch.equal(run(4, local_steps=1, scheme="large_batch")[0], large_batch_descent(of, 4))


def test_averaging_is_the_weighted_mean_of_the_clients_own_models() -> None:
    of = settings(rounds=1, local_steps=5)
    found, _, _ = run(3, rounds=1, local_steps=5)
    own, counts = [], []
    for rank, shard in enumerate(shards(of, DATA, 3), start=1):
        client = Client(of, DATA, shard, rank, CPU)
        for _ in range(5):
            _, gradient = client.model.loss_and_gradient(*client.examples(client.next_batch()))
            client.model.parameters.sub_(gradient, alpha=of.step_size)
        own.append(client.model.parameters.double())
        counts.append(len(shard))
    mean = torch.stack([count * vector for count, vector in zip(counts, own, strict=True)]).sum(dim=0) / sum(counts)
    # Parameters below 1 are rounded in each of 5 steps, sums of gradients below 10 in each of 5, times the step 0.1.
    assert torch.allclose(found.double(), mean, rtol=0, atol=5 * 2.0**-24 + 0.1 * 10 * 8 * 2.0**-24)


def test_split_learning_of_one_client_is_plain_descent_in_bits() -> None:
    of = settings(scheme="split")
    found, _, _ = run(1, scheme="split")
    model, feed = fresh_model(), batches(of, shards(of, DATA, 1)[0], 1)
    for _ in range(of.rounds * of.local_steps):
        places = next(feed)
        _, gradient = model.loss_and_gradient(DATA.train_images[places], DATA.train_labels[places])
        model.parameters.sub_(gradient, alpha=of.step_size)
    assert torch.equal(found, model.parameters)


def test_split_learning_that_passes_its_layers_is_plain_descent_over_the_clients_in_turn() -> None:
    of = settings(scheme="split")
    found, _, _ = run(3, scheme="split")
    model = fresh_model()
    feeds = [batches(of, shard, rank) for rank, shard in enumerate(shards(of, DATA, 3), start=1)]
    for _ in range(of.rounds):
        for feed in feeds:
            for _ in range(of.local_steps):
                places = next(feed)
                _, gradient = model.loss_and_gradient(DATA.train_images[places], DATA.train_labels[places])
                model.parameters.sub_(gradient, alpha=of.step_size)
    assert torch.equal(found, model.parameters)


def test_split_learning_that_keeps_its_layers_has_a_model_for_each_client() -> None:
    _, trained, books = run(3, scheme="split", pass_weights=False)
    vectors = [parameters_to_vector(network.parameters()).detach() for network in trained.networks]
    lower = network_sizes(settings(scheme="split"), DATA)["lower_count"]
    assert len(vectors) == 3
    assert all(torch.equal(vector[lower:], vectors[0][lower:]) for vector in vectors)
    assert not torch.equal(vectors[0][:lower], vectors[1][:lower])
    assert books.total(subject="client layers") == 0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sampled_clients": 2},
        {"scheme": "large_batch"},
        {"scheme": "split"},
        {"scheme": "split", "pass_weights": False, "model": "fnn3"},
        {"scheme": "split", "dirichlet": 0.05, "batch_size": 128},
        {"density": 0.02},
        {"density": 0.02, "selector": "random_k", "sampled_clients": 1},
        {"secure": True},
        {"secure": True, "density": 0.02},
        {"secure": True, "density": 0.02, "drop_client": 2},
        {"clip": 1.0, "noise": 1.0, "seeded_noise": True, "density": 0.02},
    ],
    ids=str,
)
def test_the_bytes_of_every_scheme_are_those_stated(changes: dict[str, Any]) -> None:
    _, trained, books = run(3, **changes)
    of = settings(**changes)
    stated = stated_bytes(of, trained.minutes, **network_sizes(of, DATA))
    for subjects, size in stated.items():
        assert sum(books.total(subject=subject) for subject in subjects) == size, subjects
    spoken_of = {subject for subjects in stated for subject in subjects} | {"example count", "roster"}
    assert {subject for _, _, subject in books.bytes} <= spoken_of


def test_the_laws_of_an_epoch_are_what_an_epoch_sends() -> None:
    _, trained, books = run(3, rounds=1, local_steps=4)
    size = {"n": 3, "d": 25_450, "value_bytes": 4}
    stated = STATEMENTS["federated_epoch_bytes"].evaluate(round_count=1, **size)
    assert books.total(subject="model") + books.total(subject="update") == stated
    _, _, books = run(3, rounds=1, local_steps=4, scheme="large_batch")
    examples = {"example_count": 3 * 4 * 16, "total_batch": 3 * 16}
    stated = STATEMENTS["large_batch_epoch_bytes"].evaluate(**examples, **size)
    assert books.total(subject="model") + books.total(subject="update") == stated
    assert len(trained.minutes.meetings) == 1


def test_what_travels_selected_is_within_the_stated_bound_and_its_union_too() -> None:
    _, trained, books = run(3, density=0.02)
    numbers = {"n": 3, "d": 25_450, "k": 509}
    travelled = sum(books.total(subject=s) for s in ("indices", "values", "mean indices", "mean values"))
    stated = STATEMENTS["selected_epoch_bytes"].evaluate(round_count=6 // 2, value_bytes=4, index_bytes=4, **numbers)
    assert travelled <= stated
    for meeting in trained.minutes.meetings:
        assert STATEMENTS["least_union"].evaluate(d=25_450, k=509) <= meeting.union_count
        assert meeting.union_count <= STATEMENTS["largest_union"].evaluate(**numbers)


@pytest.mark.parametrize("density", [1.0, 0.02])
def test_masked_training_is_plain_training_up_to_fixed_point(density: float) -> None:
    plain, _, _ = run(3, rounds=1, density=density)
    masked, _, _ = run(3, rounds=1, density=density, secure=True)
    # The weighed sum, of weights of 1/3 in sum at least, is off by 3/2 steps; the plain one by roundings of float32.
    stated = STATEMENTS["fixed_point_error"].evaluate(n=3, fixed_scale=FIXED_POINT.scale)
    assert float((plain - masked).abs().max()) <= 0.1 * 3 * stated * 2 + 8 * 2.0**-24
    assert not torch.equal(plain, fresh_model().parameters)


def test_a_client_that_leaves_is_in_no_later_mean() -> None:
    found, trained, _ = run(3, secure=True, drop_client=2, drop_round=1)
    assert [meeting.chosen for meeting in trained.minutes.meetings] == [(1, 2, 3), (1, 2, 3), (1, 3)]
    assert [meeting.survivors for meeting in trained.minutes.meetings] == [(1, 2, 3), (1, 3), (1, 3)]
    assert found.isfinite().all()


def test_a_client_leaves_large_batches_in_the_round_that_is_said() -> None:
    _, trained, _ = run(3, secure=True, scheme="large_batch", drop_client=2, drop_round=1)
    assert [2 in meeting.survivors for meeting in trained.minutes.meetings] == [True, True, False, False, False, False]


def test_whose_places_arrive_damaged_is_not_talked_to_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has entries outside the union of the others, which its masked vector would put into wrong places."""
    masked_mean = private_schemes._masked_mean
    survivors: list[tuple[int, ...]] = []

    def damaged(rank: int, subject: str) -> Any:
        found = yield from take_unless_lost(rank, subject)
        return ExchangeError("what arrived is not what was sent") if (rank, subject) == (2, "indices") else found

    def overheard(*arguments: Any) -> Any:
        mean, found = yield from masked_mean(*arguments)
        assert found.places is not None
        assert bool(torch.isin(found.places, torch.cat([found.selected[1], found.selected[3]])).all())
        survivors.append(found.survivors)
        return mean, found

    monkeypatch.setattr(private_schemes, "take_unless_lost", damaged)
    monkeypatch.setattr(private_schemes, "_masked_mean", overheard)
    with pytest.raises(ExchangeError, match="rank 2, takes 'union' from rank 0: rank 0 has ended"):
        run(3, secure=True, density=0.02)
    assert survivors == [(1, 3)] * 3


def test_places_that_one_survivor_alone_selected_are_counted() -> None:
    selected = {1: torch.tensor([0, 1, 2]), 2: torch.tensor([2, 3, 4]), 3: torch.tensor([0, 4, 9])}
    union = torch.tensor([0, 1, 2, 3, 4, 9])
    found = private_schemes._Found(union, (1, 2, 3), selected).meeting([1, 2, 3], 3)
    assert (found.selected_count, found.union_count, found.alone_share) == (9, 6, 3 / 9)
    # Without the third, who sent its positions and no vector, 0 and 4 are one client's alone as well.
    found = private_schemes._Found(union, (1, 2), selected).meeting([1, 2, 3], 2)
    assert (found.selected_count, found.union_count, found.alone_share) == (9, 6, 4 / 6)
    assert private_schemes._Found(None, (1, 2), {}).meeting([1, 2, 3], 2).alone_share == 0


def test_the_server_reads_in_a_masked_sum_what_one_client_alone_selected() -> None:
    """As the page says; whoever finds a way to hide it has to say so there."""
    of = settings(secure=True, density=0.02, dirichlet=1e9)
    clients = [Client(of, DATA, shard, rank, CPU) for rank, shard in enumerate(shards(of, DATA, 3), start=1)]
    payloads = {client.rank: client.selected(client.local_gradients()) for client in clients}
    places = torch.cat([payload.indices.long() for payload in payloads.values()])
    union, counts = places.unique(return_counts=True)
    found: dict[str, Tensor] = {}

    def overheard(*arguments: Any) -> Any:
        found["mean"], meeting = yield from masked_mean(*arguments)
        return found["mean"], meeting

    masked_mean = private_schemes._masked_mean
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_schemes, "_masked_mean", overheard)
        run(3, rounds=1, secure=True, density=0.02, dirichlet=1e9)
    weights = weights_by_rank(of, [client.count for client in clients])
    alone = dict(zip(union.tolist(), (counts == 1).tolist(), strict=True))
    for rank, payload in payloads.items():
        own = torch.tensor([alone[place] for place in payload.indices.tolist()])
        assert bool(own.any())
        read = found["mean"][torch.searchsorted(union, payload.indices.long())] * sum(weights.values()) / weights[rank]
        # Of a sum of three in fixed point, rounded to float32 twice.
        assert torch.allclose(read[own], payload.values[own], rtol=4 * 2.0**-24, atol=6 * 2.0**-32)


def test_masks_of_one_client_are_refused_before_it_sends_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [torch.arange(200), torch.arange(0)]
    monkeypatch.setattr(federated, "shards", lambda *_: parts)
    with pytest.raises(ValueError, match="a sum of 1 of 1 clients hides nobody"):
        run(2, secure=True)


def test_too_few_survivors_end_the_run_with_their_number() -> None:
    with pytest.raises(ExchangeError, match="3 are needed"):
        run(3, secure=True, drop_client=2, threshold=3)


@pytest.mark.parametrize("changes", [{}, {"scheme": "large_batch"}, {"scheme": "split"}, {"density": 0.02}], ids=str)
def test_a_client_without_examples_changes_nothing(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [torch.arange(200), torch.arange(200, 400)]

    def with_empty(*_: object) -> list[Tensor]:
        return [*parts, torch.arange(0)]

    monkeypatch.setattr(federated, "shards", with_empty)
    with_three, _, _ = run(3, **changes)
    monkeypatch.setattr(federated, "shards", lambda *_: parts)
    with_two, _, _ = run(2, **changes)
    assert torch.equal(with_three, with_two)
    assert with_three.isfinite().all()


@pytest.mark.parametrize("scheme", ["federated", "split"])
def test_clients_without_any_example_are_refused(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federated, "shards", lambda *_: [torch.arange(0)] * 2)
    with pytest.raises(ValueError, match="example"):
        run(2, scheme=scheme)


@pytest.mark.parametrize("scheme", ["federated", "large_batch", "split"])
def test_batches_of_one_train(scheme: str) -> None:
    found, _, _ = run(2, scheme=scheme, batch_size=1)
    assert found.isfinite().all()


@pytest.mark.parametrize("scheme", ["federated", "split"])
def test_divergence_is_named(scheme: str) -> None:
    with pytest.raises(FloatingPointError, match="smaller step size"):
        run(2, scheme=scheme, step_size=1e30)


def test_a_cut_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cut must be below the 3 modules of 'fnn2', got 3"):
        run(2, scheme="split", cut=3)


def test_weights_are_shares_of_the_largest_shard_or_batch() -> None:
    roster: Sequence[int] = [10, 0, 40]
    assert weights_by_rank(settings(), roster) == {1: 0.25, 3: 1.0}
    assert weights_by_rank(settings(scheme="large_batch", batch_size=20), roster) == {1: 0.5, 3: 1.0}
