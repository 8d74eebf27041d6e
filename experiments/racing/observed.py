"""A recorded run is a cluster: who computes how fast, what lies between, who comes and goes. What another policy would
have done there is a simulation away.

All times are those at which the server took notice, so that its own reaction is within them; what of it makes others
wait is in the links, see `observed_links.py`. Ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from sparsync.experiments.engine.clusters import PROPORTIONAL, BatchCost, Change, Cluster, Recorded, ring_share
from sparsync.experiments.racing.observed_links import Transfer, fitted_links
from sparsync.verify.monitors.trace import Arrived, Departed, Event, Joined, Mixed, Released, Sent, Started, Stepped


@dataclass
class _Notes:
    """What a trace says of time.

    Args:
        worker_count: n.
        batch_cost: of other batches than the usual.
    """

    worker_count: int
    batch_cost: BatchCost
    steps: list[list[float]] = field(default_factory=list)
    """seconds of each worker's steps, for a usual batch"""
    uploads: list[Transfer] = field(default_factory=list)
    downloads: list[Transfer] = field(default_factory=list)
    mixes: list[Transfer] = field(default_factory=list)
    orders: list[float] = field(default_factory=list)
    """seconds until a step began for which nothing had to travel"""
    first_orders: list[float] = field(default_factory=list)
    """the same of the very first steps"""
    changes: list[Change] = field(default_factory=list)
    present: set[int] = field(default_factory=set)
    """those who were there at the beginning"""
    _sent: dict[int, Sent] = field(default_factory=dict)
    _ordered: dict[int, Joined | Released] = field(default_factory=dict)
    _mixed: dict[int, Mixed] = field(default_factory=dict)
    _started: dict[int, Started] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = [[] for _ in range(self.worker_count)]

    def learn(self, event: Event) -> None:
        """What it says."""
        if isinstance(event, Sent):
            self._sent[event.message] = event
        elif isinstance(event, Arrived) and event.message in self._sent:
            sent = self._sent.pop(event.message)
            self.uploads.append(Transfer(sent.worker, sent.time, sent.sent_bytes, event.time - sent.time))
        elif isinstance(event, Mixed):
            self._mixed.update(dict.fromkeys(event.members, event))
        elif isinstance(event, Joined | Released):
            self._ordered[event.worker] = event
            if isinstance(event, Joined):
                self._join(event)
        elif isinstance(event, Started):
            self._start(event)
        elif isinstance(event, Stepped) and event.worker in self._started:
            started = self._started.pop(event.worker)
            self.steps[event.worker].append((event.time - started.time) / self.batch_cost(started.batch))
        elif isinstance(event, Departed):
            self._depart(event)

    def _join(self, event: Joined) -> None:
        if event.time:
            self.changes.append(Change(event.time, event.worker, "join"))
        else:
            self.present.add(event.worker)

    def _depart(self, event: Departed) -> None:
        kind: Literal["crash", "leave"] = "crash" if event.reason == "crashed" else "leave"
        self.changes.append(Change(event.time, event.worker, kind))
        for waiting in (self._ordered, self._mixed, self._started):
            waiting.pop(event.worker, None)

    def _start(self, event: Started) -> None:
        worker = event.worker
        self._started[worker] = event
        ordered, mixed = self._ordered.pop(worker, None), self._mixed.pop(worker, None)
        if ordered is None:
            return
        seconds = event.time - ordered.time
        if mixed is not None and len(mixed.members) > 1:
            share = ring_share(mixed.members, sum(mixed.sent_bytes))
            self.mixes.append(Transfer(worker, mixed.time, share, event.time - mixed.time))
        elif ordered.pulled_bytes:
            self.downloads.append(Transfer(worker, ordered.time, ordered.pulled_bytes, seconds))
        elif isinstance(ordered, Released):
            self.orders.append(seconds)
        elif not ordered.time:
            self.first_orders.append(seconds)


def observed_cluster(events: Iterable[Event], worker_count: int, batch_cost: BatchCost = PROPORTIONAL) -> Cluster:
    """The cluster on which a run was recorded, as far as its trace tells.

    Durations of steps are those observed, by worker and step, divided by the planned batch's cost; the first one of
    each worker comes once, the others again and again, and a worker that finished none has the median of all. Of each
    direction there is one link for all workers: latency and rate, each worker having a line of its own or all sharing
    one, fitted by `fitted_links` to the times from Sent to Arrived, and from Released, or from the Joined of those who
    came later, to Started. Where there are no messages, the time from Mixed to Started takes the place of the upload.
    `order_seconds` is the median time from Released to Started where nothing travels; if none was observed, that of
    the very first steps, but no more than a model takes. Who joined, left or crashed does so at the same time.

    Args:
        events: of a real or simulated run, which the monitors have found in order.
        worker_count: n.
        batch_cost: of other batches than the usual, as far as it is known.

    Raises:
        ValueError: no worker finished a step.
    """
    notes = _Notes(worker_count, batch_cost)
    for event in events:
        notes.learn(event)
    everything = [seconds for row in notes.steps for seconds in row]
    if not everything:
        raise ValueError("no worker finished a step, so that nothing is known of their speeds")
    usual = median(everything)
    order_seconds = _order_seconds(notes)
    uploads = notes.uploads or notes.mixes
    upload, download = fitted_links(uploads, notes.downloads, worker_count, order_seconds=order_seconds)
    return Cluster(
        worker_count,
        Recorded(tuple(tuple(row) or (usual,) for row in notes.steps), first_count=1),
        (batch_cost,),
        upload=upload,
        download=download,
        changes=tuple(notes.changes),
        absent=frozenset(range(worker_count)) - notes.present,
        order_seconds=order_seconds,
    )


def _order_seconds(notes: _Notes) -> float:
    if notes.orders:
        return median(notes.orders)
    carried = [transfer.seconds for transfer in notes.downloads]
    # A worker is slow to start when it starts for the first time.
    return min(median(times) for times in (notes.first_orders or [0.0], carried or notes.first_orders or [0.0]))
