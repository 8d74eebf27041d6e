"""A worker's end of the line to the server: one thread receives, one sends, so that it computes meanwhile.

Blocks that it is to go on from later are acknowledged as soon as they are here, whatever it is doing.
"""

from __future__ import annotations

import queue
import threading

from torch import Tensor

from sparsync.experiments.engine.layout import Layout
from sparsync.experiments.engine.real.broadcasts import BroadcastGroup
from sparsync.experiments.engine.real.letters import Fetch, Fetched, Letter, Read, Report, kind_of, read_letter
from sparsync.experiments.engine.real.wire import Channel, LostPeerError, ParcelError


class Mailbox:
    """See the module.

    Args:
        channel: to the server.
        layout: of the model.
        broadcasts: what comes to all workers at once, if anything does.
    """

    def __init__(self, channel: Channel, layout: Layout, broadcasts: BroadcastGroup | None = None) -> None:
        self._channel, self._layout, self._broadcasts = channel, layout, broadcasts
        self._orders: queue.SimpleQueue[tuple[Letter, Tensor | None] | LostPeerError | ParcelError] = (
            queue.SimpleQueue()
        )
        self._reports: queue.SimpleQueue[tuple[Report, Tensor | None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._receive, name="receive", daemon=True).start()
        self._sender = threading.Thread(target=self._send, name="send", daemon=True)
        self._sender.start()

    def next(self) -> tuple[Letter, Tensor | None]:
        """The next order, with its body.

        Raises:
            LostPeerError: the server is gone, or has given this life up.
            ParcelError: it sent what no server sends.
        """
        order = self._orders.get()
        if isinstance(order, Exception):
            raise order
        return order

    def report(self, report: Report, body: Tensor | None = None) -> None:
        """Send this after all that was reported before; the body must not change any more."""
        self._reports.put((report, body))

    def close(self) -> None:
        """Nothing more will be reported; returns when everything has left."""
        self._reports.put(None)
        self._sender.join()

    def _receive(self) -> None:
        most_bytes = self._layout.dimension * self._layout.dtype.itemsize
        try:
            while True:
                parcel = self._channel.receive()
                letter = read_letter(parcel)
                has_body = isinstance(letter, Read | Fetch)
                take_apart = self._carry if isinstance(letter, Read) and letter.is_broadcast else None
                body = self._channel.receive_body(parcel, most_bytes, take_apart) if has_body else None
                if isinstance(letter, Fetch):
                    self.report(Fetched(letter.version, letter.blocks))
                self._orders.put((letter, body))
        except (LostPeerError, ParcelError) as error:
            self._orders.put(error)

    def _carry(self, body: Tensor) -> None:
        if self._broadcasts is None:
            raise ParcelError("the server sends to all workers at once, which was not agreed")
        self._broadcasts.carry(body)

    def _send(self) -> None:
        while (report := self._reports.get()) is not None:
            said, body = report
            try:
                self._channel.send(kind_of(said), list(said), body)
            except LostPeerError as error:
                self._orders.put(error)
                return
