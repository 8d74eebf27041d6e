"""The collective that is predicted to be fastest on a measured link, chosen at every step by the payloads' counts.

Counts are agreed on first and the link is one for all workers, so all choose the same. The candidates give the mean of
"sparse" in bits, the all-reduced dense one up to roundings: which of them is chosen changes no run in rank order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

import torch

from sparsync.experiments.averaging.balanced import Regions, owned_mean
from sparsync.experiments.averaging.dense import whole_mean
from sparsync.experiments.averaging.envelope import Body, Exchange
from sparsync.experiments.averaging.link import (
    Link,
    Load,
    balanced_seconds,
    dense_seconds,
    sparse_seconds,
)
from sparsync.experiments.averaging.messages import AllGather, Average, Conversation, Place
from sparsync.experiments.averaging.sparse import gathered_mean
from sparsync.kernels.payload import SparsePayload

_SHORT_BYTES, _LONG_BYTES, _REPETITIONS = 8, 2**20, 7


@dataclass(eq=False)
class _Case:
    """What a candidate may need: a payload, the exchange, the place, and regions that are kept between calls."""

    payload: SparsePayload
    exchange: Exchange
    place: Place
    regions: Regions


CANDIDATES: dict[str, tuple[Callable[[Link, Load], float], Callable[[_Case], Conversation[Average]]]] = {
    "sparse": (sparse_seconds, lambda case: gathered_mean(case.payload, case.exchange)),
    "balanced": (
        balanced_seconds,
        lambda case: owned_mean(case.payload, case.exchange, place=case.place, regions=case.regions),
    ),
    "dense": (dense_seconds, lambda case: whole_mean(case.payload, case.exchange, place=case.place)),
}
"""By name, the predicted time and what follows once counts are known; of equally fast ones the first is chosen."""


def automatic(place: Place) -> Body:
    """A candidate at every call; the link is measured at the first unless the place says what it is."""
    regions, link = Regions(), place.link

    def average(payload: SparsePayload, exchange: Exchange) -> Conversation[Average]:
        nonlocal link
        if link is None:
            link = yield from measured_link(place.size, payload.values.device)
        name = fastest(link, _load(payload, exchange.counts, place))
        found = yield from CANDIDATES[name][1](_Case(payload, exchange, place, regions))
        return replace(found, collective=name)

    return average


def fastest(link: Link, load: Load) -> str:
    """The candidate with the shortest predicted time."""
    return min(CANDIDATES, key=lambda name: CANDIDATES[name][0](link, load))


def measured_link(worker_count: int, device: torch.device) -> Conversation[Link]:
    """α and β of all-gathers of 8 bytes and of 1 MiB, by the ring's formula; the same on all workers.

    A repetition takes as long as for the slowest worker, and of the repetitions the median counts. Nobody counts the
    bytes. A lone worker has a link that takes no time.
    """
    if worker_count == 1:
        return Link(0.0, 0.0)
    seconds = []
    for size in (_SHORT_BYTES, _LONG_BYTES):
        mine = torch.zeros(size, dtype=torch.uint8, device=device)
        found = []
        for _ in range(_REPETITIONS):
            started = time.perf_counter()
            gathered = yield AllGather(mine)
            # A GPU has then received it.
            gathered[-1][-1].item()
            found.append(time.perf_counter() - started)
        by_rank = yield AllGather(torch.tensor(found, dtype=torch.float64, device=device))
        seconds.append(median(torch.stack(by_rank).amax(dim=0).tolist()) / (worker_count - 1))
    short, long = seconds
    per_byte = max(0.0, long - short) / (_LONG_BYTES - _SHORT_BYTES)
    return Link(max(0.0, short - _SHORT_BYTES * per_byte), per_byte)


def _load(payload: SparsePayload, counts: list[int], place: Place) -> Load:
    return Load(
        worker_count=place.size,
        largest_count=max(counts),
        total_count=sum(counts),
        dimension=payload.dimension,
        value_bytes=payload.values.element_size(),
        rank_order=place.rank_order,
    )
