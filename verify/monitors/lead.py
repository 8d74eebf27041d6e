"""How far ahead is the fastest? The gap between a worker that just finished a step and the slowest one alive."""

from __future__ import annotations

from collections import Counter

from sparsync.verify.monitors.books import BrokenPromiseError, Handlers
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import Departed, Header, Joined, Released, Stepped


class Tally:
    """Some integers, with the least of them at hand."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.least = 0
        """of the integers; if there are none, of the last ones"""

    def add(self, value: int) -> None:
        """One more."""
        self.least = min(self.least, value) if self._counts else value
        self._counts[value] += 1

    def remove(self, value: int) -> None:
        """One less."""
        self._counts[value] -= 1
        if not self._counts[value]:
            del self._counts[value]
            if value == self.least and self._counts:
                self.least = min(self._counts)

    def increase(self, value: int) -> None:
        """One of those that are `value` becomes `value` + 1."""
        counts = self._counts
        counts[value + 1] += 1
        counts[value] -= 1
        if not counts[value]:
            del counts[value]
            if value == self.least:
                self.least = value + 1 if value + 1 in counts else min(counts)


class Lead:
    """Steps by which a worker that finishes one is ahead of the slowest worker alive.

    A worker that joins later counts on from the least of the others. Of those at the gate it is open whether their last
    step belongs to a round that the newcomer takes part in: as the faster it counts from where they passed the gate, as
    the slower from what they finished.

    Args:
        header: of the run.
        guarantee: the gap that is promised.
    """

    def __init__(self, header: Header, guarantee: Guarantee) -> None:
        self._promised = guarantee.gap
        self.largest = 0
        count = header.worker_count
        self._as_faster, self._as_slower, self._passed = ([0] * count for _ in range(3))
        self._alive: set[int] = set()
        self._slower_tally, self._passed_tally = Tally(), Tally()

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {
            Joined: self._joined,
            Stepped: self._stepped,
            Released: self._released,
            Departed: self._departed,
        }

    def _joined(self, event: Joined) -> None:
        worker = event.worker
        if self._alive:
            self._as_faster[worker] = self._passed_tally.least
            self._as_slower[worker] = self._slower_tally.least
        self._passed[worker] = self._as_faster[worker]
        self._slower_tally.add(self._as_slower[worker])
        self._passed_tally.add(self._passed[worker])
        self._alive.add(worker)

    def _stepped(self, event: Stepped) -> None:
        worker = event.worker
        self._slower_tally.increase(self._as_slower[worker])
        self._as_slower[worker] += 1
        self._as_faster[worker] += 1
        gap = self._as_faster[worker] - self._slower_tally.least
        if gap > self.largest:
            self.largest = gap
        if gap > self._promised:
            slowest = min(self._alive, key=lambda other: (self._as_slower[other], other))
            raise BrokenPromiseError(
                f"worker {worker} finishes its step {event.clock}, {gap} ahead of worker {slowest}, "
                f"promised are {self._promised}"
            )

    def _released(self, event: Released) -> None:
        worker = event.worker
        self._passed_tally.increase(self._passed[worker])
        self._passed[worker] += 1

    def _departed(self, event: Departed) -> None:
        worker = event.worker
        self._slower_tally.remove(self._as_slower[worker])
        self._passed_tally.remove(self._passed[worker])
        self._alive.remove(worker)
