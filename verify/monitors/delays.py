"""How old is what is applied? Versions since its reading, and steps that its sender finished since the sending."""

from __future__ import annotations

from sparsync.verify.monitors.books import BrokenPromiseError, Handlers
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import (
    Applied,
    Departed,
    Dropped,
    Fetched,
    Header,
    Joined,
    Lost,
    Released,
    Sent,
    Stepped,
)


class Versions:
    """Numbers of the shared model's versions, and how many lie between a message's reading and its application.

    Args:
        header: of the run.
        guarantee: the staleness that is promised.
    """

    def __init__(self, header: Header, guarantee: Guarantee) -> None:
        self._promised = guarantee.staleness
        self.version = 0
        self.largest = 0
        """staleness of a message, whether its sender is still there or not"""
        self._read = [0] * header.worker_count
        self._lives = [0] * header.worker_count
        self._sent: dict[int, tuple[int, int, int]] = {}

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {
            Joined: self._joined,
            Sent: self._sent_message,
            Applied: self._applied,
            Dropped: self._dropped,
            Lost: self._lost,
            Released: self._released,
            Fetched: self._fetched,
            Departed: self._departed,
        }

    def _joined(self, event: Joined) -> None:
        if event.version != -1:
            self._note_reading(event.worker, event.version)

    def _released(self, event: Released) -> None:
        if event.version != -1:
            self._note_reading(event.worker, event.version)

    def _fetched(self, event: Fetched) -> None:
        if not 0 <= event.version <= self.version:
            raise BrokenPromiseError(
                f"worker {event.worker} has read blocks of version {event.version}, but {self.version} is the newest"
            )

    def _note_reading(self, worker: int, version: int) -> None:
        if version != self.version:
            raise BrokenPromiseError(f"worker {worker} reads version {version} where {self.version} is the present one")
        self._read[worker] = version

    def _sent_message(self, event: Sent) -> None:
        worker, version = event.worker, event.read_version
        if version != self._read[worker]:
            raise BrokenPromiseError(
                f"message {event.message} says that worker {worker} read version {version}, not {self._read[worker]}"
            )
        self._sent[event.message] = (worker, self._lives[worker], version)

    def _applied(self, event: Applied) -> None:
        if event.version != self.version + 1:
            raise BrokenPromiseError(f"version {event.version} comes after version {self.version}")
        for message in event.messages:
            worker, life, read_version = self._sent.pop(message)
            staleness = self.version - read_version
            if staleness > self.largest:
                self.largest = staleness
            if staleness > self._promised and life == self._lives[worker]:
                raise BrokenPromiseError(
                    f"message {message} of worker {worker} read version {read_version} and is applied to version "
                    f"{self.version}: stale by {staleness}, promised are {self._promised}"
                )
        self.version = event.version

    def _dropped(self, event: Dropped) -> None:
        for message in event.messages:
            del self._sent[message]

    def _lost(self, event: Lost) -> None:
        del self._sent[event.message]

    def _departed(self, event: Departed) -> None:
        self._lives[event.worker] += 1


class Deferral:
    """How many steps a worker finishes while a message of it is not applied.

    A message that waits for longer than promised is found at its sender's next step; where messages may be dropped,
    only when it is applied.

    Args:
        header: of the run.
        guarantee: the deferral that is promised.
    """

    def __init__(self, header: Header, guarantee: Guarantee) -> None:
        self._promised, self._is_lossless = guarantee.deferral, guarantee.lossless
        self.largest = 0
        """deferral of a message that was applied while its sender was there"""
        self._clock = [0] * header.worker_count
        self._waiting: list[dict[int, int]] = [{} for _ in range(header.worker_count)]
        self._senders: dict[int, int] = {}

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {
            Stepped: self._stepped,
            Sent: self._sent,
            Applied: self._applied,
            Dropped: self._dropped,
            Lost: self._lost,
            Departed: self._departed,
        }

    def _stepped(self, event: Stepped) -> None:
        worker, clock = event.worker, event.clock
        self._clock[worker] = clock
        waiting = self._waiting[worker]
        if waiting and self._is_lossless:
            message = next(iter(waiting))
            self._judge(message, worker, clock - waiting[message], "waits")

    def _sent(self, event: Sent) -> None:
        worker = event.worker
        self._waiting[worker][event.message] = self._clock[worker]
        self._senders[event.message] = worker

    def _applied(self, event: Applied) -> None:
        for message in event.messages:
            worker = self._senders.pop(message)
            since = self._waiting[worker].pop(message, None)
            if since is not None:
                deferral = self._clock[worker] - since
                if deferral > self.largest:
                    self.largest = deferral
                self._judge(message, worker, deferral, "has waited")

    def _judge(self, message: int, worker: int, deferral: int, verb: str) -> None:
        if deferral > self._promised:
            raise BrokenPromiseError(
                f"message {message} of worker {worker} {verb} for {deferral} steps of its sender, "
                f"promised are {self._promised}"
            )

    def _dropped(self, event: Dropped) -> None:
        for message in event.messages:
            self._waiting[self._senders.pop(message)].pop(message, None)

    def _lost(self, event: Lost) -> None:
        self._waiting[self._senders.pop(event.message)].pop(event.message, None)

    def _departed(self, event: Departed) -> None:
        self._waiting[event.worker].clear()
