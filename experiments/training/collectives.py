"""The only file that communicates: the mean of all workers' payloads, and a number or a vector from each worker.

`SparsePayload` per local worker → mean [d] on every replica and the bytes sent. `LocalAverager` holds all workers in
one process (simulation), `GroupAverager` holds one and talks to its peers (torchrun). What is said to whom is written
once for both, a file of `experiments/averaging` a collective, and so they agree bit for bit, except where dense vectors
are all-reduced. Here are the calls of torch.distributed that this takes, and those of the hooks.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Protocol

import torch
import torch.distributed as dist

# Its default arguments hold the default group for ever if it is first imported (as optimisers do) while there is one;
# gloo's threads then outlive `destroy_process_group`, and may abort the process as it ends.
import torch.distributed.nn.functional
from torch import Tensor

from sparsync.experiments.averaging.automatic import measured_link
from sparsync.experiments.averaging.dense import vectors_mean
from sparsync.experiments.averaging.link import NOMINAL_LINK, Link
from sparsync.experiments.averaging.messages import (
    AllGather,
    AllReduce,
    Answer,
    Average,
    Conversation,
    Message,
    Place,
    Procedure,
    Swap,
    answer_each_other,
)
from sparsync.experiments.averaging.payloads import common_dimension
from sparsync.experiments.averaging.registry import COLLECTIVES, require_collective
from sparsync.kernels.payload import SparsePayload

_KEPT: list[dist.ProcessGroup] = []
"""Groups in which something was sent in the background; see `_keep`."""
atexit.register(_KEPT.clear)


class Averager(Protocol):
    """How the workers of this process meet all the others."""

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """One number per local worker in, one per worker of the whole run out, in rank order."""
        ...

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """One payload per local worker in, the mean over all workers of the run out."""
        ...

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """One vector per local worker in, the mean over all workers of the run out, added in rank order.

        It is for what is measured: whole vectors travel, and their bytes are nobody's.
        """
        ...


def ranks_unlike_the_first(value: object, averager: Averager, *, local_count: int = 1) -> list[int]:
    """The ranks whose value, as `repr` prints it, is not that of rank 0: asked on every rank, with the same answer.

    Args:
        value: that of this process.
        averager: how its workers meet the others.
        local_count: how many workers live in this process.
    """
    digest = hashlib.sha256(repr(value).encode()).digest()
    # 48 bits, so that the number passes through a float64 unchanged.
    numbers = averager.gather([float(int.from_bytes(digest[:6], "little"))] * local_count)
    return [rank for rank, number in enumerate(numbers) if number != numbers[0]]


class LocalAverager:
    """All workers in this process; counts the bytes that the same exchange would send between processes.

    Args:
        collective: key of `COLLECTIVES`.
        node_size: how many workers, neighbours in rank, share a node; "hierarchical" knows of nodes.
        link: by which "auto" chooses.

    Raises:
        ValueError: `collective` is unknown, or `node_size` is not positive.
    """

    def __init__(self, collective: str, *, node_size: int = 1, link: Link = NOMINAL_LINK) -> None:
        require_collective(collective, node_size)
        self._collective, self._node_size, self._link = collective, node_size, link
        self._procedures: list[Procedure] = []

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """The numbers themselves."""
        return list(numbers)

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """The mean over the given payloads, in their order.

        Raises:
            ValueError: anything but a sequence of payloads, none, or dimensions or dtypes that differ.
        """
        common_dimension(payloads)
        if len(self._procedures) != len(payloads):
            self._procedures = [self._procedure(rank, len(payloads)) for rank in range(len(payloads))]
        return answer_each_other([say(payload) for say, payload in zip(self._procedures, payloads, strict=True)])

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """The mean of the given vectors, in their order."""
        return vectors_mean(vectors, vectors[0].dtype)

    def _procedure(self, rank: int, size: int) -> Procedure:
        place = Place(rank, size, rank_order=True, node_size=self._node_size, link=self._link)
        return COLLECTIVES[self._collective](place)


class GroupAverager:
    """One worker in this process; its peers are the ranks of a process group.

    Args:
        collective: key of `COLLECTIVES`, the same on all ranks.
        rank_order: dense vectors are all-gathered and added in rank order (so that the bits do not depend
            on the backend's reduction tree) instead of all-reduced; sparse payloads always are.
        node_size: how many neighbours in rank share a node; "hierarchical" knows of nodes.
        link: by which "auto" chooses, the same on all ranks; None is measured at the first call of `average`.
        device: where gathered numbers live, the GPU for NCCL; payloads stay where they are.
        group: None is the default one.
        watch: shown every message of a collective before it is sent, for whoever counts.

    Raises:
        ValueError: `collective` is unknown, `node_size` is not positive, or this rank is not in the group.
    """

    def __init__(
        self,
        collective: str,
        *,
        rank_order: bool = False,
        node_size: int = 1,
        link: Link | None = None,
        device: torch.device | str = "cpu",
        group: dist.ProcessGroup | None = None,
        watch: Callable[[Message], None] | None = None,
    ) -> None:
        if group is not None and dist.get_rank(group) < 0:
            raise ValueError("this rank is not in the group")
        require_collective(collective, node_size)
        self._collective = collective
        self._rank_order, self._node_size, self._link = rank_order, node_size, link
        self._device = torch.device(device)
        self._group, self._watch = group, watch
        self._procedure: Procedure | None = None

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """This rank's one number in, every rank's out.

        Raises:
            ValueError: not a list of exactly one number.
        """
        mine = torch.tensor([_only_number(numbers)], dtype=torch.float64, device=self._device)
        return [float(theirs) for theirs in _all_gather(mine, self._group)]

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """This rank's one payload in, the mean over all ranks out.

        Vectors of a dense collective must be of one length and dtype on all ranks, which nobody checks: that would take
        one more exchange.

        Raises:
            ValueError: not a list of exactly one payload; or, on every rank alike and before entries are sent, sparse
                payloads whose dimension or dtype, or nodes whose size, differs between ranks, or a payload whose
                dimension does not fit int32 or whose dtype is none of the four floating ones.
        """
        payload = _only_payload(payloads)
        if self._procedure is None:
            rank, size = dist.get_rank(self._group), dist.get_world_size(self._group)
            place = Place(rank, size, rank_order=self._rank_order, node_size=self._node_size, link=self._link)
            self._procedure = COLLECTIVES[self._collective](place)
        return _converse(self._procedure(payload), self._group, self._watch)

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """This rank's one vector in, the mean over all ranks out; of one length and dtype on all of them.

        Raises:
            ValueError: not exactly one vector.
        """
        if len(vectors) != 1:
            raise ValueError(f"expected exactly one vector, that of this rank, got {len(vectors)}")
        return vectors_mean(_all_gather(vectors[0], self._group), vectors[0].dtype)


def measure_link(group: dist.ProcessGroup | None = None, device: torch.device | str = "cpu") -> Link:
    """Latency and bandwidth between the ranks of a group, asked on all of them, with the same answer.

    Args:
        group: None is the default one.
        device: where messages live, the GPU for NCCL.
    """
    return _converse(measured_link(dist.get_world_size(group), torch.device(device)), group)


def begin_all_gather(
    mine: Tensor, group: dist.ProcessGroup | None
) -> tuple[Tensor, torch.futures.Future[list[Tensor]]]:
    """Start sending a vector [n] to all ranks: where all of them arrive, [ranks, n], and what ends when they have."""
    _keep(group)
    everyone = torch.empty((dist.get_world_size(group), *mine.shape), dtype=mine.dtype, device=mine.device)
    # PyTorch 2.13 renamed it and warns of the old name.
    gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
    future: torch.futures.Future[list[Tensor]] = gather(
        everyone.view(-1), mine, group=group, async_op=True
    ).get_future()
    return everyone, future


def begin_all_reduce(part: Tensor, group: dist.ProcessGroup | None) -> torch.futures.Future[list[Tensor]]:
    """Start adding a vector over all ranks, in place, and return what ends when it has been."""
    _keep(group)
    future: torch.futures.Future[list[Tensor]] = dist.all_reduce(part, group=group, async_op=True).get_future()
    return future


def _keep(group: dist.ProcessGroup | None) -> None:
    """Keep a group from being freed by whoever holds Python's lock, as DistributedDataParallel's reducer does.

    To be freed, a gloo group joins its threads, and they need that lock to let go of what was sent in the background:
    the process would hang. Python itself frees a group without the lock.
    """
    group = dist.group.WORLD if group is None else group
    if group is None or group in _KEPT:
        return
    # Time enough has passed for the threads of groups that were destroyed before this one was made.
    _KEPT[:] = [kept for kept in _KEPT if _is_in_use(kept)]
    _KEPT.append(group)


def _is_in_use(group: dist.ProcessGroup) -> bool:
    try:
        dist.get_process_group_ranks(group)
    except KeyError:
        return False
    return True


def _only_payload(payloads: object) -> SparsePayload:
    match payloads:
        case [SparsePayload() as payload]:
            return payload
    raise ValueError(f"expected a list of exactly one payload, that of this rank, got {_kind(payloads)}")


def _only_number(numbers: object) -> float:
    match numbers:
        case [Real() as number]:
            return float(number)
    raise ValueError(f"expected a list of exactly one number, that of this rank, got {_kind(numbers)}")


def _kind(given: object) -> str:
    """What an error message calls an argument of a wrong kind."""
    match given:
        case [other]:
            return f"a list of one {type(other).__name__}"
        case [*several]:
            return f"a list of {len(several)}"
    return type(given).__name__


def _converse(
    conversation: Conversation[Answer],
    group: dist.ProcessGroup | None,
    watch: Callable[[Message], None] | None = None,
) -> Answer:
    """Carry this rank's side to its end; what that returns."""
    message = next(conversation)
    while True:
        if watch is not None:
            watch(message)
        answer = _answer(message, group)
        try:
            message = conversation.send(answer)
        except StopIteration as end:
            found: Answer = end.value
            return found


def _answer(message: Message, group: dist.ProcessGroup | None) -> list[Tensor]:
    match message:
        case AllGather(mine):
            return _all_gather(mine, group)
        case AllReduce(mine):
            dist.all_reduce(mine, group=group)
            return [mine]
        case Swap():
            return _swap(message, group)


def _all_gather(mine: Tensor, group: dist.ProcessGroup | None) -> list[Tensor]:
    theirs = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(theirs, mine, group=group)
    return theirs


def _swap(swap: Swap, group: dist.ProcessGroup | None) -> list[Tensor]:
    """Single messages rather than an all-to-all, which would send empty ones over the slow links between nodes."""
    received = {
        rank: torch.empty(count, dtype=torch.uint8, device=swap.device) for rank, count in swap.expected.items()
    }

    def operations(kind: Callable[..., object], parts: Mapping[int, Tensor]) -> list[dist.P2POp]:
        return [dist.P2POp(kind, part, group=group, group_peer=rank) for rank, part in parts.items() if part.numel()]

    both = operations(dist.isend, swap.parts) + operations(dist.irecv, received)
    for request in dist.batch_isend_irecv(both) if both else ():
        request.wait()
    return list(received.values())
