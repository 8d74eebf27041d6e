"""Private distributed learning of a server and its clients: what does each scheme send, reach and give away?

`torchrun --nproc-per-node 5 -m sparsync.experiments.learn --system federated --output FILE`; `simulated` is the same
run in one process, with the same bits. The settings are in `federated_clients.py`, the schemes in
`private_schemes.py`, masks in `secure_aggregation.py`, noise in `differential_privacy.py`, and the yardstick of what
leaks in `membership_inference.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from sparsync.experiments.learning.differential_privacy import epsilon
from sparsync.experiments.learning.federated_clients import (
    Client,
    FederatedSettings,
    member_places,
    new_model,
    require_fit,
    sample_rate,
    shards,
)
from sparsync.experiments.learning.membership_inference import Attack, attack, losses
from sparsync.experiments.learning.private_schemes import (
    Minutes,
    federated_client,
    federated_server,
    split_client,
    split_network,
    split_server,
    stated_bytes,
    weights_of,
)
from sparsync.experiments.learning.secure_aggregation import SERVER
from sparsync.experiments.parties.party import CPU, Party, System
from sparsync.experiments.parties.talk import Books, Talk, give, side_by_side, take
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.models import new_network


@dataclass(frozen=True, eq=False)
class Trained:
    """What the server has in the end.

    Args:
        minutes: of the run.
        networks: the models, one but for split learning in which everybody keeps its own layers.
    """

    minutes: Minutes
    networks: tuple[nn.Module, ...]


def run(settings: FederatedSettings, party: Party) -> dict[str, Any] | None:
    """What one process does: rank 0 serves and returns the result, the others are clients.

    Raises:
        ValueError: the settings do not suit the data or the number of clients.
        ExchangeError: a client is lost and its masks, if there are any, cannot be recovered.
        FloatingPointError: the training diverged.
    """
    data, books = load_dataset(settings.data), Books()
    member = _Member(settings, data, party.rank, party.size - 1, party.device)
    minutes = party.carry(member.talk(party.advance), books)
    # What follows is measured, and nobody's bytes.
    if settings.scheme == "split":
        party.carry(member.report(books), Books())
    if party.rank != SERVER:
        return None
    assert minutes is not None, "the server keeps minutes"
    return result(settings, data, member.trained(minutes), books)


def simulated(
    settings: FederatedSettings, client_count: int, *, data: Dataset | None = None, device: torch.device = CPU
) -> tuple[Trained, Books]:
    """The server and so many clients in this process, with the bits of a run on as many processes and one.

    Raises:
        ValueError: see `run`; or FloatingPointError.
    """
    data = load_dataset(settings.data) if data is None else data
    members = [_Member(settings, data, rank, client_count, device) for rank in range(client_count + 1)]
    books = Books()
    minutes = side_by_side([member.talk() for member in members], books)[SERVER]
    if settings.scheme == "split":
        side_by_side([member.report(books if member.rank == SERVER else Books()) for member in members], Books())
    assert minutes is not None, "the server keeps minutes"
    return members[SERVER].trained(minutes), books


def result(settings: FederatedSettings, data: Dataset, trained: Trained, books: Books) -> dict[str, Any]:
    """As JSON: accuracy, bytes by subject beside what is stated, who was lost, ε, and what an attack finds.

    `accuracy` is a mean over the clients' models where there are several, `alone_share` over exchanges, see `Meeting`.
    Where `noise_source` is the seed, ε holds only against those who do not know it; the server does.
    """
    minutes = trained.minutes
    sizes = network_sizes(settings, data)
    stated = stated_bytes(settings, minutes, **sizes)
    attacks = [attacked(settings, data, network) for network in trained.networks]
    return {
        "client_count": len(minutes.example_counts),
        "example_counts": minutes.example_counts,
        **sizes,
        "accuracy": fmean(accuracy(data, network) for network in trained.networks),
        "bytes": books.rows(),
        "stated": [
            {
                "subjects": list(subjects),
                "stated_bytes": round(size),
                "bytes": sum(books.total(subject=subject) for subject in subjects),
            }
            for subjects, size in stated.items()
        ],
        "total_bytes": books.total(),
        "lost": [
            {"rank": rank, "exchange": place}
            for place, meeting in enumerate(minutes.meetings)
            for rank in meeting.chosen
            if rank not in meeting.survivors
        ],
        "alone_share": fmean(meeting.alone_share for meeting in minutes.meetings) if settings.density < 1 else None,
        "union_counts": [meeting.union_count for meeting in minutes.meetings if settings.density < 1],
        "epsilon": spent(settings, minutes),
        "noise_source": None if not settings.noise else "seed" if settings.seeded_noise else "operating system",
        "attack_area": fmean(found.area.value for found in attacks),
        "attack_area_low": fmean(found.area.low for found in attacks),
        "attack_area_high": fmean(found.area.high for found in attacks),
        "attack_advantage": fmean(found.advantage for found in attacks),
    }


def spent(settings: FederatedSettings, minutes: Minutes) -> float | None:
    """The largest ε of any example, whose client took every step it could; None without noise.

    Shards are disjoint, so that an example is in the steps of one client only; that clients are drawn is not counted.
    """
    if settings.mechanism is None or not settings.noise:
        return None
    steps = [
        sum(rank in meeting.chosen for meeting in minutes.meetings) * settings.steps_together
        for rank in range(1, len(minutes.example_counts) + 1)
    ]
    spending = {
        (sample_rate(settings, count), taken)
        for count, taken in zip(minutes.example_counts, steps, strict=True)
        if taken
    }
    return max(epsilon(settings.noise, rate, taken, delta=settings.delta) for rate, taken in spending)


def attacked(settings: FederatedSettings, data: Dataset, network: nn.Module) -> Attack:
    """The attack on a model: members are the examples of all clients, others the training examples of nobody.

    Where clients have all of these, the others are those of the test.
    """
    is_member = torch.zeros(len(data.train_labels), dtype=torch.bool)
    is_member[member_places(settings, data)] = True
    with torch.no_grad():
        own = losses(network(data.train_images[is_member]), data.train_labels[is_member])
        if bool(is_member.all()):
            other = losses(network(data.test_images), data.test_labels)
        else:
            other = losses(network(data.train_images[~is_member]), data.train_labels[~is_member])
    return attack(own, other)


@torch.no_grad()
def accuracy(data: Dataset, network: nn.Module) -> float:
    """Share of the test examples whose largest score is at their label."""
    return float((network(data.test_images).argmax(dim=1) == data.test_labels).double().mean())


def network_sizes(settings: FederatedSettings, data: Dataset) -> dict[str, int]:
    """`parameter_count`, and of split learning `lower_count` of them, the clients', and `cut_values` of an example."""
    sizes = {"parameter_count": new_model(settings, data, CPU).parameters.numel(), "lower_count": 0, "cut_values": 0}
    if settings.scheme == "split":
        lower, _ = split_network(settings, data, CPU)
        with torch.no_grad():
            sizes |= {"lower_count": len(weights_of(lower)), "cut_values": lower(data.test_images[:1]).numel()}
    return sizes


