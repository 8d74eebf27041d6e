"""Is any mass lost, invented or counted twice? Ledgers of workers, of the shared model and of all mass together."""

from __future__ import annotations

import math

from sparsync.verify.monitors.books import NORM_ERROR, Book, BrokenPromiseError, Handlers
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import (
    Applied,
    Departed,
    Dropped,
    Header,
    Joined,
    Lost,
    Mass,
    Mixed,
    Released,
    Sent,
    Stepped,
)


class WorkerLedger:
    """What a worker has made it has sent, mixed into models, or still keeps; it forgets only if that is declared.

    Args:
        header: of the run.
        guarantee: whether workers may forget, and how large messages may become.
    """

    def __init__(self, header: Header, guarantee: Guarantee) -> None:
        self._remembers, self._amplification = guarantee.remembers, guarantee.amplification
        self._unsent = [Book(header) for _ in range(header.worker_count)]
        self._may_have_residual = [False] * header.worker_count

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {Stepped: self._stepped, Sent: self._sent, Mixed: self._mixed, Departed: self._departed}

    def _stepped(self, event: Stepped) -> None:
        self._unsent[event.worker].add(event.created)

    def _sent(self, event: Sent) -> None:
        worker, lost = event.worker, event.lost
        if self._remembers and (lost.size or any(lost.sums)):
            raise BrokenPromiseError(f"worker {worker} forgets {lost.sums} with message {event.message}")
        book = self._unsent[worker]
        made = book.size
        book.add(event.mass, -1)
        if lost.sums:
            book.add(lost, -1)
        most = self._amplification * made + book.room(event.kept.size)
        book.settle(event.kept, f"what worker {worker} keeps after message {event.message}")
        self._require_sizes(event, made, most)
        self._may_have_residual[worker] = event.kept.size > 0

    def _require_sizes(self, event: Sent, made: float, most: float) -> None:
        """A message and what stays behind are no larger than what was split, and norms no larger than their vectors.

        Args:
            event: the sending.
            made: size of what was to be sent.
            most: that may become of it.
        """
        what = f"message {event.message} of worker {event.worker}"
        split = event.mass.size + event.kept.size + event.lost.size
        if split > most:
            raise BrokenPromiseError(
                f"{what}, what it keeps and what it forgets have a size of {split}, what was to be sent has {made}, "
                f"promised are at most {self._amplification} times that"
            )
        if event.mass.size and not event.sent_bytes:
            raise BrokenPromiseError(f"{what} has a size of {event.mass.size} and 0 bytes")
        norms = ((event.change_norm, made), (event.corrected_norm, split), (event.kept_norm, event.kept.size))
        # Of entries above 10¹⁵⁴ the squares are infinite.
        if any(size * (1 + NORM_ERROR) < norm < math.inf for norm, size in norms):
            raise BrokenPromiseError(f"{what} has norms and sizes {norms}: a norm exceeds its size")

    def _mixed(self, event: Mixed) -> None:
        for member, change in zip(event.members, event.changes, strict=True):
            book = self._unsent[member]
            if self._may_have_residual[member]:
                book.require_size(change.size, f"what worker {member} mixes in")
                book.add(change, -1)
            else:
                book.settle(change, f"what worker {member} mixes in")
                book.clear()

    def _departed(self, event: Departed) -> None:
        worker = event.worker
        self._unsent[worker].settle(event.abandoned, f"what worker {worker} abandons")
        self._unsent[worker].clear()
        self._may_have_residual[worker] = False


