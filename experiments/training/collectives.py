"""The only file that communicates: the mean of all workers' payloads, and a number or a vector from each worker.

`SparsePayload` per local worker → mean [d] on every replica and the bytes sent. `LocalAverager` holds all workers in
one process (simulation), `GroupAverager` holds one and talks to its peers (torchrun). What is said to whom is written
once for both, a file of `experiments/averaging` a collective, and so they agree bit for bit, except where dense vectors
are all-reduced. Here are the calls of torch.distributed that this takes, and those of the hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import torch
import torch.distributed as dist

# Its default arguments hold the default group for ever if it is first imported (as optimisers do) while there is one;
# gloo's threads then outlive `destroy_process_group`, and may abort the process as it ends.
import torch.distributed.nn.functional
from torch import Tensor

from sparsync.experiments.averaging.automatic import measured_link
from sparsync.experiments.averaging.dense import gathered_vectors, gathered_vectors_mean, vectors_mean
from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES, begun, gathered_floats
from sparsync.experiments.averaging.header import Header
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
from sparsync.experiments.averaging.registry import procedure, require_collective
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call, require_timeout
from sparsync.experiments.training.averager import Gathered, VectorAverager, require_rows
from sparsync.experiments.training.groups import kept, present
from sparsync.kernels.payload import SparsePayload


class LocalAverager(VectorAverager):
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
        self._notes: list[dict[str, Tensor]] = []
        self._first_notes: dict[str, Tensor] = {}
        self._step = 0

    knows_count = True

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """The rows themselves."""
        return [list(row) for row in rows]

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """The mean over the given payloads, in their order.

        Raises:
            ValueError: anything but a sequence of payloads, none, dimensions or dtypes that differ, or indices that do
                not ascend strictly within the dimension.
        """
        common_dimension(payloads)
        if len(self._procedures) != len(payloads):
            self._notes = [dict(self._first_notes) for _ in payloads]
            self._procedures = [self._procedure(rank, len(payloads)) for rank in range(len(payloads))]
        step, self._step = self._step, self._step + 1
        return answer_each_other([say(payload, step) for say, payload in zip(self._procedures, payloads, strict=True)])

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """The mean of the given vectors, in their order."""
        return vectors_mean(vectors, vectors[0].dtype)

    def gather_vectors(self, vectors: Sequence[Tensor]) -> Gathered:
        """The given vectors, in their order.

        Raises:
            ValueError: there are none, or they are not of one length and dtype.
        """
        if len({(vector.shape, vector.dtype) for vector in vectors}) != 1:
            raise ValueError(f"expected vectors of one length and dtype, got {[tuple(one.shape) for one in vectors]}")
        return gathered(vectors)

    def state(self) -> dict[str, Tensor]:
        """The notes of the collective, see `Place`."""
        return dict(self._notes[0] if self._notes else self._first_notes)

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Begin anew with those notes."""
        self._first_notes, self._procedures, self._notes = dict(state), [], []

    def _procedure(self, rank: int, size: int) -> Procedure:
        place = Place(
            rank,
            size,
            rank_order=True,
            node_size=self._node_size,
            link=self._link,
            is_checked=False,
            notes=self._notes[rank],
        )
        return procedure(self._collective, place)


