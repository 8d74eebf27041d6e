"""The shared model to all workers at once, in a process group of the server and all of them.

Where a barrier lets all workers go on from the same model, the server need not send it to each. "broadcast" is that of
the library, gloo's binomial tree: each that has the whole of it passes it on. "scatter_allgather" cuts it into as many
pieces as there are processes; each is sent one, and they pass them round, so that the server sends the model once,
however many there are.

Source of the second: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts 1994; that of long messages in Thakur,
Rabenseifner, Gropp 2005.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Literal

import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import AllgatherOptions, BroadcastOptions, ScatterOptions

from sparsync.experiments.engine.real.wire import SILENCE, LostPeerError

Collective = Literal["broadcast", "scatter_allgather"]
Downlink = Literal["unicast", "broadcast", "scatter_allgather"]


class BroadcastGroup:
    """One end of it.

    Args:
        group: of the server, rank 0, and all workers.
        collective: how a body travels.
        stage: puts a body where the group's back end takes it, itself or a copy: NCCL takes no memory of the host.
    """

    def __init__(self, group: dist.ProcessGroup, collective: Collective, stage: Callable[[Tensor], Tensor]) -> None:
        self._group, self._stage = group, stage
        self._carry = self._broadcast if collective == "broadcast" else self._scatter_allgather

    def carry(self, body: Tensor) -> None:
        """The server's body [n] uint8, n > 0, into those of all workers; all must call this, in the same order.

        Raises:
            LostPeerError: one of them is gone.
        """
        try:
            staged = self._stage(body)
            self._carry(staged)
            if staged is not body and self._group.rank():
                body.copy_(staged)
        except RuntimeError as error:
            raise LostPeerError(f"a broadcast broke: {error}") from None

    def _broadcast(self, body: Tensor) -> None:
        options = BroadcastOptions()
        options.timeout = SILENCE
        self._group.broadcast([body], options).wait()

    def _scatter_allgather(self, body: Tensor) -> None:
        rank, count = self._group.rank(), self._group.size()
        size = -(-body.numel() // count)
        whole = body.new_zeros(count * size)
        if rank == 0:
            whole[: body.numel()] = body
        pieces, own = list(whole.chunk(count)), body.new_empty(size)
        scattering, gathering = ScatterOptions(), AllgatherOptions()
        scattering.timeout = gathering.timeout = SILENCE
        self._group.scatter([own], [pieces] if rank == 0 else [], scattering).wait()
        self._group.allgather([pieces], [own], gathering).wait()
        if rank:
            body.copy_(whole[: body.numel()])


class Broadcaster:
    """The server's end: a thread sends, so that the server does not wait.

    Args:
        meet: makes the group, once all have come.
    """

    def __init__(self, meet: Callable[[], BroadcastGroup]) -> None:
        self.count = 0
        """bodies that were ordered"""
        self._bodies: queue.SimpleQueue[Tensor | None] = queue.SimpleQueue()
        self._broken: tuple[float, str] | None = None
        threading.Thread(target=self._send, args=(meet,), name="send to all", daemon=True).start()

    def give(self, body: Tensor) -> None:
        """Send this after all that was given before; it must not change any more."""
        self.count += 1
        self._bodies.put(body)

    def close(self) -> None:
        """Nothing more will be given."""
        self._bodies.put(None)

    @property
    def broken(self) -> tuple[float, str] | None:
        """Since when, on the monotonic clock, it is of no more use, and why; None while it is."""
        return self._broken

    def _send(self, meet: Callable[[], BroadcastGroup]) -> None:
        try:
            group = meet()
            while (body := self._bodies.get()) is not None:
                group.carry(body)
        except (LostPeerError, RuntimeError) as error:
            self._broken = time.monotonic(), str(error)
