"""Who are the clients of private learning? Settings, shards of the data by Dirichlet's law, and what a client computes.

shard → `local_steps` steps of SGD, or of DP-SGD → the sum of their gradients [d] → error feedback and selection, the
road of `Worker.send` → what travels, which is the business of `private_schemes.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from sparsync.experiments.averaging.fixed_point import FixedPoint
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.learning.differential_privacy import ExampleGradients, Mechanism, poisson_sample
from sparsync.experiments.training.adaptive import new_selector
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.models import FlatModel, require_pair
from sparsync.experiments.training.roads import Worker
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import target_count

Scheme = Literal["federated", "large_batch", "split"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True)
class FederatedSettings:
    """Private distributed learning of one server, rank 0, and a client on each other rank."""

    scheme: Scheme = "federated"
    """federated averaging; large_batch: an exchange after every step; split: activations travel, the upper layers are
    the server's"""
    rounds: int = 20
    """of all clients; in each, every client takes so many steps as the next option says"""
    local_steps: int = 10
    """of a client in a round"""
    batch_size: int = 32
    """examples of a step, expected ones where there is noise; a smaller shard is one batch"""
    step_size: float = 0.1
    """of every step, and of the server"""
    sampled_clients: int | None = None
    """clients of an exchange, drawn anew for each, in large_batch for each step; None is all"""
    dirichlet: float = 1.0
    """concentration of a class over the clients: small is one client each, large is even"""
    density: float = 1.0
    """share of a client's entries that it sends, with error feedback; 1 sends all"""
    selector: str = "top_k"
    """which rule chooses them"""
    secure: bool = False
    """the server sees the sum of what clients send, and nobody's own; with a density below 1 it sees positions too, and
    reads every entry that one client alone selected"""
    threshold: int | None = None
    """clients that must survive an exchange of that, at least 2; None is more than half"""
    drop_client: int | None = None
    """rank of a client that leaves with its masks shared and its vector not sent"""
    drop_round: int = 1
    """in which round, from 0; at the first exchange from there in which it takes part"""
    clip: float | None = None
    """length to which an example's gradient is shortened; None is no differential privacy"""
    noise: float = 0.0
    """deviation of the noise over that length"""
    delta: float = 1e-5
    """of (epsilon, delta)"""
    seeded_noise: bool = False
    """for simulations: noise and samples of private steps follow the seed, so that the server, which knows it, can take
    the noise off; else nobody can draw them again"""
    pass_weights: bool = True
    """in split: each client hands its layers to the next; else everybody keeps its own"""
    cut: int = 2
    """in split: modules of the network, activations among them, that are the client's"""
    model: str = "fnn2"
    """key of VECTOR_MODELS"""
    data: str = "embedded"
    """source of the data"""
    examples: int | None = None
    """training examples of all clients, drawn by the seed; None is all there are"""
    seed: int = 0
    """of parameters, shards and batches; of noise only where that is said"""

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"unknown scheme {self.scheme!r}; known: {', '.join(SCHEMES)}")
        for name in ("rounds", "local_steps", "batch_size", "sampled_clients", "threshold", "drop_client", "cut"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("step_size", "dirichlet"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie in (0, 1), got {self.delta}")
        if self.drop_round < 0 or (self.examples is not None and self.examples < 1):
            raise ValueError(f"drop_round ≥ 0 and examples ≥ 1, got {self.drop_round} and {self.examples}")
        target_count(self.density, 1)
        new_selector(self.selector)
        if self.clip is not None:
            Mechanism(self.clip, self.noise)
        elif self.noise:
            raise ValueError(f"noise {self.noise} is relative to a clip, and there is none")
        if self.drop_client is not None and not self.secure:
            raise ValueError(f"client {self.drop_client} can leave a round only where secure masks can be recovered")
        if self.drop_client is not None and self.drop_round >= self.rounds:
            raise ValueError(
                f"client {self.drop_client} cannot leave in round {self.drop_round} of {self.rounds}, from 0"
            )
        if self.secure and 1 in (self.threshold, self.sampled_clients):
            given = f"threshold {self.threshold} and sampled_clients {self.sampled_clients}"
            raise ValueError(f"secure hides nobody in a sum of one client: {given}, of which neither may be 1")
        unfit = {"secure": self.secure, "clip": self.clip, "sampled_clients": self.sampled_clients}
        unfit["density"] = self.density if self.density < 1 else None
        if self.scheme == "split" and (found := [f"{name} {value}" for name, value in unfit.items() if value]):
            raise ValueError(
                f"split sends activations, and nothing is summed or selected there; got {', '.join(found)}"
            )

    @property
    def mechanism(self) -> Mechanism | None:
        """What makes a step private."""
        return None if self.clip is None else Mechanism(self.clip, self.noise)

    @property
    def steps_together(self) -> int:
        """Steps of a client between two exchanges."""
        return 1 if self.scheme == "large_batch" else self.local_steps

    @property
    def exchanges(self) -> int:
        """How often clients and server meet."""
        return self.rounds * self.local_steps // self.steps_together

    def leaves(self, rank: int, exchange: int) -> bool:
        """Whether a client leaves that takes part in this exchange."""
        return rank == self.drop_client and exchange * self.steps_together // self.local_steps >= self.drop_round

    def quorum(self, client_count: int) -> int:
        """How many clients must survive."""
        return client_count // 2 + 1 if self.threshold is None else self.threshold


FIXED_POINT = FixedPoint()
"""How vectors are added up under masks."""


def require_fit(settings: FederatedSettings, data: Dataset, client_count: int) -> None:
    """The settings suit the data and the number of clients.

    Raises:
        ValueError: they do not.
    """
    require_pair(settings.model, data.kind)
    limits = {
        "sampled_clients": client_count,
        "drop_client": client_count,
        "examples": len(data.train_labels),
        "threshold": settings.sampled_clients or client_count,
    }
    for name, limit in limits.items():
        if (value := getattr(settings, name)) is not None and value > limit:
            raise ValueError(f"{name} may be {limit} at most with {client_count} clients and these data, got {value}")
    if settings.secure and client_count < 2:
        raise ValueError(f"secure hides nobody in a sum of one client, and there are {client_count}")


def shards(settings: FederatedSettings, data: Dataset, client_count: int) -> list[Tensor]:
    """By client, from the first: places of its training examples, ascending."""
    places = member_places(settings, data)
    stream = random_stream(settings.seed, "shards", client_count)
    parts = dirichlet_split(data.train_labels[places], client_count, settings.dirichlet, stream)
    return [places[part] for part in parts]


def member_places(settings: FederatedSettings, data: Dataset) -> Tensor:
    """Places of the training examples that anybody has, ascending; drawn, so that all others are as these were."""
    count = len(data.train_labels)
    if settings.examples is None:
        return torch.arange(count)
    order = torch.randperm(count, generator=random_stream(settings.seed, "members"))
    return order[: settings.examples].sort().values


def dirichlet_split(
    labels: Tensor, client_count: int, concentration: float, generator: torch.Generator
) -> list[Tensor]:
    """Places of the examples of each client: of every class in shares of Dirichlet's law, and at least one in all.

    Who would have none gets one from whoever has most. Source: Hsu, Qi and Brown 2019, arXiv 1909.06335, who draw the
    classes of a client; shares of a class are drawn here, as is usual since, so that no example is left over.

    Args:
        labels: [p] int64.
        client_count: K ≤ p.
        concentration: α of each of the K shares.
        generator: everything is drawn from it.

    Raises:
        ValueError: fewer examples than clients, or α is not positive and finite.
    """
    if not 1 <= client_count <= len(labels):
        raise ValueError(f"{client_count} clients cannot share {len(labels)} examples")
    if not 0 < concentration < math.inf:
        raise ValueError(f"concentration must be positive and finite, got {concentration}")
    draws = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
    parts: list[list[Tensor]] = [[] for _ in range(client_count)]
    for label in labels.unique():
        places = torch.nonzero(labels == label).flatten()
        places = places[torch.randperm(len(places), generator=generator)]
        ends = np.rint(np.cumsum(draws.dirichlet([concentration] * client_count)) * len(places)).astype(int)
        ends[-1] = len(places)
        for part, own in zip(parts, np.split(places.numpy(), ends[:-1]), strict=True):
            part.append(torch.from_numpy(own))
    found = [torch.cat(part) for part in parts]
    for client in range(client_count):
        if not len(found[client]):
            richest = max(range(client_count), key=lambda other: len(found[other]))
            found[client], found[richest] = found[richest][-1:], found[richest][:-1]
    return [part.sort().values for part in found]


def new_model(settings: FederatedSettings, data: Dataset, device: torch.device) -> FlatModel:
    """The same at every party: it is named by the seed."""
    return FlatModel(
        settings.model,
        feature_count=data.feature_count,
        class_count=data.class_count,
        seed=settings.seed,
        device=device,
    )


def batches(settings: FederatedSettings, shard: Tensor, rank: int) -> Iterator[Tensor]:
    """A client's batches without end, places in the data: its shard is permuted anew for each pass, what is left over
    is dropped. Of an empty shard there are none.
    """
    size = min(settings.batch_size, len(shard))
    epoch = 0
    while size:
        order = shard[torch.randperm(len(shard), generator=random_stream(settings.seed, "local order", rank, epoch))]
        for first in range(0, len(shard) - size + 1, size):
            yield order[first : first + size]
        epoch += 1


class Client:
    """What a client has of its own.

    Args:
        settings: those of the run.
        data: everybody's.
        shard: places of its examples in them; it may be empty.
        rank: from 1.
        device: where it computes.
    """

    def __init__(
        self, settings: FederatedSettings, data: Dataset, shard: Tensor, rank: int, device: torch.device
    ) -> None:
        self.rank, self.count = rank, len(shard)
        self.model = new_model(settings, data, device)
        self._settings, self._data, self._shard = settings, data, shard
        self._batches = batches(settings, shard, rank)
        self._mechanism = settings.mechanism
        self._draws = random_stream(settings.seed, "privacy", rank) if settings.seeded_noise else None
        self._example_gradients = ExampleGradients(settings.model, data, self.model) if self._mechanism else None
        vector, feedback = self.model.parameters, Ef14("outside")
        self._worker = Worker(
            rank=rank,
            feedback=feedback,
            memory=feedback.memory(vector.numel(), dtype=vector.dtype, device=vector.device),
            generator=random_stream(settings.seed, "selection", rank),
            selector=settings.selector,
            select=new_selector(settings.selector),
        )

    def local_gradients(self) -> Tensor:
        """[d], the sum of the gradients of the steps between two exchanges, each at where the one before led.

        The model's parameters are what they were. Zeros of an empty shard.

        Raises:
            FloatingPointError: it is not finite.
        """
        before = self.model.parameters.clone()
        total = torch.zeros_like(before)
        for _ in range(self._settings.steps_together if self.count else 0):
            gradient = self._gradient()
            total += gradient
            self.model.parameters.sub_(gradient, alpha=self._settings.step_size)
        self.model.parameters.copy_(before)
        if not bool(total.isfinite().all()):
            raise FloatingPointError(f"client {self.rank}: its update is not finite; try a smaller step size")
        return total

    def selected(self, gradients: Tensor) -> SparsePayload:
        """What is sent of them; the rest is remembered.

        Raises:
            FloatingPointError: with what was remembered they are not finite.
        """
        k = target_count(self._settings.density, gradients.numel())
        sent = self._worker.send(gradients, self._settings.step_size, k)
        if sent is None:
            raise FloatingPointError(f"client {self.rank}: its corrected update is not finite")
        return sent.payload

    def examples(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Images [b, features] and labels [b], where the model is."""
        device = self.model.parameters.device
        return self._data.train_images[places].to(device), self._data.train_labels[places].to(device)

    def next_batch(self) -> Tensor:
        """Places [b] of the next batch."""
        return next(self._batches)

    def _gradient(self) -> Tensor:
        if self._mechanism is None or self._example_gradients is None:
            return self.model.loss_and_gradient(*self.examples(self.next_batch()))[1]
        rate = sample_rate(self._settings, self.count)
        chosen = self._shard[poisson_sample(self.count, rate, self._draws)]
        total = self._mechanism.clipped_sum(self._example_gradients(*self.examples(chosen)))
        return self._mechanism.noisy(total, self._draws) / (rate * self.count)


def sample_rate(settings: FederatedSettings, count: int) -> float:
    """With which an example of a shard of so many is in a private step; it is 1 in shards smaller than a batch."""
    return min(1.0, settings.batch_size / count)


def participants(
    settings: FederatedSettings, present: Sequence[int], counts: Sequence[int], exchange: int
) -> list[int]:
    """Who of the present takes part in an exchange: a sample of those with examples, or all of them; ascending.

    Raises:
        ValueError: nobody has any.
    """
    able = [rank for rank in present if counts[rank - 1]]
    if not able:
        raise ValueError(f"no client that is there has an example: {list(present)}")
    if settings.sampled_clients is None or settings.sampled_clients >= len(able):
        return able
    order = torch.randperm(len(able), generator=random_stream(settings.seed, "participants", exchange))
    return sorted(able[place] for place in order[: settings.sampled_clients].tolist())
