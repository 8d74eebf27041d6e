"""Did the run keep its promises? Monitors read a trace event by event; the first broken promise raises `Violation`.

They depend on the trace alone, so they judge simulated and recorded runs alike. Each is a small class with books of its
own, in a file beside this one, where they are put together. Where the header has no sketch nobody computes vectors, and
their ledgers stay closed; where it has one, every event must have its own, except that nothing lost needs none.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sparsync.verify.monitors.alarms import Alarms
from sparsync.verify.monitors.books import BrokenPromiseError, Monitor
from sparsync.verify.monitors.delays import Deferral, Versions
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.lead import Lead
from sparsync.verify.monitors.ledgers import Conservation, ServerLedger, WorkerLedger
from sparsync.verify.monitors.messages import Messages
from sparsync.verify.monitors.mixing import MixingWeights, OwnModels
from sparsync.verify.monitors.trace import EVENTS, NOTHING, Event, Header, Mass
from sparsync.verify.monitors.turns import Phase, Turns


class Violation(RuntimeError):  # noqa: N818 - it is not the program that errs
    """A promise was broken.

    Args:
        message: which, and by how much.
        trace: the events up to and including the one that broke it; the last ones, if the judge keeps no more.
    """

    def __init__(self, message: str, trace: Sequence[Event]) -> None:
        super().__init__(message)
        self.trace = tuple(trace)


@dataclass(frozen=True)
class WorkerReport:
    """What one worker did. Its three times sum to that for which it was there.

    `sent_bytes` are those of its messages and of what it published for mixing, `pulled_bytes` those that it read of the
    shared model and of what others published.
    """

    computing_seconds: float
    waiting_seconds: float
    transferring_seconds: float
    steps: int
    sent: int
    applied: int
    dropped: int
    lost: int
    sent_bytes: int
    pulled_bytes: int


@dataclass(frozen=True)
class Report:
    """What a run did, as far as promises speak of it.

    Args:
        time: when it was looked at.
        workers: by worker.
        version: of the shared model.
        largest_gap: steps, see `Guarantee`.
        largest_staleness: versions, of all messages applied.
        largest_deferral: steps, of messages applied while their sender was there.
        in_flight: messages that have not arrived.
        inbox: messages that have arrived and are not settled.
        undelivered: sketch of all these messages together: what was sent and is not in the model.
        mixed_bytes: of all that was sent, those that were published for mixing.
    """

    time: float
    workers: tuple[WorkerReport, ...]
    version: int
    largest_gap: int
    largest_staleness: int
    largest_deferral: int
    in_flight: tuple[int, ...]
    inbox: tuple[int, ...]
    undelivered: Mass
    mixed_bytes: int

    @property
    def waiting_share(self) -> float:
        """Seconds that workers waited, of all seconds that they were there."""
        waited = math.fsum(worker.waiting_seconds for worker in self.workers)
        busy = math.fsum(worker.computing_seconds + worker.transferring_seconds for worker in self.workers)
        return waited / (waited + busy) if waited else 0.0

    @property
    def participation_ratio(self) -> float:
        """Most messages applied of one worker, divided by the fewest of one that ever stepped; infinite for none."""
        counts = [worker.applied for worker in self.workers if worker.steps]
        least = min(counts, default=0)
        return max(counts) / least if least else math.inf


class Judge:
    """All monitors of one run.

    Args:
        header: of the run.
        guarantee: what its policy promises.
        keeps: how many of the last events a violation can show; None is all.
        more: further monitors.
    """

    def __init__(
        self, header: Header, guarantee: Guarantee, *, keeps: int | None = None, more: Sequence[Monitor] = ()
    ) -> None:
        self.header, self.guarantee = header, guarantee
        self._turns = Turns(header)
        self._messages = Messages(header, guarantee)
        self._versions = Versions(header, guarantee)
        self._deferral = Deferral(header, guarantee)
        self._lead = Lead(header, guarantee)
        self._conservation = Conservation(header) if header.initial.sums else None
        monitors: list[Monitor] = [
            self._turns,
            self._messages,
            self._versions,
            self._deferral,
            self._lead,
            MixingWeights(guarantee),
            Alarms(),
        ]
        if self._conservation is not None:
            monitors += (OwnModels(header, guarantee), ServerLedger(header), WorkerLedger(header, guarantee))
            monitors.append(self._conservation)
        by_monitor = [monitor.handlers() for monitor in (*monitors, *more)]
        self._handlers: dict[type[Event], tuple[Callable[[Any], None], ...]] = {
            kind: tuple(handlers[kind] for handlers in by_monitor if kind in handlers) for kind in EVENTS.values()
        }
        self._events: deque[Event] = deque(maxlen=keeps)
        self.event_count = 0
        """events looked at"""
        self._violation: Violation | None = None

    def observe(self, event: Event) -> None:
        """Look at the next event.

        Raises:
            Violation: it breaks a promise, or one before did: of that one, some monitors have not heard.
        """
        if self._violation is not None:
            raise self._violation
        self._events.append(event)
        self.event_count += 1
        try:
            for handle in self._handlers[type(event)]:
                handle(event)
        except BrokenPromiseError as broken:
            place = f"event {self.event_count - 1}, {type(event).__name__} at {event.time}"
            self._violation = Violation(f"{place}: {broken}", self._events)
            raise self._violation from None

    def finish(self, time: float) -> None:
        """The run ended.

        Raises:
            Violation: only now it shows that a promise was broken, or it was known.
        """
        if self._violation is not None:
            raise self._violation
        try:
            self._turns.finish(time)
            if self._conservation is not None:
                self._conservation.finish()
        except BrokenPromiseError as broken:
            raise Violation(f"end at {time}: {broken}", self._events) from None

    def report(self) -> Report:
        """What happened until now."""
        turns, messages = self._turns, self._messages
        columns = (
            *(turns.seconds(phase) for phase in (Phase.COMPUTING, Phase.WAITING, Phase.TRANSFERRING)),
            turns.clock,
            messages.sent,
            messages.applied,
            messages.dropped,
            messages.lost,
            messages.sent_bytes,
            messages.pulled_bytes,
        )
        return Report(
            time=turns.now,
            workers=tuple(WorkerReport(*row) for row in zip(*columns, strict=True)),
            version=self._versions.version,
            largest_gap=self._lead.largest,
            largest_staleness=self._versions.largest,
            largest_deferral=self._deferral.largest,
            in_flight=tuple(messages.in_flight),
            inbox=tuple(messages.inbox),
            undelivered=NOTHING if self._conservation is None else self._conservation.undelivered(),
            mixed_bytes=messages.mixed_bytes,
        )


def judge_trace(
    header: Header, guarantee: Guarantee, events: Iterable[Event], until: float, *, more: Sequence[Monitor] = ()
) -> Report:
    """Judge a recorded run that ended at `until`.

    Raises:
        Violation: it broke a promise.
        ValueError: there are no events, which would prove nothing.
    """
    judge = Judge(header, guarantee, more=more)
    for event in events:
        judge.observe(event)
    if not judge.event_count:
        raise ValueError("a trace without events proves nothing")
    judge.finish(until)
    return judge.report()
