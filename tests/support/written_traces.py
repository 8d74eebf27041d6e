"""Traces written by hand, the judge's word on them, and ways to put a fault in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sparsync.verify.monitors.books import Monitor
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import judge_trace
from sparsync.verify.monitors.trace import (
    AlarmSet,
    Applied,
    Arrived,
    Departed,
    Dropped,
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
    StepStatistics,
)

END = 8.0
NO_BOUND = Guarantee()
ROUND = Guarantee(gap=1, staleness=0, deferral=0)
Edit = Callable[[list[Event]], list[Event]]


def mass(value: float) -> Mass:
    return Mass((value,), abs(value))


HEADER = Header(2, mass(10.0))
SHARED: list[Event] = [
    Joined(0.0, 0, 0, mass(10.0)),
    Joined(0.0, 1, 0, mass(10.0)),
    Started(0.0, 0),
    Started(0.5, 1),
    Stepped(1.0, 0, 1, mass(-4.0)),
    Sent(1.0, 0, 0, 0, 8, mass(-3.0), mass(-1.0)),
    Arrived(1.5, 0),
    Stepped(2.0, 1, 1, mass(-2.0)),
    Sent(2.0, 1, 1, 0, 16, mass(-2.0), mass(0.0)),
    Arrived(3.0, 1),
    Applied(3.0, (0, 1), (0.5, 0.5), 1, mass(7.5)),
    Released(3.0, 0, 1, mass(7.5)),
    Released(3.0, 1, 1, mass(7.5)),
    Started(4.0, 0),
    Departed(4.5, 0, "crashed", mass(-1.0)),
    Started(5.0, 1),
    AlarmSet(5.5, 7.5, "'key'"),
    Stepped(6.0, 1, 2, mass(-1.0)),
    Sent(6.0, 1, 2, 1, 16, mass(-0.25), mass(-0.75)),
    Arrived(7.0, 2),
]
"""Two workers and a round; one crashes with a residual, the other's second message is not applied in the end."""

MEAN = ((0.5, 0.5), (0.5, 0.5))
MIXED: list[Event] = [
    Joined(0.0, 0, 0, mass(10.0)),
    Joined(0.0, 1, 0, mass(10.0)),
    Started(0.0, 0),
    Started(0.0, 1),
    Stepped(1.0, 0, 1, mass(-4.0)),
    Stepped(1.0, 1, 1, mass(2.0)),
    Mixed(1.0, (0, 1), MEAN, 0.5, (6, 2), (mass(7.0), mass(11.0)), (mass(7.0), mass(11.0)), (mass(-4.0), mass(2.0))),
    Released(1.0, 0, -1, mass(7.0)),
    Released(1.0, 1, -1, mass(11.0)),
    Started(1.0, 0),
    Stepped(2.0, 0, 2, mass(1.0)),
    Departed(2.0, 0, "left", mass(1.0)),
]
"""Two workers and a mixing half-way towards the mean of copies that lag behind their models of 6 and 12."""

ONE, TWO = Mass((0.1, -2.5e-17), 3.0), Mass((1.0, 7.0), 1e100)
EVERY_KIND: list[Event] = [
    Joined(0.1, 0, 0, ONE, 24),
    Started(0.1, 0, 1.5, 0.5),
    Stepped(1 / 3, 0, 1, TWO, StepStatistics(-0.5, 2.0, (1.0, 3**0.5), (0.25, 0.125), (1.0,), (0.5,))),
    Sent(1 / 3, 0, 0, 0, 80, ONE, TWO, Mass(), "RS", 1.0, 2.0, 0.5, (1, 0), True),
    Arrived(0.5, 0),
    Applied(0.5, (0, 1), (0.5, 1 / 3), 1, TWO),
    Dropped(0.5, (2,)),
    Lost(0.5, 3),
    Mixed(0.6, (0, 1), ((0.5, 0.5), (0.5, 0.5)), 0.25, (80, 160), (ONE, TWO), (TWO, ONE), (ONE, ONE)),
    Released(0.7, 0, 1, TWO, (1,), 24),
    Fetched(0.75, 1, 1, (1, 0), 16),
    Departed(0.8, 0, "crashed", ONE),
    AlarmSet(0.8, 0.85, "'key'"),
    Rang(0.9, "'key'"),
]
"""One event of each kind, no field at its default."""


def judged(events: Sequence[Event], guarantee: Guarantee = NO_BOUND, header: Header = HEADER) -> None:
    judge_trace(header, guarantee, events, END)


def changed(place: int, **fields: Any) -> Edit:
    return lambda events: [*events[:place], events[place]._replace(**fields), *events[place + 1 :]]


def without(*places: int) -> Edit:
    return lambda events: [event for place, event in enumerate(events) if place not in places]


def inserted(place: int, *new: Event) -> Edit:
    return lambda events: [*events[:place], *new, *events[place:]]


def swapped(place: int) -> Edit:
    return lambda events: [*events[:place], events[place + 1], events[place], *events[place + 2 :]]


def tell(monitor: Monitor, events: list[Event]) -> None:
    handlers = monitor.handlers()
    for event in events:
        if type(event) in handlers:
            handlers[type(event)](event)


def steps_on(worker: int, clock: int, *, time: float) -> list[Event]:
    """A release of the own model and the next step, in which nothing is made."""
    return [Released(time, worker, -1), Started(time, worker), Stepped(time, worker, clock)]
