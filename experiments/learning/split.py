"""Split learning on real processes: clients hold the inputs and the first layers, a server the rest.

Rank 0 is the server, ranks 1, 2, … are clients, which take turns. Each hands its weights, with the memory of its update
rule, to the client that is next, so that all together train as one process would that has the whole network and sees
their batches in the order of the turns: bit for bit. Labels go to the server, or stay (the U-shape). The client may be
asked to say less: by a penalty on the distance correlation of inputs and activations (NoPeek), by noise, or by sending
a selection. In the end accuracy, distance correlation and what a decoder reads are measured on held-out images.
Source: Gupta and Raskar 2018 (in turns, with weights passed on); NoPeek, Vepakomma et al. 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.learning.cut_layer import (
    HELD_OUT,
    HELD_OUT_REPLY,
    SERVER,
    WEIGHTS,
    Client,
    Layers,
    Server,
    Shield,
)
from sparsync.experiments.learning.decoder_attack import Attack, attacked
from sparsync.experiments.learning.distance_correlation import BIASES, LEAST_COUNT, Bias, distance_correlation
from sparsync.experiments.parties.party import CPU, Party, System
from sparsync.experiments.parties.talk import Books, Talk, give, side_by_side, take
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset, kind_of, load_dataset
from sparsync.experiments.training.descent import OPTIMISERS, OptimiserName, new_descent
from sparsync.experiments.training.models import VECTOR_MODELS, FlatModel
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import SELECTORS

REPORT = "report"
MEASURING = (HELD_OUT, HELD_OUT_REPLY, REPORT)
"""Subjects that are no training."""
CORRELATED_BATCHES = 16
"""Held-out batches at most whose distance correlations are taken the mean of."""
_NO_NUMBER = math.nan


@dataclass(frozen=True)
class SplitSettings:
    """Settings of split learning; the defaults end in under a minute."""

    model: str = "fnn3"
    """a chain of `VECTOR_MODELS`: fnn2, fnn3, deep1, deep2, …"""
    cut: int = 1
    """hidden layers that clients hold"""
    labels_stay: bool = False
    """the U-shape: clients hold the last layer too, and no label is sent"""
    leakage_weight: float = 0.0
    """of the distance correlation of inputs and activations in the clients' loss"""
    leakage: Bias = "biased"
    """which form of it: biased (NoPeek's) or corrected"""
    density: float = 1.0
    """share of a batch's activations that is sent, and of their slopes that come back"""
    selector: str = "top_k"
    """rule that chooses them"""
    uniform_noise: float = 0.0
    """s, where uniform noise on [-s, s] is added to activations"""
    weights_stay: bool = False
    """every client keeps first layers of its own: no weights are handed on, and training is no longer that of one"""
    steps: int = 400
    """batches of all clients together"""
    turn_steps: int = 20
    """batches of a client before the next has its turn"""
    batch_size: int = 64
    """examples of a batch"""
    step_size: float = 0.1
    """of every update"""
    optimiser: OptimiserName = "sgd"
    """sgd with momentum, or adamw"""
    momentum: float = 0.9
    """of the update rule; it travels with the weights"""
    data: str = "embedded"
    """source of images, see `load_dataset`"""
    attack_steps: int = 400
    """updates of the decoder that attacks the trained network; 0 attacks not"""
    leaked_count: int = 4000
    """at most so many pairs of activations and inputs does the attacker have"""
    seed: int = 0
    """names parameters, batches and draws"""

    def __post_init__(self) -> None:
        self._check_names()
        hidden_count = self.layer_count // 2
        if not 1 <= self.cut <= hidden_count - self.labels_stay:
            kept = "; in the U-shape the server keeps one too" if self.labels_stay else ""
            raise ValueError(f"cut must be 1 to the {hidden_count} hidden layers of {self.model}{kept}, got {self.cut}")
        if not 0 < self.density <= 1:
            raise ValueError(f"density must lie in (0, 1], got {self.density}")
        for name in ("steps", "turn_steps", "batch_size", "leaked_count", "attack_steps"):
            least = 0 if name == "attack_steps" else 1
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("leakage_weight", "uniform_noise", "step_size"):
            value = getattr(self, name)
            if not 0 <= value < math.inf or (name == "step_size" and not value):
                kind = "positive" if name == "step_size" else ">= 0"
                raise ValueError(f"{name} must be finite and {kind}, got {value}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {self.momentum}")
        if self.leakage_weight and self.batch_size < LEAST_COUNT[self.leakage]:
            least = LEAST_COUNT[self.leakage]
            raise ValueError(f"the {self.leakage} form needs batches of at least {least}, got {self.batch_size}")

    def _check_names(self) -> None:
        known = {
            "model": [name for name in VECTOR_MODELS if name != "deep0"],
            "leakage": BIASES,
            "selector": SELECTORS,
            "optimiser": OPTIMISERS,
        }
        for name, choices in known.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"unknown {name} {getattr(self, name)!r}; known: {', '.join(choices)}")
        if kind_of(self.data) != "images":
            raise ValueError(f"split learning is measured on images, got the data {self.data!r}")

    @property
    def layer_count(self) -> int:
        """Layers of the chain: a linear one and a ReLU for each hidden layer, and the linear one at the end."""
        return len(VECTOR_MODELS[self.model](1, 1)._modules)

    @property
    def shield(self) -> Shield:
        """What a client does to its activations."""
        return Shield(self.density, self.selector, self.uniform_noise, self.leakage_weight, self.leakage)

    def turns(self, client_count: int) -> list[tuple[int, int]]:
        """Rank of the client and number of batches of every turn."""
        starts = range(0, self.steps, self.turn_steps)
        return [
            (1 + turn % client_count, min(self.turn_steps, self.steps - first)) for turn, first in enumerate(starts)
        ]