class GroupAverager(VectorAverager):
    """One worker in this process; its peers are the ranks of a process group.

    Every call begins with a header from each rank, which says kind and step: all of them raise `ExchangeError`, alike
    and instead of an average, where ranks are in different calls or steps, vectors do not fit together, indices do not
    ascend strictly within the dimension, or what arrives is not what was sent; and where a rank does not come in time.

    Args:
        collective: key of `COLLECTIVES`, the same on all ranks.
        rank_order: dense vectors are all-gathered and added in rank order (so that the bits do not depend
            on the backend's reduction tree) instead of all-reduced; sparse payloads always are.
        node_size: how many neighbours in rank share a node; "hierarchical" knows of nodes.
        link: by which "auto" chooses, the same on all ranks; None is measured at the first call of `average`.
        device: where gathered numbers live, the GPU for NCCL; payloads stay where they are.
        group: None is the default one.
        watch: shown every message of a collective before it is sent, for whoever counts.
        timeout_seconds: how long a rank waits for the others in one operation, of which a call has a few; with NCCL it
            waits on the host.

    Raises:
        ValueError: `collective` is unknown, `node_size` or `timeout_seconds` is not positive, or this rank is not in
            the group.
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
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        if group is not None and dist.get_rank(group) < 0:
            raise ValueError("this rank is not in the group")
        require_collective(collective, node_size)
        require_timeout(timeout_seconds)
        self._collective = collective
        self._rank_order, self._node_size, self._link = rank_order, node_size, link
        self._device = torch.device(device)
        self._group, self._watch, self._timeout_seconds = group, watch, timeout_seconds
        self._procedure: Procedure | None = None
        self._notes: dict[str, Tensor] = {}
        self._step = 0

    knows_count = True

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """This rank's one number in, every rank's out.

        Raises:
            ValueError: not a list of exactly one number.
            ExchangeError: on every rank alike, see the class.
        """
        return super().gather([_only_number(numbers)])

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """This rank's one row in, every rank's out.

        Raises:
            ValueError: not exactly one row, or not one to three numbers in it.
            ExchangeError: on every rank alike, see the class.
        """
        (row,) = require_rows(rows, 1)
        return self._carried("gather", lambda step: gathered_floats(row, step, self._device))

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """This rank's one payload in, the mean over all ranks out.

        Raises:
            ValueError: not a list of exactly one payload.
            ExchangeError: on every rank alike, see the class; or a dimension does not fit int32, a dtype is none of
                the four floating ones, or nodes have different sizes.
        """
        payload = _only_payload(payloads)
        if self._procedure is None:
            rank, size = dist.get_rank(self._group), dist.get_world_size(self._group)
            order, nodes, link, notes = self._rank_order, self._node_size, self._link, self._notes
            place = Place(rank, size, rank_order=order, node_size=nodes, link=link, notes=notes)
            self._procedure = procedure(self._collective, place)
        say = self._procedure
        return self._carried(self._collective, lambda step: say(payload, step), self._watch)

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """This rank's one vector in, the mean over all ranks out.

        Raises:
            ValueError: not exactly one vector.
            ExchangeError: on every rank alike, see the class.
        """
        if len(vectors) != 1:
            raise ValueError(f"expected exactly one vector, that of this rank, got {len(vectors)}")
        place = Place(dist.get_rank(self._group), dist.get_world_size(self._group))
        return self._carried("mean", lambda step: gathered_vectors_mean(vectors[0], step, place))

    def gather_vectors(self, vectors: Sequence[Tensor]) -> Gathered:
        """This rank's one vector in, those of all ranks out.

        Raises:
            ValueError: not exactly one vector.
            ExchangeError: on every rank alike, see the class.
        """
        if len(vectors) != 1:
            raise ValueError(f"expected exactly one vector, that of this rank, got {len(vectors)}")
        place = Place(dist.get_rank(self._group), dist.get_world_size(self._group))
        return gathered(self._carried("vectors", lambda step: gathered_vectors(vectors[0], step, place)))

    def state(self) -> dict[str, Tensor]:
        """The notes of the collective, see `Place`."""
        return dict(self._notes)

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on with those notes."""
        self._notes.clear()
        self._notes.update(state)

    def _carried(
        self, kind: str, say: Callable[[int], Conversation[Answer]], watch: Callable[[Message], None] | None = None
    ) -> Answer:
        """What the conversation of the next step returns."""
        step, self._step = self._step, self._step + 1
        return converse(say(step), Call(f"{kind}, step {step}", self._group, self._timeout_seconds), watch)


def gathered(vectors: Sequence[Tensor]) -> Gathered:
    """The vectors of all workers, with the bytes that an exchange of them takes."""
    size = ENVELOPE_BYTES + vectors[0].numel() * vectors[0].element_size()
    return Gathered(list(vectors), len(vectors) * size)


