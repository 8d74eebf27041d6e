"""The only file that communicates: the mean of all workers' payloads, and a number or a vector from each worker.

`SparsePayload` per local worker → mean [d] on every replica and the bytes sent. `LocalAverager` holds all workers in
one process (simulation), `GroupAverager` holds one and talks to its peers (torchrun); both add in rank order, so they
agree bit for bit, except where dense vectors are all-reduced.

Sparse payloads are all-gathered: first their headers, then values and indices padded to the largest count.
Ranks may thus send different numbers of entries, or none, and every entry arrives exactly once.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, Protocol

import torch
import torch.distributed as dist

# Its default arguments hold the default group for ever if it is first imported (as optimisers do) while there is one;
# gloo's threads then outlive `destroy_process_group`, and may abort the process as it ends.
import torch.distributed.nn.functional
from torch import Tensor

from sparsync.kernels.payload import SparsePayload

CollectiveName = Literal["sparse", "dense", "dense_bfloat16"]
COLLECTIVES: tuple[CollectiveName, ...] = ("sparse", "dense", "dense_bfloat16")

# One int64: the number of the dtype among these, less two, in 2 bits, then dimension and count in 31 bits each.
_DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
_HEADER_BYTES = 8
_LARGEST_DIMENSION = torch.iinfo(torch.int32).max

_KEPT: list[dist.ProcessGroup] = []
"""Groups in which something was sent in the background; see `_keep`."""
atexit.register(_KEPT.clear)


@dataclass(frozen=True, eq=False)
class Average:
    """The mean of all workers' payloads.

    Args:
        mean: [d].
        sent_bytes: what all workers together handed to the collective, padding and headers included.
    """

    mean: Tensor
    sent_bytes: int


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


def mean_in_rank_order(payloads: Sequence[SparsePayload]) -> Tensor:
    """The mean [d] of the payloads' dense forms, added one rank after the other.

    Raises:
        ValueError: anything but a sequence of payloads, none, or dimensions or dtypes that differ.
    """
    dimension = _common_dimension(payloads)
    total = torch.zeros(dimension, dtype=payloads[0].values.dtype, device=payloads[0].values.device)
    for payload in payloads:
        # Indices are unique within a payload, so no addition is lost.
        total[payload.indices.long()] += payload.values
    return total.div_(len(payloads))


class LocalAverager:
    """All workers in this process; counts the bytes that the same exchange would send between processes."""

    def __init__(self, collective: CollectiveName) -> None:
        self._collective = _checked(collective)

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """The numbers themselves."""
        return list(numbers)

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """The mean over the given payloads, in their order.

        Raises:
            ValueError: see `mean_in_rank_order`.
        """
        _common_dimension(payloads)
        if self._collective == "sparse":
            sent = _sparse_bytes(payloads[0], [payload.count for payload in payloads])
            return Average(mean_in_rank_order(payloads), sent)
        wire = [_on_wire(payload, self._collective) for payload in payloads]
        return Average(_dense_mean_in_order(wire, payloads[0].values.dtype), _dense_bytes(wire[0], len(wire)))

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """The mean of the given vectors, in their order."""
        return _dense_mean_in_order(vectors, vectors[0].dtype)


class GroupAverager:
    """One worker in this process; its peers are the ranks of a process group.

    Args:
        collective: "sparse" all-gathers payloads; "dense" and "dense_bfloat16" send whole vectors.
        rank_order: dense vectors are all-gathered and added in rank order (so that the bits do not depend
            on the backend's reduction tree) instead of all-reduced; sparse payloads always are.
        device: where gathered numbers live, the GPU for NCCL; payloads stay where they are.
        group: None is the default one.

    Raises:
        ValueError: `collective` is unknown, or this rank is not in the group.
    """

    def __init__(
        self,
        collective: CollectiveName,
        *,
        rank_order: bool = False,
        device: torch.device | str = "cpu",
        group: dist.ProcessGroup | None = None,
    ) -> None:
        if group is not None and dist.get_rank(group) < 0:
            raise ValueError("this rank is not in the group")
        self._collective = _checked(collective)
        self._rank_order = rank_order
        self._device = torch.device(device)
        self._group = group

    def gather(self, numbers: Sequence[float]) -> list[float]:
        """This rank's one number in, every rank's out.

        Raises:
            ValueError: not a list of exactly one number.
        """
        mine = torch.tensor([_only_number(numbers)], dtype=torch.float64, device=self._device)
        return [float(theirs) for theirs in _all_gather(mine, self._group)]

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """This rank's one payload in, the mean over all ranks out.

        Dense vectors must be of one length and dtype on all ranks, which nobody checks: that would take one more
        exchange.

        Raises:
            ValueError: not a list of exactly one payload; or sparse payloads whose dimension or dtype differs between
                ranks, on every rank alike and before their entries are sent; or, on this rank alone, whose dimension
                does not fit int32 or whose dtype is none of the four floating ones.
        """
        payload = _only_payload(payloads)
        if self._collective == "sparse":
            everyone = _all_gather_payloads(payload, self._group)
            sent = _sparse_bytes(payload, [theirs.count for theirs in everyone])
            return Average(mean_in_rank_order(everyone), sent)
        wire = _on_wire(payload, self._collective)
        worker_count = dist.get_world_size(self._group)
        sent = _dense_bytes(wire, worker_count)
        if self._rank_order:
            return Average(_dense_mean_in_order(_all_gather(wire, self._group), payload.values.dtype), sent)
        dist.all_reduce(wire, group=self._group)
        return Average(wire.to(payload.values.dtype).div_(worker_count), sent)

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """This rank's one vector in, the mean over all ranks out; of one length and dtype on all of them.

        Raises:
            ValueError: not exactly one vector.
        """
        if len(vectors) != 1:
            raise ValueError(f"expected exactly one vector, that of this rank, got {len(vectors)}")
        return _dense_mean_in_order(_all_gather(vectors[0], self._group), vectors[0].dtype)


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


def _common_dimension(payloads: Sequence[SparsePayload]) -> int:
    """The dimension of all payloads, once they are known to be payloads of one dimension and one dtype."""
    if not isinstance(payloads, Sequence):
        raise ValueError(f"expected a list of payloads, got {type(payloads).__name__}")
    for payload in payloads:
        if not isinstance(payload, SparsePayload):
            raise ValueError(f"expected a list of payloads, got one with {type(payload).__name__}")
    if not payloads:
        raise ValueError("the mean of no payloads is undefined")
    dimensions = {payload.dimension for payload in payloads}
    if len(dimensions) > 1:
        raise ValueError(f"payloads of different dimensions: {sorted(dimensions)}")
    dtypes = {payload.values.dtype for payload in payloads}
    if len(dtypes) > 1:
        raise ValueError(f"payloads of different dtypes: {', '.join(sorted(map(str, dtypes)))}")
    return dimensions.pop()


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


def _checked(collective: CollectiveName) -> CollectiveName:
    if collective not in COLLECTIVES:
        raise ValueError(f"unknown collective {collective!r}; known: {', '.join(COLLECTIVES)}")
    return collective


def _all_gather(mine: Tensor, group: dist.ProcessGroup | None) -> list[Tensor]:
    theirs = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(theirs, mine, group=group)
    return theirs


def _all_gather_payloads(payload: SparsePayload, group: dist.ProcessGroup | None) -> list[SparsePayload]:
    counts = _all_gather_counts(payload, group)
    longest = max(counts)
    if longest == 0:
        return [payload] * len(counts)
    padding = (0, longest - payload.count)
    values = _all_gather(torch.nn.functional.pad(payload.values, padding), group)
    indices = _all_gather(torch.nn.functional.pad(payload.indices, padding), group)
    return [
        SparsePayload(value[:count], index[:count], payload.dimension)
        for value, index, count in zip(values, indices, counts, strict=True)
    ]


def _all_gather_counts(payload: SparsePayload, group: dist.ProcessGroup | None) -> list[int]:
    """Every rank's count, once all are known to have this payload's dimension and dtype."""
    mine = torch.tensor([_header(payload)], dtype=torch.int64, device=payload.values.device)
    headers = [int(theirs) for theirs in _all_gather(mine, group)]
    _require_common("dimensions", [header >> 31 & _LARGEST_DIMENSION for header in headers])
    _require_common("dtypes", [_DTYPES[(header >> 62) + 2] for header in headers])
    return [header & _LARGEST_DIMENSION for header in headers]


def _header(payload: SparsePayload) -> int:
    if payload.dimension > _LARGEST_DIMENSION:
        raise ValueError(f"a payload of dimension {payload.dimension} has places that no int32 index reaches")
    if payload.values.dtype not in _DTYPES:
        raise ValueError(f"a payload of {payload.values.dtype} is none of {', '.join(map(str, _DTYPES))}")
    return (_DTYPES.index(payload.values.dtype) - 2 << 62) + (payload.dimension << 31) + payload.count


def _require_common(what: str, by_rank: Sequence[object]) -> None:
    if len(set(by_rank)) > 1:
        listed = ", ".join(f"{found} on rank {rank}" for rank, found in enumerate(by_rank))
        raise ValueError(f"payloads of different {what}: {listed}")


def _sparse_bytes(payload: SparsePayload, counts: Sequence[int]) -> int:
    padded = max(counts) * (payload.values.element_size() + payload.indices.element_size())
    return len(counts) * (_HEADER_BYTES + padded)


def _on_wire(payload: SparsePayload, collective: CollectiveName) -> Tensor:
    """The dense vector as it is sent; rounding to bfloat16 is not fed back."""
    dense = payload.dense()
    return dense.to(torch.bfloat16) if collective == "dense_bfloat16" else dense


def _dense_mean_in_order(vectors: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    total = torch.zeros_like(vectors[0], dtype=dtype)
    for vector in vectors:
        total += vector
    return total.div_(len(vectors))


def _dense_bytes(wire: Tensor, worker_count: int) -> int:
    return worker_count * wire.numel() * wire.element_size()