@dataclass(frozen=True, eq=False)
class Trained:
    """A party at the end.

    Args:
        losses: of every step, of a server that has labels.
        reports: of every client, by rank, at the server; see `Report`.
        model: what the party holds of it is trained.
    """

    losses: list[float]
    reports: dict[int, dict[str, float]]
    model: FlatModel


FACTS = (
    "accuracy",
    "dcor_biased",
    "dcor_corrected",
    "explained_share",
    "handed_bytes",
    "handed_count",
)
"""What a client reports: all but the bytes and tensors of weights that it handed on are measured by the one whose turn
was last, on held-out images."""


def server_talk(settings: SplitSettings, data: Dataset, party: Party) -> Talk[Trained]:
    """The server's part; of the data it knows the sizes alone."""
    client_count, losses = party.size - 1, []
    model = _model(settings, data, party.device)
    first = 2 * settings.cut
    end = settings.layer_count - settings.labels_stay
    layers = _layers(settings, model, first, end)
    server = Server(layers, _width(model, first), has_labels=not settings.labels_stay)
    turns = settings.turns(client_count)
    for rank, step_count in turns:
        for _ in range(step_count):
            loss = yield from server.step(rank)
            losses += [] if loss is None else [loss]
            party.advance()
    for _ in range(len(_held_out_batches(settings, data))):
        yield from server.held_out(turns[-1][0])
    reports = {}
    for rank in range(1, party.size):
        # The last client attacks its network first.
        numbers = yield from take(rank, REPORT, is_patient=True)
        reports[rank] = dict(zip(FACTS, numbers.tolist(), strict=True))
    return Trained(losses, reports, model)


