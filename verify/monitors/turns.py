"""Does everything happen in its turn? Times never decrease, and a worker transfers, computes and waits in this order.

Its time is thereby divided without gap or overlap: transferring from joining or release to the start of a step,
computing to the end of it, waiting to the release.
"""

from __future__ import annotations

import math
from enum import IntEnum

from sparsync.verify.monitors.books import BrokenPromiseError, Handlers
from sparsync.verify.monitors.trace import (
    EVENTS,
    Departed,
    Event,
    Fetched,
    Header,
    Joined,
    Mixed,
    Released,
    Sent,
    Started,
    Stepped,
)


class Phase(IntEnum):
    """What a worker who is there does."""

    TRANSFERRING = 0
    COMPUTING = 1
    WAITING = 2


class Turns:
    """Times, phases and clocks of the workers.

    Args:
        header: of the run.
    """

    def __init__(self, header: Header) -> None:
        self.now = -math.inf
        self.clock = [0] * header.worker_count
        """steps finished"""
        self._seconds = [[0.0] * header.worker_count for _ in Phase]
        self._phase: dict[int, Phase] = {}
        self._since = [0.0] * header.worker_count

    def handlers(self) -> Handlers:
        """See `Monitor`: every event has a time."""
        own: Handlers = {
            Joined: self._joined,
            Started: self._started,
            Stepped: self._stepped,
            Sent: self._sent,
            Mixed: self._mixed,
            Released: self._released,
            Fetched: self._fetched,
            Departed: self._departed,
        }
        return {kind: own.get(kind, self._tick) for kind in EVENTS.values()}

    def seconds(self, phase: Phase) -> list[float]:
        """How long each worker has been in this phase until now."""
        totals = list(self._seconds[phase])
        for worker, present in self._phase.items():
            if present is phase:
                totals[worker] += self.now - self._since[worker]
        return totals

    def finish(self, time: float) -> None:
        """The run ended.

        Raises:
            BrokenPromiseError: before its last event.
        """
        if not self.now <= time < math.inf:
            raise BrokenPromiseError(f"the run ends at {time}, after an event at {self.now}")
        self.now = time

    def _tick(self, event: Event) -> None:
        time = event[0]
        if not self.now <= time < math.inf:
            raise BrokenPromiseError(f"time runs from {self.now} back to {time}")
        self.now = time

    def _enter(self, worker: int, before: Phase, after: Phase | None, deed: str) -> None:
        phase = self._phase.get(worker)
        if phase is not before:
            raise BrokenPromiseError(f"worker {worker} {deed}, but it is {_named(phase)} and not {_named(before)}")
        now = self.now
        self._seconds[before][worker] += now - self._since[worker]
        self._since[worker] = now
        if after is None:
            del self._phase[worker]
        else:
            self._phase[worker] = after

    def _joined(self, event: Joined) -> None:
        self._tick(event)
        worker = event.worker
        if not 0 <= worker < len(self.clock):
            raise BrokenPromiseError(f"worker {worker} joins; there are workers 0 to {len(self.clock) - 1}")
        if worker in self._phase:
            raise BrokenPromiseError(f"worker {worker} joins, but it is {_named(self._phase[worker])}")
        self._phase[worker], self._since[worker] = Phase.TRANSFERRING, event.time

    def _started(self, event: Started) -> None:
        self._tick(event)
        self._enter(event.worker, Phase.TRANSFERRING, Phase.COMPUTING, "starts a step")
        if not 0 < event.batch < math.inf:
            raise BrokenPromiseError(f"worker {event.worker} starts a step on a batch of {event.batch}")

    def _stepped(self, event: Stepped) -> None:
        self._tick(event)
        worker = event.worker
        self._enter(worker, Phase.COMPUTING, Phase.WAITING, f"finishes step {event.clock}")
        if event.clock != self.clock[worker] + 1:
            raise BrokenPromiseError(f"worker {worker} finishes step {event.clock} after step {self.clock[worker]}")
        self.clock[worker] = event.clock

    def _sent(self, event: Sent) -> None:
        self._tick(event)
        self._require_waiting(event.worker, f"sends message {event.message}")

    def _mixed(self, event: Mixed) -> None:
        self._tick(event)
        for member in event.members:
            self._require_waiting(member, f"mixes with {event.members}")

    def _require_waiting(self, worker: int, deed: str) -> None:
        phase = self._phase.get(worker)
        if phase is not Phase.WAITING:
            raise BrokenPromiseError(f"worker {worker} {deed}, but it is {_named(phase)} and not waiting")

    def _released(self, event: Released) -> None:
        self._tick(event)
        self._enter(event.worker, Phase.WAITING, Phase.TRANSFERRING, "goes on")

    def _fetched(self, event: Fetched) -> None:
        self._tick(event)
        if event.worker not in self._phase:
            raise BrokenPromiseError(f"worker {event.worker} has read blocks {event.blocks}, but it is not there")

    def _departed(self, event: Departed) -> None:
        self._tick(event)
        worker, reason = event.worker, event.reason
        if reason not in ("left", "crashed"):
            raise BrokenPromiseError(f"worker {worker} departs for the reason {reason!r}, not 'left' or 'crashed'")
        before = Phase.WAITING if reason == "left" else self._phase.get(worker, Phase.WAITING)
        self._enter(worker, before, None, f"departs ({reason})")


def _named(phase: Phase | None) -> str:
    return "not there" if phase is None else phase.name.lower()
