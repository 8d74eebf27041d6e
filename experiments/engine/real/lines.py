"""The server's end of one life of a worker: one thread receives, one sends, and neither lets the server wait.

What comes is put into one queue for all workers, in the order in which it came. A line that breaks says so once, as the
last thing of its life.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from sparsync.experiments.engine.real.letters import Letter, Read, Report, Sending, kind_of, read_letter
from sparsync.experiments.engine.real.wire import Channel, LostPeerError, ParcelError


class Begun(NamedTuple):
    """A life has begun, and this is the line to it."""

    line: Line


class Landed(NamedTuple):
    """All of a message or of a model is there."""

    report: Report
    body: Tensor


class Broken(NamedTuple):
    """The line is of no more use."""

    reason: str


class Happening(NamedTuple):
    """Something that came from a life of a worker.

    Args:
        worker: its number.
        incarnation: of its lives, from 0.
        what: a report, or what became of the line. Of a report with a body, first the report with the body's size,
            then all of it.
        body_bytes: of a report.
    """

    worker: int
    incarnation: int
    what: Report | Begun | Landed | Broken
    body_bytes: int = 0


class Line:
    """See the module.

    Args:
        channel: this end of it.
        deliver: takes what came; called in the receiving thread.
        most_bytes: that a body may have.
    """

    def __init__(self, channel: Channel, deliver: Callable[[Happening], None], *, most_bytes: int) -> None:
        self.worker, self.incarnation = channel.worker, channel.incarnation
        self._channel, self._deliver, self._most_bytes = channel, deliver, most_bytes
        self._orders: queue.SimpleQueue[tuple[Letter, Tensor | None] | None] = queue.SimpleQueue()
        self._has_broken = threading.Lock()
        for name, target in (("receive", self._receive), ("send", self._send)):
            threading.Thread(target=target, name=f"{name} {self.worker}.{self.incarnation}", daemon=True).start()

    def order(self, letter: Letter, body: Tensor | None = None) -> None:
        """Send this after all that was ordered before; the body must not change any more."""
        self._orders.put((letter, body))

    def close(self) -> None:
        """Nothing more will be ordered."""
        self._orders.put(None)

    def _send(self) -> None:
        while (order := self._orders.get()) is not None:
            letter, body = order
            try:
                is_apart = isinstance(letter, Read) and letter.is_broadcast
                self._channel.send(kind_of(letter), list(letter), body, is_apart=is_apart)
            except LostPeerError as error:
                self._break(str(error))
                return

    def _receive(self) -> None:
        try:
            while True:
                parcel = self._channel.receive()
                report = read_letter(parcel)
                self._say(report, parcel.body_bytes)
                if parcel.body_bytes or isinstance(report, Sending):
                    self._say(Landed(report, self._channel.receive_body(parcel, self._most_bytes)))
        except (LostPeerError, ParcelError) as error:
            self._break(str(error))

    def _say(self, what: Report | Landed | Broken, body_bytes: int = 0) -> None:
        self._deliver(Happening(self.worker, self.incarnation, what, body_bytes))

    def _break(self, reason: str) -> None:
        if self._has_broken.acquire(blocking=False):
            self._say(Broken(reason))


class DeadLine:
    """The line to a life that has ended: orders lead nowhere.

    Args:
        worker: whose life it was.
    """

    def __init__(self, worker: int) -> None:
        self.worker, self.incarnation = worker, -1

    def order(self, letter: Letter, body: Tensor | None = None) -> None:
        """See `Line`."""

    def close(self) -> None:
        """See `Line`."""