class _Member:
    """The server or a client.

    Args:
        settings: those of the run.
        data: everybody's.
        rank: 0 is the server.
        client_count: how many clients there are.
        device: where it computes.
    """

    def __init__(
        self, settings: FederatedSettings, data: Dataset, rank: int, client_count: int, device: torch.device
    ) -> None:
        require_fit(settings, data, client_count)
        self.rank = rank
        self._settings, self._data, self._count = settings, data, client_count
        own = shards(settings, data, client_count)
        self._client = Client(settings, data, own[rank - 1], rank, device) if rank != SERVER else None
        self._model = new_model(settings, data, device) if rank == SERVER else None
        if settings.scheme == "split":
            self._lower, self._upper = split_network(settings, data, device)
        self._lowers: list[Tensor] = []

    def talk(self, advance: Callable[[], None] = lambda: None) -> Talk[Minutes | None]:
        """Its part of the training; the server advances, exchange by exchange or round by round."""
        if self._settings.scheme == "split":
            if self._client is None:
                return split_server(self._settings, self._upper, self._count, advance)
            return split_client(self._settings, self._client, self._lower, self._count)
        if self._client is None:
            assert self._model is not None, "the server has the model"
            return federated_server(self._settings, self._model, self._count, advance)
        return federated_client(self._settings, self._client)

    def report(self, books: Books) -> Talk[None]:
        """In split learning: the server is told the clients' layers, and what went from client to client.

        Args:
            books: of this process; the server's are completed.
        """
        if self._client is not None:
            yield from give(SERVER, "layers", weights_of(self._lower))
            yield from give(
                SERVER, "books", torch.frombuffer(bytearray(json.dumps(books.rows()).encode()), dtype=torch.uint8)
            )
            return
        for rank in range(1, self._count + 1):
            self._lowers.append((yield from take(rank, "layers")))
            rows = json.loads(bytes((yield from take(rank, "books")).tolist()))
            for row in rows:
                if row["sender"] == rank and row["receiver"] != SERVER:
                    key = (rank, int(row["receiver"]), str(row["subject"]))
                    books.bytes[key], books.count[key] = int(row["bytes"]), int(row["tensor_count"])

    def trained(self, minutes: Minutes) -> Trained:
        """The server's models, on the CPU."""
        if self._settings.scheme != "split":
            assert self._model is not None, "the server has the model"
            return Trained(minutes, (self._network(self._model.parameters),))
        # Whoever passes its layers on ends where it began, with the first client.
        kept = self._lowers[:1] if self._settings.pass_weights else self._lowers
        upper = parameters_to_vector(self._upper.parameters()).detach()
        return Trained(minutes, tuple(self._network(torch.cat([lower, upper])) for lower in kept))

    def _network(self, parameters: Tensor) -> nn.Module:
        network = new_network(self._settings.model, self._data.feature_count, self._data.class_count, None)
        vector_to_parameters(parameters.detach().cpu().clone(), network.parameters())
        return network


def _line(record: dict[str, Any]) -> str:
    compared = "; ".join(
        f"{', '.join(row['subjects'])}: {row['bytes']} bytes, stated {row['stated_bytes']}" for row in record["stated"]
    )
    privacy = (
        "" if record["epsilon"] is None else f", ε = {record['epsilon']:.2f} at δ = {record['settings']['delta']:g}"
    )
    if privacy and record["noise_source"] == "seed":
        privacy += ", only against those who do not know the seed"
    if record["settings"]["secure"] and record["alone_share"] is not None:
        privacy += f", {record['alone_share']:.0%} of selected entries were one client's alone and not hidden"
    lost = "".join(f", client {row['rank']} lost in exchange {row['exchange']}" for row in record["lost"])
    return (
        f"accuracy {record['accuracy']:.3f}, attack's area {record['attack_area']:.3f}{privacy}{lost}, "
        f"{record['total_bytes']} bytes ({compared})"
    )


SYSTEM = System(
    summary="private distributed learning: federated averaging, large batches, split; masks and noise",
    settings=FederatedSettings,
    run=run,
    line=_line,
    step_count=lambda settings: settings.exchanges if settings.scheme != "split" else settings.rounds,
    least_size=2,
)
"""As `sparsync.experiments.learn` knows it."""
