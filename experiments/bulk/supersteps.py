"""How is a bulk-synchronous program carried, and what does it cost in bytes? On every rank of a group, or all in one.

A program is a conversation of `experiments/averaging/messages.py`: of each message that it asks for all ranks ask the
same kind at the same time, so that a message is a superstep. The cost is that of Valiant 1990: in a superstep the most
that one rank sends or receives, the h-relation, times the time of a byte, and a latency.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.header import settings_digest
from sparsync.experiments.averaging.messages import (
    AllGather,
    Answer,
    Conversation,
    Message,
    Place,
    Swap,
    all_answers_to_each_other,
)
from sparsync.experiments.averaging.payloads import gathered_numbers
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call, require_timeout
from sparsync.experiments.training.collectives import converse

NUMBER_BYTES = 8
OPENING_COUNT = 3
"""Numbers that every rank tells all others at the beginning: a digest of its settings, a fault, and how much it has."""
_NO_FAULT = -1


@dataclass
class Traffic:
    """What one rank sent to others and received from them, superstep by superstep.

    Args:
        sent_bytes: to all others together.
        received_bytes: from all others together.
    """

    sent_bytes: list[int] = field(default_factory=list)
    received_bytes: list[int] = field(default_factory=list)

    def note(self, message: Message, rank_count: int) -> None:
        """A superstep begins.

        Raises:
            ValueError: a sum over ranks, of which nobody knows how it travels.
        """
        match message:
            case AllGather(mine):
                size = (rank_count - 1) * mine.numel() * mine.element_size()
                sent, received = size, size
            case Swap(parts, expected):
                sent, received = sum(part.numel() for part in parts.values()), sum(expected.values())
            case _:
                raise ValueError(f"no bytes are known of {type(message).__name__}")
        self.sent_bytes.append(sent)
        self.received_bytes.append(received)


def total_bytes(traffics: Sequence[Traffic]) -> int:
    """What all ranks together sent."""
    return sum(sum(one.sent_bytes) for one in traffics)


def relation_bytes(traffics: Sequence[Traffic]) -> int:
    """The h-relations of all supersteps, added up: of each the most that a rank sent or received."""
    both = [(*one.sent_bytes, *one.received_bytes) for one in traffics]
    steps = len(traffics[0].sent_bytes)
    return sum(max(max(one[step], one[steps + step]) for one in both) for step in range(steps))


@dataclass(frozen=True, eq=False)
class Ended(Generic[Answer]):
    """How a program ended on a rank.

    Args:
        rank: where.
        found: what it returned.
        traffic: what it sent and received.
    """

    rank: int
    found: Answer
    traffic: Traffic


class Ranks(Protocol):
    """Those that a program runs on."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def run(self, title: str, start: Callable[[Place], Conversation[Answer]]) -> list[Ended[Answer]]:
        """Carry a program to its end; how it ended on those ranks that this process has.

        Args:
            title: what errors begin with.
            start: of a rank's place, its side.
        """
        ...


@dataclass(frozen=True)
class LocalRanks:
    """All ranks in this process.

    Args:
        size: how many.

    Raises:
        ValueError: there are none.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a program needs ranks, there are {self.size}")

    def run(self, title: str, start: Callable[[Place], Conversation[Answer]]) -> list[Ended[Answer]]:
        """On all of them, side by side."""
        del title
        traffics = [Traffic() for _ in range(self.size)]
        places = [Place(rank, self.size, is_checked=False) for rank in range(self.size)]
        found = all_answers_to_each_other(
            [_counted(start(place), traffic, self.size) for place, traffic in zip(places, traffics, strict=True)]
        )
        return [Ended(rank, one, traffics[rank]) for rank, one in enumerate(found)]


@dataclass(frozen=True)
class GroupRanks:
    """Those of a process group, of which this process is one.

    Args:
        group: None is the default one.
        timeout_seconds: how long a rank waits for the others in a superstep.

    Raises:
        ValueError: the timeout is no time to wait.
    """

    group: dist.ProcessGroup | None = None
    timeout_seconds: float = TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        require_timeout(self.timeout_seconds)

    @property
    def size(self) -> int:
        """Of the group."""
        return dist.get_world_size(self.group)

    def run(self, title: str, start: Callable[[Place], Conversation[Answer]]) -> list[Ended[Answer]]:
        """This rank's side of it.

        Raises:
            ValueError: this rank is not in the group.
            ExchangeError: another rank is lost, or does not come in time.
        """
        if dist.get_rank(self.group) < 0:
            raise ValueError("this rank is not in the group")
        place, traffic = Place(dist.get_rank(self.group), self.size), Traffic()
        conversation = _counted(start(place), traffic, place.size)
        return [
            Ended(place.rank, converse(conversation, Call(title, self.group, self.timeout_seconds)), traffic),
        ]


def _counted(conversation: Conversation[Answer], traffic: Traffic, rank_count: int) -> Conversation[Answer]:
    """The same, with its supersteps noted."""
    message = next(conversation)
    while True:
        traffic.note(message, rank_count)
        answered = yield message
        try:
            message = conversation.send(answered)
        except StopIteration as end:
            found: Answer = end.value
            return found


def opened(
    kind: str, settings: object, *, fault: int | None, count: int, device: torch.device
) -> Conversation[list[int]]:
    """How much every rank has, in rank order, once all are known to mean the same and to have no fault.

    Args:
        kind: the program.
        settings: what all ranks have to agree on.
        fault: the first place of this rank's input that cannot be used.
        count: how much this rank has.
        device: where messages live.

    Raises:
        ValueError: on every rank alike, if one has other settings, or a fault; they are named.
    """
    digest = settings_digest((kind, settings))
    rows = yield from gathered_numbers([digest, _NO_FAULT if fault is None else fault, count], device)
    digests, faults, counts = zip(*rows, strict=True)
    if others := [rank for rank, theirs in enumerate(digests) if theirs != digests[0]]:
        raise ValueError(f"{kind}: ranks {others} have other settings than rank 0; here: {settings}")
    if said := [f"entry {place} of rank {rank}" for rank, place in enumerate(faults) if place != _NO_FAULT]:
        raise ValueError(f"{kind}: {', '.join(said)} cannot be ordered: NaN, or infinite where that is not allowed")
    return list(counts)


def to_everyone(own: Tensor, counts: Sequence[int], place: Place) -> Conversation[list[Tensor]]:
    """The vectors of all ranks, in rank order, whose lengths all know: nothing is padded.

    Args:
        own: [counts[rank]], of this rank, contiguous.
        counts: of all ranks.
        place: of this rank.
    """
    others, size = [rank for rank in range(place.size) if rank != place.rank], own.element_size()
    message = own.view(torch.uint8)
    arrived = yield Swap(dict.fromkeys(others, message), {rank: counts[rank] * size for rank in others}, own.device)
    theirs = [part.view(own.dtype) for part in arrived]
    return [*theirs[: place.rank], own, *theirs[place.rank :]]
