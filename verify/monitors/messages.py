"""Is every message treated exactly once? Sent, arrived, then either applied or dropped."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sparsync.verify.monitors.books import BrokenPromiseError, Handlers
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import (
    Applied,
    Arrived,
    Departed,
    Dropped,
    Fetched,
    Header,
    Joined,
    Lost,
    Mixed,
    Released,
    Sent,
)


class Messages:
    """Where each message is, and how many of each worker had which fate.

    Args:
        header: of the run.
        guarantee: whether messages may be dropped.
    """

    def __init__(self, header: Header, guarantee: Guarantee) -> None:
        self._is_lossless = guarantee.lossless
        self._next = 0
        self.in_flight: dict[int, int] = {}
        """senders of what was sent and has not arrived"""
        self.inbox: dict[int, int] = {}
        """senders of what has arrived and is not settled"""
        self._may_be_lost: set[int] = set()
        """on their way when their sender crashed"""
        count = header.worker_count
        self.sent, self.applied, self.dropped, self.lost = ([0] * count for _ in range(4))
        self.sent_bytes, self.pulled_bytes = [0] * count, [0] * count
        self.mixed_bytes = 0

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {
            Sent: self._sent,
            Arrived: self._arrived,
            Applied: self._applied,
            Dropped: self._dropped,
            Released: self._released,
            Joined: self._joined,
            Departed: self._departed,
            Fetched: self._fetched,
            Lost: self._lost,
            Mixed: self._mixed,
        }

    def _sent(self, event: Sent) -> None:
        message, worker = event.message, event.worker
        if message != self._next:
            raise BrokenPromiseError(
                f"worker {worker} sends message {message} where {self._next} is due: numbers follow the sending"
            )
        self._next += 1
        self.in_flight[message] = worker
        self.sent[worker] += 1
        self.sent_bytes[worker] += event.sent_bytes

    def _arrived(self, event: Arrived) -> None:
        message = event.message
        if message not in self.in_flight:
            raise BrokenPromiseError(f"message {message} arrives, but it {self._fate(message)}")
        self.inbox[message] = self.in_flight.pop(message)

    def _applied(self, event: Applied) -> None:
        messages, weights = event.messages, event.weights
        if len(messages) != len(weights):
            raise BrokenPromiseError(f"messages {messages} are applied with {len(weights)} weights {weights}")
        if not all(map(math.isfinite, weights)):
            raise BrokenPromiseError(f"messages {messages} are applied with weights {weights}")
        self._settle(messages, self.applied, "applied")

    def _dropped(self, event: Dropped) -> None:
        if self._is_lossless:
            senders = [self.inbox.get(message) for message in event.messages]
            raise BrokenPromiseError(f"messages {event.messages} of workers {senders} are dropped, none may be")
        self._settle(event.messages, self.dropped, "dropped")

    def _settle(self, messages: Iterable[int], counts: list[int], fate: str) -> None:
        for message in messages:
            if message not in self.inbox:
                raise BrokenPromiseError(f"message {message} is {fate}, but it {self._fate(message)}")
            counts[self.inbox.pop(message)] += 1

    def _fetched(self, event: Fetched) -> None:
        self.pulled_bytes[event.worker] += event.pulled_bytes

    def _mixed(self, event: Mixed) -> None:
        """What a member publishes it sends, and each of the others reads it."""
        if len(event.sent_bytes) != len(event.members):
            raise BrokenPromiseError(f"members {event.members} mix, and publish {event.sent_bytes} bytes")
        published = sum(event.sent_bytes)
        self.mixed_bytes += published
        for member, size in zip(event.members, event.sent_bytes, strict=True):
            self.sent_bytes[member] += size
            self.pulled_bytes[member] += published - size

    def _departed(self, event: Departed) -> None:
        if event.reason == "crashed":
            self._may_be_lost.update(uid for uid, sender in self.in_flight.items() if sender == event.worker)

    def _lost(self, event: Lost) -> None:
        message = event.message
        if message not in self.in_flight:
            raise BrokenPromiseError(f"message {message} is lost, but it {self._fate(message)}")
        if message not in self._may_be_lost:
            raise BrokenPromiseError(f"message {message} is lost, but its sender has not crashed since")
        self.lost[self.in_flight.pop(message)] += 1

    def _joined(self, event: Joined) -> None:
        self.pulled_bytes[event.worker] += event.pulled_bytes

    def _released(self, event: Released) -> None:
        worker, corrections = event.worker, event.corrections
        self.pulled_bytes[worker] += event.pulled_bytes
        if not corrections:
            return
        if event.version < 0 or len(set(corrections)) < len(corrections):
            raise BrokenPromiseError(f"worker {worker} adds {corrections} to the model of version {event.version}")
        for message in corrections:
            sender = self.in_flight.get(message, self.inbox.get(message))
            if sender is None:
                raise BrokenPromiseError(f"worker {worker} adds message {message}, but it {self._fate(message)}")
            if sender != worker:
                raise BrokenPromiseError(f"worker {worker} adds message {message}, but that is of worker {sender}")

    def _fate(self, message: int) -> str:
        if message in self.in_flight:
            return "is still on its way"
        if message in self.inbox:
            return "has arrived before"
        return "was applied, dropped or lost before" if 0 <= message < self._next else "was never sent"
