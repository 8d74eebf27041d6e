"""Traces survive JSON, and their hash sees every field."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from sparsync.verify.monitors.trace import (
    EVENTS,
    Applied,
    Arrived,
    Departed,
    Dropped,
    Event,
    Joined,
    Mass,
    Mixed,
    Rang,
    Released,
    Sent,
    Started,
    Stepped,
    as_rows,
    from_rows,
    trace_hash,
)

ONE, TWO = Mass((0.1, -2.5e-17), 3.0), Mass((1.0, 7.0), 1e300)
ALL: list[Event] = [
    Joined(0.1, 0, 0, ONE),
    Started(0.1, 0, 1.5),
    Stepped(1 / 3, 0, 1, TWO),
    Sent(1 / 3, 0, 0, 0, 80, ONE, TWO, Mass(), "RS", 1.0, 2.0, 0.5),
    Arrived(0.5, 0),
    Applied(0.5, (0, 1), (0.5, 1 / 3), 1, TWO),
    Dropped(0.5, (2,)),
    Mixed(0.6, (0, 1), ((0.5, 0.5), (0.5, 0.5)), 0.25, 160, (ONE, TWO), (TWO, ONE), (ONE, ONE)),
    Released(0.7, 0, 1, TWO, (1,)),
    Departed(0.8, 0, "crashed", ONE),
    Rang(0.9, "'key'"),
]
"""One event of each kind, no field at its default."""


def test_every_kind_of_event_is_named_and_tried() -> None:
    assert {type(event) for event in ALL} == set(EVENTS.values()) == set(get_args(Event))


@pytest.mark.parametrize("event", ALL, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event: Event) -> None:
    (restored,) = from_rows(json.loads(json.dumps(as_rows([event]))))
    assert restored == event
    assert type(restored) is type(event)
    # Equality does not tell a tuple from a sketch.
    assert repr(restored) == repr(event)


@pytest.mark.parametrize("kind", EVENTS.values(), ids=lambda kind: kind.__name__)
def test_an_event_of_default_fields_survives_json(kind: type[Event]) -> None:
    required = [value for name, value in _of_kind(kind)._asdict().items() if name not in kind._field_defaults]
    event = kind(*required)
    assert from_rows(json.loads(json.dumps(as_rows([event])))) == [event]


def test_the_hash_is_that_of_the_restored_trace() -> None:
    assert trace_hash(from_rows(json.loads(json.dumps(as_rows(ALL))))) == trace_hash(ALL)


@pytest.mark.parametrize("place", range(len(ALL)), ids=lambda place: type(ALL[place]).__name__)
def test_the_hash_sees_every_field_and_the_order(place: int) -> None:
    event = ALL[place]
    changes: list[dict[str, Any]] = [{name: 77} for name in event._fields]
    variants = [[*ALL[:place], event._replace(**change), *ALL[place + 1 :]] for change in changes]
    moved = [*ALL[:place], *ALL[place + 1 :], event] if place + 1 < len(ALL) else ALL[:-1]
    hashes = {trace_hash(variant) for variant in (ALL, moved, *variants)}
    assert len(hashes) == len(event._fields) + 2


@pytest.mark.parametrize(
    "row",
    [
        pytest.param([], id="empty"),
        pytest.param(["Vanished", 1.0], id="unknown kind"),
        pytest.param(["Arrived", 1.0], id="a field missing"),
        pytest.param(["Arrived", 1.0, 2, 3], id="a field too many"),
        pytest.param(["Joined", 1.0, 0, 0, 5.0], id="no sketch"),
        pytest.param(["Joined", 1.0, 0, 0, [[1.0]]], id="a sketch without size"),
    ],
)
def test_a_row_that_is_no_event_is_refused(row: list[object]) -> None:
    with pytest.raises(ValueError, match="row 1 of the trace is no"):
        from_rows([*as_rows(ALL[:1]), row])


def _of_kind(kind: type[Event]) -> Event:
    (event,) = (event for event in ALL if type(event) is kind)
    return event