class ServerLedger:
    """The shared model is the initial one and all that was applied; whoever reads it reads it as it is now.

    Args:
        header: of the run.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._model = header.initial
        self._masses: dict[int, Mass] = {}

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {
            Joined: self._joined,
            Sent: self._sent,
            Applied: self._applied,
            Dropped: self._dropped,
            Lost: self._lost,
            Released: self._released,
        }

    def _joined(self, event: Joined) -> None:
        if event.version != -1:
            self._book().settle(event.model, f"the model that worker {event.worker} joins with")

    def _sent(self, event: Sent) -> None:
        self._masses[event.message] = event.mass

    def _applied(self, event: Applied) -> None:
        book = self._book()
        for message, weight in zip(event.messages, event.weights, strict=True):
            book.add(self._masses.pop(message), weight)
        book.settle(event.model, f"the shared model after messages {event.messages}, version {event.version},")
        self._model = event.model

    def _dropped(self, event: Dropped) -> None:
        for message in event.messages:
            del self._masses[message]

    def _lost(self, event: Lost) -> None:
        del self._masses[event.message]

    def _released(self, event: Released) -> None:
        if event.version == -1:
            return
        book = self._book()
        for message in event.corrections:
            book.add(self._masses[message])
        book.settle(event.base, f"the model of version {event.version} that worker {event.worker} reads")

    def _book(self) -> Book:
        book = Book(self._header)
        book.add(self._model)
        return book


class Conservation:
    """All that was made is in a message (applied, dropped, lost, undelivered), mixed in, kept, forgotten or abandoned.

    These totals are compared at the end; what a worker keeps is what it said at its last sending, and made since. They
    may differ by what rounding explains at all sendings and departures together.

    Args:
        header: of the run.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._kept = [Book(header) for _ in range(header.worker_count)]
        self._made, self._gone = Book(header), Book(header)
        self._masses: dict[int, Mass] = {}
        self._tolerance = 0.0

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {
            Stepped: self._stepped,
            Sent: self._sent,
            Applied: self._settled,
            Dropped: self._settled,
            Lost: self._lost,
            Mixed: self._mixed,
            Departed: self._departed,
        }

    def undelivered(self) -> Mass:
        """What is in messages that are neither applied nor dropped."""
        book = Book(self._header)
        for mass in self._masses.values():
            book.add(mass)
        return book.as_mass()

    def finish(self) -> None:
        """The run ended.

        Raises:
            BrokenPromiseError: the sums differ by more than rounding explains.
        """
        all_gone = Book(self._header)
        for book in (self._gone, *self._kept):
            all_gone.add_book(book)
        for mass in self._masses.values():
            all_gone.add(mass)
        excess = self._made.distance(all_gone)
        if excess > self._tolerance:
            made, gone = self._made.as_mass().sums, all_gone.as_mass().sums
            raise BrokenPromiseError(
                f"workers made {made}, but what became of it sums to {gone}: off by {float(excess):.6g}, "
                f"rounding explains {self._tolerance:.3g}"
            )

    def _stepped(self, event: Stepped) -> None:
        self._made.add(event.created)
        self._kept[event.worker].add(event.created)

    def _sent(self, event: Sent) -> None:
        self._masses[event.message] = event.mass
        lost = (event.lost,) if event.lost.sums else ()
        for mass in lost:
            self._gone.add(mass)
        self._replace(event.worker, event.kept, event.mass, *lost)

    def _settled(self, event: Applied | Dropped) -> None:
        for message in event.messages:
            self._gone.add(self._masses.pop(message))

    def _lost(self, event: Lost) -> None:
        self._gone.add(self._masses.pop(event.message))

    def _mixed(self, event: Mixed) -> None:
        for member, change in zip(event.members, event.changes, strict=True):
            self._gone.add(change)
            self._kept[member].add(change, -1)

    def _departed(self, event: Departed) -> None:
        self._gone.add(event.abandoned)
        self._replace(event.worker, None, event.abandoned)

    def _replace(self, worker: int, kept: Mass | None, *parts: Mass) -> None:
        """What the worker kept was split into parts and what it keeps now."""
        book = self._kept[worker]
        for part in parts:
            book.add(part, -1)
        self._tolerance += book.tolerance(kept or Mass())
        book.clear()
        if kept is not None:
            book.add(kept)
