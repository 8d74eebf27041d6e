"""A group of the server and workers whose ranks are threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.engine.real.broadcasts import BroadcastGroup, Collective
from sparsync.experiments.engine.real.roads import Announcements

PATIENCE_SECONDS = 60.0
SIZES = (1, 2, 7, 64, 1001)


def ends(collective: Collective, devices: Sequence[torch.device]) -> list[BroadcastGroup]:
    """An end on each of these devices, the server's first."""
    announcements = Announcements(dist.HashStore())  # type: ignore[attr-defined]
    found: dict[int, BroadcastGroup] = {}

    def meet(rank: int) -> None:
        found[rank] = announcements.broadcasts(
            collective,
            rank=rank,
            worker_count=len(devices) - 1,
            timeout_seconds=PATIENCE_SECONDS,
            device=devices[rank],
        )

    in_threads(meet, len(devices))
    return [found[rank] for rank in range(len(devices))]


def require_bodies(groups: Sequence[BroadcastGroup]) -> None:
    """All get the server's, of whatever size."""
    for size in SIZES:
        body = torch.arange(size).to(torch.uint8)
        bodies = [body.clone(), *(torch.full((size,), 9, dtype=torch.uint8) for _ in groups[1:])]
        in_threads(partial(_carry, groups, bodies), len(groups))
        assert all(torch.equal(found, body) for found in bodies)


def _carry(groups: Sequence[BroadcastGroup], bodies: Sequence[Tensor], rank: int) -> None:
    groups[rank].carry(bodies[rank])


def in_threads(run: Callable[[int], None], count: int) -> None:
    """Run it for each rank, until all have ended."""
    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