def client_talk(settings: SplitSettings, data: Dataset, party: Party, books: Books) -> Talk[Trained]:
    """A client's part, with every (size − 1)-th training image from its own on.

    Args:
        settings: alike on all.
        data: of which it takes its part.
        party: itself.
        books: of its bytes.
    """
    client_count = party.size - 1
    model = _model(settings, data, party.device)
    client = new_client(settings, model, party.rank)
    images, labels = (
        part[party.rank - 1 :: client_count].to(party.device) for part in (data.train_images, data.train_labels)
    )
    schedule = BatchSchedule(len(images), worker_count=1, batch_size=settings.batch_size, seed=settings.seed)
    turns, done = settings.turns(client_count), 0
    for turn, (rank, step_count) in enumerate(turns):
        if rank != party.rank:
            continue
        before, after = _neighbours(turns, turn)
        if not settings.weights_stay and before not in (None, rank):
            yield from client.take_over(before)
        for _ in range(step_count):
            batch = schedule.batch(done, 0).to(party.device)
            yield from client.step(images[batch], labels[batch])
            done += 1
        if not settings.weights_stay and after not in (None, rank):
            yield from client.hand_over(after)
    facts = dict.fromkeys(FACTS, _NO_NUMBER)
    if turns[-1][0] == party.rank:
        facts |= yield from _measured(client, settings, data, (images, party))
    handed = [(size, books.count[key]) for key, size in books.bytes.items() if key[::2] == (party.rank, WEIGHTS)]
    facts["handed_bytes"], facts["handed_count"] = (sum(column) for column in zip((0, 0), *handed, strict=True))
    numbers = torch.tensor([facts[name] for name in FACTS], dtype=torch.float64)
    # The server comes to it after the turns of all others.
    yield from give(SERVER, REPORT, numbers, is_patient=True)
    return Trained([], {}, model)


def new_client(settings: SplitSettings, model: FlatModel, rank: int) -> Client:
    """A client that trains the first layers of a model, and in the U-shape the last."""
    last = _layers(settings, model, settings.layer_count - 1, settings.layer_count) if settings.labels_stay else None
    stream = random_stream(settings.seed, "cut", rank)
    return Client(_layers(settings, model, 0, 2 * settings.cut), last, settings.shield, stream)


def simulated(
    settings: SplitSettings, data: Dataset, *, client_count: int, device: torch.device = CPU
) -> tuple[list[Trained], Books]:
    """All parties in this process, with the bits of real ones: the server's end and the clients', and the bytes."""
    books, parties = Books(), [Party(rank, client_count + 1, device) for rank in range(client_count + 1)]
    talks = [server_talk(settings, data, parties[SERVER])]
    talks += [client_talk(settings, data, party, books) for party in parties[1:]]
    return side_by_side(talks, books), books


def summary(trained: Trained, books: Books) -> dict[str, Any]:
    """What a run found, as JSON.

    Args:
        trained: of the server.
        books: of the server, or of all.

    Returns:
        `accuracy` on held-out images; `dcor`, by form, the mean over batches of these, of what was sent of them;
        `explained_share`, what a decoder reads; `loss` of every step where the server has it; `traffic` by sender,
        receiver and subject, `subject_bytes` in sum; and `sent_bytes`, those of training. None is not defined, or not
        measured.
    """
    (found,) = (facts for facts in trained.reports.values() if not math.isnan(facts["accuracy"]))
    numbers = {name: None if math.isnan(value) else value for name, value in found.items()}
    traffic = books.rows()
    for rank, facts in trained.reports.items():
        if facts["handed_count"] and not any(row["sender"] == rank and row["subject"] == WEIGHTS for row in traffic):
            size, count = int(facts["handed_bytes"]), int(facts["handed_count"])
            traffic.append({"sender": rank, "subject": WEIGHTS, "bytes": size, "tensor_count": count})
    by_subject: dict[str, int] = {}
    for row in traffic:
        by_subject[str(row["subject"])] = by_subject.get(str(row["subject"]), 0) + int(str(row["bytes"]))
    return {
        "client_count": len(trained.reports),
        "accuracy": numbers["accuracy"],
        "dcor": {bias: numbers[f"dcor_{bias}"] for bias in BIASES},
        "explained_share": numbers["explained_share"],
        "loss": trained.losses,
        "sent_bytes": sum(size for subject, size in by_subject.items() if subject not in MEASURING),
        "subject_bytes": by_subject,
        "traffic": traffic,
    }


