"""Would a fresh policy decide the same? A recorded run is told to it, event by event, and what it orders is compared.

What happened to a run is taken from the trace: who joined or crashed, what arrived, which alarm rang, whose step is
finished and what was measured there. What the policy made of it must come out again: every message and its blocks,
every sum and its weights, every drop, mix, alarm, plan, release and reading, at the same place of the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import islice, takewhile
from typing import TypeVar

from sparsync.experiments.engine.clusters import Change
from sparsync.experiments.engine.core import Engine
from sparsync.experiments.engine.effects import Alarm, Mix, Pull
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.shared_model import Download
from sparsync.experiments.engine.view import Message
from sparsync.verify.monitors.trace import (
    NOTHING,
    Applied,
    Arrived,
    Departed,
    Event,
    Fetched,
    Header,
    Joined,
    Lost,
    Mass,
    Mixed,
    Rang,
    Released,
    Sent,
    Started,
    Stepped,
)

Kind = TypeVar("Kind", bound=Event)


class Divergence(RuntimeError):  # noqa: N818 - it is not the program that errs
    """The policy decided otherwise than the trace says.

    Args:
        place: of the event in the trace, from 0.
        recorded: what the trace says there; None at its end.
        ordered: what the policy did; None if it did nothing.
    """

    def __init__(self, place: int, recorded: Event | None, ordered: Event | None) -> None:
        here = "the end" if recorded is None else f"{_brief(recorded)}"
        now = "nothing" if ordered is None else f"{_brief(ordered)}"
        super().__init__(f"event {place} of the trace is {here}, but the policy leads to {now}")
        self.place, self.recorded, self.ordered = place, recorded, ordered


class Replay(Engine):
    """A policy that lives through a recorded run.

    Args:
        policy: fresh, of the same parameters as the recorded one; belongs to this replay from now on.
        header: of the recorded run.
        events: of it.
        block_bytes: dense size of each block of its model.
        seed: of its policy's random numbers.
        download: of the recorded run, see `SharedModel`; the bytes of a sparse one are what they were.
    """

    def __init__(
        self,
        policy: Policy,
        header: Header,
        events: Iterable[Event],
        *,
        block_bytes: tuple[int, ...],
        seed: int,
        download: Download = "dense",
    ) -> None:
        super().__init__(
            policy,
            header,
            Horizon(seconds=1.0),
            block_bytes=block_bytes,
            remembers=True,
            make_judge=None,
            seed=seed,
            records=False,
        )
        self._events = tuple(events)
        self._download = download
        self._place = 0
        self._alarms: dict[str, list[Alarm]] = {}
        """those that have not rung, by the text of their key"""
        self._messages: dict[int, Message] = {}
        """those on their way"""
        self._fetches: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
        """readings of blocks that have not ended: worker, version, blocks"""

    def run(self) -> int:
        """Live through the whole trace; how many events came out again.

        Raises:
            Divergence: the policy decided otherwise.
            ValueError: a parameter of the policy does not fit the number of workers or blocks.
            PolicyError: it ordered what cannot be carried out.
        """
        first = takewhile(lambda event: isinstance(event, Joined) and not event.time, self._events)
        self._begin([event.worker for event in first if isinstance(event, Joined)])
        self._gates.open(self._release)
        while (event := self._next()) is not None:
            place, self.view.now = self._place, event.time
            self._happen(event)
            self._gates.open(self._release)
            if self._place == place:
                raise Divergence(place, event, None)
        return self._place

    @property
    def waiting_alarms(self) -> list[Alarm]:
        """Those that have not rung."""
        return [alarm for alarms in self._alarms.values() for alarm in alarms]

    @property
    def on_their_way(self) -> dict[int, Message]:
        """Messages that have not arrived, by number."""
        return dict(self._messages)

    def _happen(self, event: Event) -> None:
        """If it is none of the policy's own doing."""
        if isinstance(event, Joined):
            self._change(Change(event.time, event.worker, "join"))
        elif isinstance(event, Started):
            self._deliver(event.worker)
        elif isinstance(event, Stepped):
            self._step(event.worker, event.statistics, event.created)
        elif isinstance(event, Arrived) and event.message in self._messages:
            self._arrive(self._messages.pop(event.message))
        elif isinstance(event, Rang):
            self._ring(self._first_alarm(event))
        elif isinstance(event, Fetched) and self._fetches[event[1:4]]:
            self._fetches[event[1:4]] -= 1
            self._fetched(event.worker, event.blocks, event.version)
        elif isinstance(event, Lost) and self._messages.pop(event.message, None) is not None:
            self._note(event)
        elif isinstance(event, Departed) and event.reason == "crashed" and event.worker in self.view.alive:
            self._change(Change(event.time, event.worker, "crash"))

    def _first_alarm(self, event: Rang) -> Hashable:
        """The key of the first alarm of this text."""
        waiting = self._alarms.get(event.key, [])
        if not waiting:
            raise Divergence(self._place, event, None)
        first = min(range(len(waiting)), key=lambda place: waiting[place].time)
        return waiting.pop(first).key

    def _next(self) -> Event | None:
        return self._events[self._place] if self._place < len(self._events) else None

    def _recorded(self, kind: type[Kind]) -> Kind | None:
        """The next event, if it is of this kind."""
        event = self._next()
        return event if isinstance(event, kind) else None

    def _note(self, event: Event) -> None:
        if self._next() != event:
            raise Divergence(self._place, self._next(), event)
        self._place += 1
        self.event_count += 1

    # See `Engine`: what vectors and time gave to the recorded run, they give again.

    def _let_in(self, worker: int, pull: Pull, size: int, *, is_late: bool) -> None:
        del is_late
        recorded = self._recorded(Joined)
        model = recorded.model if recorded else NOTHING
        self._note(Joined(self.view.now, worker, self.view.version if pull.shared else -1, model, size))

    def _compute(self, worker: int) -> None:
        del worker

    def _ship(self, message: Message, *, spares_last_step: bool) -> None:
        recorded = self._recorded(Sent) or Sent(self.view.now, message.worker, message.uid, message.read_version, 0)
        self._messages[message.uid] = message._replace(sent_bytes=recorded.sent_bytes)
        self.sent_bytes += recorded.sent_bytes
        ordered = recorded._replace(
            time=self.view.now,
            worker=message.worker,
            message=message.uid,
            read_version=message.read_version,
            tag=message.tag,
            blocks=message.blocks,
            spares_last_step=spares_last_step,
        )
        self._note(ordered)

    def _apply(self, messages: tuple[int, ...], weights: tuple[float, ...]) -> Mass:
        del messages, weights
        recorded = self._recorded(Applied)
        return recorded.model if recorded else NOTHING

    def _forget(self, messages: tuple[int, ...]) -> None:
        del messages

    def _exchange(self, effect: Mix) -> None:
        recorded = self._recorded(Mixed) or Mixed(self.view.now, effect.members, effect.weights, 1.0, ())
        self._count_published(recorded.sent_bytes)
        self._note(recorded._replace(time=self.view.now, members=effect.members, weights=effect.weights))

    def _set_alarm(self, alarm: Alarm) -> None:
        self._alarms.setdefault(repr(alarm.key), []).append(alarm)

    def _hand_over(self, worker: int, pull: Pull, size: int) -> None:
        recorded = self._recorded(Released)
        base = recorded.base if recorded else NOTHING
        corrections = recorded.corrections if recorded and pull.local_correction else ()
        self._note(Released(self.view.now, worker, self.view.version if pull.shared else -1, base, corrections, size))

    def _read_out(
        self, worker: int, blocks: tuple[int, ...] | None, since: Mapping[int, int], *, is_besides: bool
    ) -> int:
        dense = sum(self.view.block_bytes[block] for block in since)
        if self._download == "dense":
            return dense
        found = self._ended(worker, blocks or ()) if is_besides else self._next()
        return min(dense, found.pulled_bytes) if isinstance(found, Joined | Released | Fetched) else 0

    def _ended(self, worker: int, blocks: tuple[int, ...]) -> Fetched | None:
        """The end of a reading of these blocks that begins now, if it is recorded."""
        reading = (worker, self.view.version, blocks)
        later = (self._events[place] for place in range(self._place, len(self._events)))
        ends = (event for event in later if isinstance(event, Fetched) and event[1:4] == reading)
        return next(islice(ends, self._fetches[reading], None), None)

    def _fetch(self, worker: int, blocks: tuple[int, ...], size: int) -> None:
        del size
        self._fetches[worker, self.view.version, blocks] += 1

    def _abandon(self, worker: int) -> Mass:
        del worker
        recorded = self._recorded(Departed)
        return recorded.abandoned if recorded else NOTHING

    def _leaves(self, worker: int) -> bool:
        recorded = self._recorded(Departed)
        return recorded is not None and recorded.worker == worker and recorded.reason == "left"


def _brief(event: Event) -> str:
    """An event without its sketches and measurements."""
    parts = (
        f"{name}={value}"
        for name, value in event._asdict().items()
        if not isinstance(value, Mass) and name not in ("statistics", "copies", "models", "changes")
    )
    return f"{type(event).__name__}({', '.join(parts)})"