def measure_link(
    group: dist.ProcessGroup | None = None,
    device: torch.device | str = "cpu",
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Link:
    """Latency and bandwidth between the ranks of a group, asked on all of them, with the same answer.

    Args:
        group: None is the default one.
        device: where messages live, the GPU for NCCL.
        timeout_seconds: how long a rank waits for the others.

    Raises:
        ExchangeError: on every rank alike, where another rank is in another call, or does not come in time.
    """
    place, device = Place(dist.get_rank(group), dist.get_world_size(group)), torch.device(device)

    def measure() -> Conversation[Link]:
        yield from begun(Header("link", 0), place, device)
        return (yield from measured_link(place.size, device))

    return converse(measure(), Call("link, step 0", group, timeout_seconds))


def begin_all_gather(mine: Tensor, call: Call) -> tuple[Tensor, torch.futures.Future[list[Tensor]]]:
    """Start sending a vector [n] to all ranks: where all of them arrive, [ranks, n], and what ends when they have."""
    group: Any = kept(call.group)
    everyone = torch.empty((dist.get_world_size(group), *mine.shape), dtype=mine.dtype, device=mine.device)
    # PyTorch 2.13 renamed it. That of `torch.distributed` takes no timeout.
    gather = getattr(group, "all_gather_single", None) or group._allgather_base
    future: torch.futures.Future[list[Tensor]] = gather(
        everyone.view(-1), mine, call.gather_options(mine.device)
    ).get_future()
    return everyone, future


def begin_all_reduce(part: Tensor, call: Call) -> torch.futures.Future[list[Tensor]]:
    """Start adding a vector over all ranks, in place, and return what ends when it has been."""
    group: Any = kept(call.group)
    future: torch.futures.Future[list[Tensor]] = group.allreduce([part], call.reduce_options(part.device)).get_future()
    return future


def add_over_ranks(part: Tensor, call: Call) -> None:
    """Add a vector over all ranks, in place; waits for them, but for no GPU.

    Raises:
        ExchangeError: a rank does not come in time, or is lost.
    """
    try:
        begin_all_reduce(part, call).wait()
    except RuntimeError as error:
        raise call.lost(error) from None


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


def converse(conversation: Conversation[Answer], call: Call, watch: Callable[[Message], None] | None = None) -> Answer:
    """Carry this rank's side to its end; what that returns.

    Raises:
        ExchangeError: a rank does not come in time, or is lost; or whatever the conversation raises.
    """
    message = next(conversation)
    while True:
        if watch is not None:
            watch(message)
        answered = answer(message, call)
        try:
            message = conversation.send(answered)
        except StopIteration as end:
            found: Answer = end.value
            return found


def answer(message: Message, call: Call) -> list[Tensor]:
    """What others say to a message of this process; an `ExchangeError` where one does not come in time, or is lost."""
    match message:
        case AllGather(mine):
            return _all_gather(mine, call)
        case AllReduce(mine):
            group: Any = present(call.group)
            call.finish(group.allreduce([mine], call.reduce_options(mine.device)), mine.device)
            return [mine]
        case Swap():
            return _swap(message, call)


def _all_gather(mine: Tensor, call: Call) -> list[Tensor]:
    group: Any = present(call.group)
    theirs = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    # That of `torch.distributed` takes no timeout.
    call.finish(group.allgather([theirs], [mine], call.gather_options(mine.device)), mine.device)
    return theirs


def _swap(swap: Swap, call: Call) -> list[Tensor]:
    """Single messages rather than an all-to-all, which would send empty ones over the slow links between nodes."""
    received = {
        rank: torch.empty(count, dtype=torch.uint8, device=swap.device) for rank, count in swap.expected.items()
    }

    def operations(kind: Callable[..., object], parts: Mapping[int, Tensor]) -> list[dist.P2POp]:
        return [
            dist.P2POp(kind, part, group=call.group, group_peer=rank) for rank, part in parts.items() if part.numel()
        ]

    both = operations(dist.isend, swap.parts) + operations(dist.irecv, received)
    try:
        requests = dist.batch_isend_irecv(both) if both else []
    except RuntimeError as error:
        # Over a connection that is lost already nothing can be sent.
        raise call.lost(error) from None
    for request in requests:
        call.finish(request, swap.device)
    return list(received.values())