def run(settings: SplitSettings, party: Party) -> dict[str, Any] | None:
    """This process's part; the server has the result."""
    data = load_dataset(settings.data)
    books = Books()
    if party.rank != SERVER:
        party.carry(client_talk(settings, data, party, books), books)
        return None
    return summary(party.carry(server_talk(settings, data, party), books), books)


def line(result: dict[str, Any]) -> str:
    """The result in a line."""
    dcor = [
        f"{name} {'undefined' if value is None else format(value, '.3f')}" for name, value in result["dcor"].items()
    ]
    read = "" if result["explained_share"] is None else f", a decoder reads {result['explained_share']:.3f} of R²"
    return (
        f"accuracy {result['accuracy']:.4f}, distance correlation {', '.join(dcor)}{read}, "
        f"{result['sent_bytes']} bytes with {result['client_count']} client(s)"
    )


def _measured(
    client: Client, settings: SplitSettings, data: Dataset, own: tuple[Tensor, Party]
) -> Talk[dict[str, float]]:
    """On held-out images: accuracy, both distance correlations, and what a decoder reads."""
    images, party = own
    right, sent = 0, []
    correlations: dict[Bias, list[float]] = {bias: [] for bias in BIASES}
    for batch in _held_out_batches(settings, data):
        inputs, labels = data.test_images[batch].to(party.device), data.test_labels[batch].to(party.device)
        activations, scores = yield from client.held_out(inputs)
        if not bool(scores.isfinite().all()):
            raise FloatingPointError("the network's outputs are not finite; try a smaller step size")
        right += int((scores.argmax(dim=1) == labels).sum())
        sent.append(activations)
        for bias in BIASES:
            if len(inputs) >= LEAST_COUNT[bias] and len(correlations[bias]) < CORRELATED_BATCHES:
                correlations[bias].append(float(distance_correlation(inputs, activations, bias=bias)))
    means = {f"dcor_{bias}": fmean(found) if found else _NO_NUMBER for bias, found in correlations.items()}
    facts = {"accuracy": right / len(data.test_labels), **means}
    if settings.attack_steps:
        leaked = images[: settings.leaked_count]
        activations = torch.cat([client.sent(some).sent for some in leaked.split(settings.batch_size)])
        held_out = torch.cat(sent), data.test_images.to(party.device)
        attack = Attack(steps=settings.attack_steps)
        facts["explained_share"] = attacked(
            (activations, leaked), held_out, seed=settings.seed, attack=attack
        ).explained_share
    return facts


def _held_out_batches(settings: SplitSettings, data: Dataset) -> list[slice]:
    """Of the size of a training batch, since a selection is of a batch; the last may be smaller."""
    starts = range(0, len(data.test_labels), settings.batch_size)
    return [slice(first, min(first + settings.batch_size, len(data.test_labels))) for first in starts]


def _neighbours(turns: list[tuple[int, int]], turn: int) -> tuple[int | None, int | None]:
    """The ranks whose turns are before and after."""
    before = turns[turn - 1][0] if turn else None
    return before, turns[turn + 1][0] if turn + 1 < len(turns) else None


def _model(settings: SplitSettings, data: Dataset, device: torch.device = CPU) -> FlatModel:
    """The whole network from the seed; a party trains and reads its own layers only."""
    return FlatModel(
        settings.model,
        feature_count=data.feature_count,
        class_count=data.class_count,
        seed=settings.seed,
        device=device,
    )


def _layers(settings: SplitSettings, model: FlatModel, first: int, end: int) -> Layers:
    part = model.part(first, end)
    descent = new_descent(
        settings.optimiser,
        part.parameters,
        momentum=settings.momentum,
        weight_decay=0.0,
        step_location="outside",
    )
    return Layers(part, descent, settings.step_size)


def _width(model: FlatModel, layer: int) -> int:
    """q: what the layer at the cut takes."""
    return int(next(model.part(layer, layer + 1).network.parameters()).shape[1])


SYSTEM = System(
    summary="clients and a server that share one network, cut in two or three",
    settings=SplitSettings,
    run=run,
    line=line,
    step_count=lambda settings: int(settings.steps),
    least_size=2,
)
"""Split learning."""
