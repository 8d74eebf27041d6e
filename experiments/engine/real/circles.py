"""Members that mix their models tell each other what is new of them, without a server, in a group of their own.

First all say how much they have heard of each other before, then each sends what the one who knows least of it has
missed: the compressed changes since, or its whole public copy where that is shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import AllgatherOptions

from sparsync.experiments.engine.layout import Shipment
from sparsync.experiments.engine.real.letters import as_bytes, as_vector
from sparsync.experiments.engine.real.roads import Announcements
from sparsync.experiments.engine.real.wire import SILENCE, ParcelError
from sparsync.experiments.engine.worker_vectors import WorkerVectors
from sparsync.kernels.codec import decode, encode

Lives = tuple[tuple[int, ...], tuple[int, ...]]
"""Members and their incarnations."""


class Circles:
    """The groups of one life of a worker, and what it knows of other lives' models.

    Args:
        vectors: its own.
        announcements: where members find each other.
        timeout_seconds: for them to come.
    """

    def __init__(self, vectors: WorkerVectors, announcements: Announcements, *, timeout_seconds: float) -> None:
        self._vectors, self._announcements, self._timeout_seconds = vectors, announcements, timeout_seconds
        self._groups: dict[Lives, dist.ProcessGroup] = {}
        self._heard: dict[tuple[int, int], tuple[int, Tensor]] = {}
        """by life of another worker: how many tellings were heard, and what is known of its model"""

    def tell(self, members: tuple[int, ...], incarnations: tuple[int, ...]) -> tuple[int, list[Tensor]]:
        """Publish, and hear the others: bytes that were sent, and what is known [d] of all members' models.

        Raises:
            RuntimeError: one of them is lost, or said what cannot be.
        """
        lives = list(zip(members, incarnations, strict=True))
        group = self._group((members, incarnations))
        place = members.index(self._vectors.worker)
        self._vectors.publish()
        heard = [self._heard.get(life, (0, None))[0] for life in lives]
        table = _gathered(group, torch.tensor([self._vectors.published_count, *heard]), len(lives))
        # Of member i: how many tellings there are, then what is heard of member 0, 1, … there.
        told = [int(row[0]) for row in table]
        least = [min(int(row[1 + i]) for j, row in enumerate(table) if j != i) for i in range(len(lives))]
        sent_bytes, news = self._vectors.untold(least[place])
        own = _packed(news) if news is not None else as_bytes(self._vectors.public)
        sizes = _gathered(group, torch.tensor([own.numel(), int(news is None)]), len(lives))
        longest = max(int(size) for size, _ in sizes)
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: own.numel()] = own
        bodies = _gathered(group, padded, len(lives))
        copies = []
        for index, life in enumerate(lives):
            size, is_whole = (int(value) for value in sizes[index])
            if index != place:
                new_count = told[index] - least[index]
                self._hear(life, bodies[index][:size], told[index], new_count, is_whole=bool(is_whole))
            copies.append(self._vectors.public if index == place else self._heard[life][1])
        return sent_bytes, copies

    def _hear(self, life: tuple[int, int], body: Tensor, told: int, new_count: int, *, is_whole: bool) -> None:
        layout = self._vectors.layout
        if is_whole:
            self._heard[life] = told, as_vector(body, layout.dtype, layout.dimension).clone()
            return
        before, known = self._heard.get(life, (0, layout.rounded(self._vectors.problem.initial.clone())))
        shipments = _unpacked(body, new_count)
        # Those before were heard already, since another member had missed them.
        for shipment in shipments[len(shipments) - (told - before) :]:
            shipment.add_to(known, 1.0)
        self._heard[life] = told, known

    def _group(self, lives: Lives) -> dist.ProcessGroup:
        if lives not in self._groups:
            self._groups[lives] = self._announcements.circle(*lives, self._vectors.worker, self._timeout_seconds)
        return self._groups[lives]


def _gathered(group: dist.ProcessGroup, own: Tensor, count: int) -> Sequence[Tensor]:
    found = [torch.empty_like(own) for _ in range(count)]
    if own.numel():
        options = AllgatherOptions()
        options.timeout = SILENCE
        group.allgather([found], [own], options).wait()
    return found


def _packed(shipments: Sequence[Shipment]) -> Tensor:
    """Shipments of whole models as bytes, each with its length before it."""
    parts = bytearray()
    for shipment in shipments:
        assert shipment.payload is not None
        message = encode(shipment.payload, values="exact", indices="int32")
        parts += len(message).to_bytes(8, "little") + message
    return torch.frombuffer(parts, dtype=torch.uint8) if parts else torch.empty(0, dtype=torch.uint8)


def _unpacked(body: Tensor, count: int) -> list[Shipment]:
    data, found, place = body.numpy().tobytes(), [], 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 8], "little")
        try:
            payload = decode(data[place + 8 : place + 8 + size])
        except ValueError as error:
            raise ParcelError(f"what a member tells cannot be decoded: {error}") from None
        found.append(Shipment(payload.indices.long(), payload.values, payload))
        place += 8 + size
    if len(found) != count:
        raise ParcelError(f"a member tells {len(found)} changes of its model, {count} are new")
    return found
