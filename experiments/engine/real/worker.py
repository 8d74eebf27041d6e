"""A worker: it holds its own vectors, does what it is ordered to, and reports. It decides nothing.

Its life ends when the server says so, when the server is gone, or when it was given up, which it finds out by its next
parcel: whoever was stopped for too long does not come back as the one it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from sparsync.experiments.engine.effects import Plan
from sparsync.experiments.engine.layout import Shipment
from sparsync.experiments.engine.real.broadcasts import BroadcastGroup
from sparsync.experiments.engine.real.circles import Circles
from sparsync.experiments.engine.real.letters import (
    Compute,
    Exchange,
    Exchanged,
    Failed,
    Fetch,
    Finish,
    Finished,
    Keep,
    Read,
    Ready,
    Sending,
    Ship,
    Show,
    Shown,
    as_bytes,
    read_shipment,
    shipment_bytes,
)
from sparsync.experiments.engine.real.mailbox import Mailbox
from sparsync.experiments.engine.real.roads import Announcements
from sparsync.experiments.engine.real.wire import Channel
from sparsync.experiments.engine.worker_vectors import WorkerVectors

Delay = Callable[[int, float, float], None]
"""(index of a step, its batch, seconds that it took) to nothing, after what makes this worker as slow as it is to be"""


class Worker:
    """One life of a worker.

    Args:
        vectors: its own.
        channel: to the server.
        announcements: where members of a mix find each other.
        delay: called within each step; see `Delay`.
        timeout_seconds: for members of a mix to come.
        broadcasts: what comes to all workers at once, if anything does.
    """

    def __init__(
        self,
        vectors: WorkerVectors,
        channel: Channel,
        announcements: Announcements,
        *,
        delay: Delay,
        timeout_seconds: float,
        broadcasts: BroadcastGroup | None = None,
    ) -> None:
        self._vectors, self._mailbox = vectors, Mailbox(channel, vectors.layout, broadcasts)
        self._copy = vectors.base.clone()
        """of the shared model, as far as it is known here"""
        self._delay = delay
        self._unsettled: dict[int, Shipment] = {}
        """its messages that it does not know to be applied or dropped"""
        self._circles = Circles(vectors, announcements, timeout_seconds=timeout_seconds)

    def live(self) -> None:
        """Until the run is over.

        Raises:
            LostPeerError: the server is gone, or has given this life up.
            ParcelError: it sent what no server sends.
        """
        handlers: dict[type, Callable[[Any], None]] = {
            Keep: self._keep,
            Compute: self._compute,
            Ship: self._ship,
            Exchange: self._exchange,
            Show: self._show,
        }
        while True:
            letter, body = self._mailbox.next()
            if isinstance(letter, Finish):
                self._mailbox.close()
                return
            if isinstance(letter, Fetch | Read):
                assert body is not None
                self._copy_blocks(letter, body)
            if isinstance(letter, Read):
                self._read(letter)
            elif not isinstance(letter, Fetch):
                try:
                    handlers[type(letter)](letter)
                except FloatingPointError as error:
                    self._mailbox.report(Failed(str(error)))

    def _copy_blocks(self, letter: Read | Fetch, body: Tensor) -> None:
        layout = self._vectors.layout
        read = read_shipment(body, is_sparse=letter.is_sparse, blocks=letter.blocks, layout=layout)
        self._copy[slice(None) if read.places is None else read.places] = read.values

    def _read(self, letter: Read) -> None:
        self._unsettled = {uid: self._unsettled[uid] for uid in letter.unsettled if uid in self._unsettled}
        corrections = [self._unsettled[uid] for uid in letter.corrections]
        self._mailbox.report(Ready(self._vectors.read(self._copy, corrections)))

    def _keep(self, letter: Keep) -> None:
        del letter
        self._mailbox.report(Ready(self._vectors.layout.sketch(self._vectors.base)))

    def _compute(self, letter: Compute) -> None:
        began = time.monotonic()
        statistics, created = self._vectors.step(letter.step, Plan(letter.batch, letter.step_scale))
        self._delay(letter.step, letter.batch, time.monotonic() - began)
        self._mailbox.report(Finished(created, statistics))

    def _ship(self, letter: Ship) -> None:
        shipment, dispatch = self._vectors.pack(letter.blocks, spares_last_step=letter.spares_last_step)
        self._unsettled[letter.message] = shipment
        body, is_sparse = shipment_bytes(shipment)
        norms = (dispatch.change_norm, dispatch.corrected_norm, dispatch.kept_norm)
        report = Sending(letter.message, dispatch.mass, dispatch.kept, dispatch.lost, *norms, is_sparse)
        self._mailbox.report(report, body)

    def _show(self, letter: Show) -> None:
        self._mailbox.report(Shown(letter.number), as_bytes(self._vectors.model))

    def _exchange(self, letter: Exchange) -> None:
        vectors, members = self._vectors, letter.members
        change, place = vectors.layout.sketch(vectors.change), members.index(vectors.worker)
        sent_bytes, copies = 0, [vectors.public]
        if len(members) > 1:
            try:
                sent_bytes, copies = self._circles.tell(members, letter.incarnations)
            except RuntimeError as error:
                self._mailbox.report(Failed(f"worker {vectors.worker} cannot mix with {list(members)}: {error}", True))
                return
        apart = [index for index in range(len(copies)) if index != place]
        model = vectors.move([letter.weights[index] for index in apart], [copies[index] for index in apart])
        self._mailbox.report(Exchanged(letter.number, sent_bytes, vectors.layout.sketch(vectors.public), model, change))
