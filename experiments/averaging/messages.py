"""What a worker may ask of the others, so that a collective is written once and runs in processes and in simulation.

A collective is a *conversation*: a generator that yields messages, is sent their answers, and returns the mean.
`GroupAverager` carries a rank's conversation over a process group; `LocalAverager` carries those of all workers, by
`answer_each_other`. Every worker yields the same kinds of messages in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import torch
from torch import Tensor

from sparsync.experiments.averaging.link import Link
from sparsync.kernels.payload import SparsePayload

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class AllGather:
    """A vector [n], of one length and dtype on all workers; the answer is everyone's, in rank order."""

    mine: Tensor


@dataclass(frozen=True, eq=False)
class AllReduce:
    """A vector [n] that may be overwritten; the answer is a list of one, the sum over all workers."""

    mine: Tensor


@dataclass(frozen=True, eq=False)
class Swap:
    """Bytes to and from single workers, other than oneself; nothing travels where there are none.

    Args:
        parts: [bytes] uint8, by the rank that it goes to.
        expected: how many bytes, by the rank that they come from; the answer is what came, in this order.
        device: where what comes is put.
    """

    parts: Mapping[int, Tensor]
    expected: Mapping[int, int]
    device: torch.device


Message: TypeAlias = AllGather | AllReduce | Swap
Conversation: TypeAlias = Generator[Message, list[Tensor], Answer]


@dataclass(frozen=True, eq=False)
class Average:
    """The mean of all workers' payloads.

    Args:
        mean: [d].
        sent_bytes: what all workers together handed to the collective, padding and headers included.
        between_nodes_bytes: those of them that left a node, where the collective knows of nodes.
        collective: which one it was, where that was chosen by the payloads.
    """

    mean: Tensor
    sent_bytes: int
    between_nodes_bytes: int | None = None
    collective: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a worker stands.

    Args:
        rank: its own, from 0.
        size: P.
        rank_order: dense vectors are gathered and added in rank order, instead of all-reduced.
        node_size: how many neighbours in rank share a node; the last node may have fewer.
        link: between any two workers; None is measured when it is needed.
        is_checked: what is received is compared with checksums; not where all workers live in one process.
        notes: what a procedure remembers from call to call, by name, alike on all workers; a run that goes on has them.
    """

    rank: int
    size: int
    rank_order: bool = False
    node_size: int = 1
    link: Link | None = None
    is_checked: bool = True
    notes: dict[str, Tensor] = field(default_factory=dict, compare=False)


Procedure: TypeAlias = Callable[[SparsePayload, int], Conversation[Average]]
"""What one worker does with its payload, and the number of the step; it may remember what helps in the next."""


def answer_each_other(conversations: Sequence[Conversation[Answer]]) -> Answer:
    """Carry the conversations of all workers, in rank order, in this process; what that of rank 0 returns."""
    return carried(conversations, _answers)


def carried(
    conversations: Sequence[Conversation[Answer]], answers_to: Callable[[Sequence[Message]], list[list[Tensor]]]
) -> Answer:
    """Carry conversations side by side; what the first one returns.

    The others are not carried on once nothing is left to be said: they would find the same.

    Args:
        conversations: of workers, in rank order.
        answers_to: what each is answered, of all their messages.
    """
    first, *others = conversations
    message, messages = next(first), [next(other) for other in others]
    while True:
        own_answer, *answers = answers_to([message, *messages])
        try:
            message = first.send(own_answer)
        except StopIteration as end:
            for other in others:
                other.close()
            found: Answer = end.value
            return found
        messages = [other.send(answer) for other, answer in zip(others, answers, strict=True)]


def all_answers_to_each_other(conversations: Sequence[Conversation[Answer]]) -> list[Answer]:
    """Carry the conversations of all workers, in rank order, in this process; what each returns, all at once."""
    messages = [next(conversation) for conversation in conversations]
    while True:
        going_on: list[Message] = []
        found: list[Answer] = []
        for conversation, answer in zip(conversations, _answers(messages), strict=True):
            try:
                going_on.append(conversation.send(answer))
            except StopIteration as end:
                found.append(end.value)
        assert not (going_on and found), "workers of which some have ended"
        if found:
            return found
        messages = going_on


def _answers(messages: Sequence[Message]) -> list[list[Tensor]]:
    """What each worker is answered."""
    gathered = [message.mine for message in messages if isinstance(message, AllGather)]
    reduced = [message.mine for message in messages if isinstance(message, AllReduce)]
    swaps = [message for message in messages if isinstance(message, Swap)]
    assert len(messages) in (len(gathered), len(reduced), len(swaps)), "workers that do not say the same"
    if gathered:
        return [gathered] * len(messages)
    if reduced:
        total = torch.stack(reduced).sum(dim=0)
        return [[total.clone()] for _ in reduced]
    return [
        [_delivered(swaps[sender], rank, count) for sender, count in swap.expected.items()]
        for rank, swap in enumerate(swaps)
    ]


def _delivered(sender: Swap, rank: int, count: int) -> Tensor:
    part = sender.parts.get(rank, torch.empty(0, dtype=torch.uint8, device=sender.device))
    assert part.numel() == count, f"rank {rank} expects {count} bytes, and {part.numel()} are sent"
    return part
