"""What does a schedule of messages bring about, and when is it over? Rounds are played, data move, clocks advance.

A worker holds blocks: neighbouring coordinates of one value. In a round it sends at most one message and receives at
most one. A message begins when both its workers have done what they had to do in earlier rounds; there is no
barrier, so that the end comes when the last worker is done. Additions take time where the message arrives. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, order=True)
class Block:
    """Neighbouring coordinates, alike in everything.

    Args:
        place: of the block among all; whole, so that blocks are told apart quickly.
        width: how many coordinates it has; any positive number, so that parts need not be whole.
    """

    place: int
    width: Fraction = field(compare=False)


Payload = Mapping[Block, Fraction]
"""The value of each block."""
Store = dict[Block, Fraction]
"""What a worker has."""


@dataclass(frozen=True)
class Link:
    """Between two workers.

    Args:
        message_seconds: α, of a message.
        byte_seconds: β, of a byte.
    """

    message_seconds: Fraction
    byte_seconds: Fraction


@dataclass(frozen=True)
class Message:
    """What one worker tells another.

    Args:
        sender: a worker.
        receiver: another.
        payloads: what travels, as it is when the round begins.
        is_added: the receiver adds it to what it has; else it takes the place of that.
    """

    sender: int
    receiver: int
    payloads: tuple[Payload, ...]
    is_added: bool


Round = Sequence[Message]
Schedule = Iterator[Round]
"""Yields a round, goes on when it has been delivered."""


@dataclass(frozen=True)
class Costs:
    """What time is spent on.

    Args:
        link_between: of a sender and a receiver.
        merge_seconds: γ, of a byte that is added.
        unit_bytes: of one coordinate: of its value, and of its position where that travels.
    """

    link_between: Callable[[int, int], Link]
    merge_seconds: Fraction
    unit_bytes: Fraction


def width(payloads: Iterable[Payload]) -> Fraction:
    """Coordinates in all blocks of all payloads."""
    return sum((block.width for payload in payloads for block in payload), Fraction(0))


def play(stores: Sequence[Store], schedule: Schedule, costs: Costs) -> Fraction:
    """Deliver all messages of a schedule, round by round; seconds until the last worker is done.

    Args:
        stores: of all workers; changed as messages arrive.
        schedule: reads the stores.
        costs: of messages, bytes and additions.

    Raises:
        ValueError: in a round a worker sends twice, receives twice, or sends to itself.
    """
    clocks = [Fraction(0)] * len(stores)
    for messages in schedule:
        _require_one_port(messages)
        ready = tuple(clocks)
        for message in messages:
            size = width(message.payloads) * costs.unit_bytes
            link = costs.link_between(message.sender, message.receiver)
            begin = max(ready[message.sender], ready[message.receiver])
            end = begin + link.message_seconds + size * link.byte_seconds
            added = end + size * costs.merge_seconds if message.is_added else end
            clocks[message.sender] = max(clocks[message.sender], end)
            clocks[message.receiver] = max(clocks[message.receiver], added)
            _deliver(stores[message.receiver], message)
    return max(clocks)


def sums(stores: Iterable[Payload]) -> Store:
    """The sum of what all have, block by block."""
    total: Store = {}
    for store in stores:
        add(total, store)
    return total


def add(store: Store, payload: Payload) -> None:
    """Put a payload on top of what a store has."""
    for block, value in payload.items():
        store[block] = store.get(block, Fraction(0)) + value


def _deliver(store: Store, message: Message) -> None:
    for payload in message.payloads:
        if message.is_added:
            add(store, payload)
        else:
            store.update(payload)


def _require_one_port(messages: Round) -> None:
    for port in ("sender", "receiver"):
        workers = [getattr(message, port) for message in messages]
        if len({*workers}) < len(workers):
            raise ValueError(f"in one round every worker can be {port} of one message, got {workers}")
    for message in messages:
        if message.sender == message.receiver:
            raise ValueError(f"worker {message.sender} sends to itself")
