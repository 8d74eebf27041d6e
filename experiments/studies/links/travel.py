"""What does an exchange put on a link? Messages one after the other, and the bytes that a worker sends.

P workers that all-gather n bytes each pass them round a ring: P − 1 messages of n bytes. An all-reduce is a
reduce-scatter and an all-gather of P parts: 2(P − 1) messages of n/P bytes. With a message of n bytes taking α + nβ
these are the times of `averaging/link.py`. What the program of a message adds, frames and headers, is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparsync.experiments.averaging.messages import AllGather, AllReduce, Message


@dataclass(frozen=True)
class Travel:
    """What one worker sends.

    Args:
        message_count: one after the other.
        sent_bytes: of all of them.
    """

    message_count: float = 0.0
    sent_bytes: float = 0.0

    def __add__(self, other: Travel) -> Travel:
        return Travel(self.message_count + other.message_count, self.sent_bytes + other.sent_bytes)

    def times(self, factor: float) -> Travel:
        """Of so many exchanges."""
        return Travel(factor * self.message_count, factor * self.sent_bytes)


def gathered(worker_count: int, size_bytes: float) -> Travel:
    """P − 1 messages of n bytes."""
    return Travel(1, size_bytes).times(worker_count - 1)


def reduced(worker_count: int, size_bytes: float) -> Travel:
    """2(P − 1) messages of n/P bytes."""
    return gathered(worker_count, size_bytes / worker_count).times(2)


def message_travel(message: Message, worker_count: int) -> Travel:
    """Of a message of a collective; those to single workers go one after the other, empty ones not at all."""
    match message:
        case AllGather(mine):
            return gathered(worker_count, mine.nbytes)
        case AllReduce(mine):
            return reduced(worker_count, mine.nbytes)
    parts = [part.nbytes for part in message.parts.values() if part.numel()]
    return Travel(len(parts), sum(parts))
