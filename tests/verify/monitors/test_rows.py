"""Rows of JSON become the events that they were, and whatever is wrong with one is named: the row and the field."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from sparsync.verify.monitors.rows import LARGEST_REAL, as_row, as_rows, from_row, from_rows
from sparsync.verify.monitors.trace import EVENTS, Arrived, Event, Joined, Mass, Mixed, Sent, trace_hash
from tests.support.written_traces import EVERY_KIND

SKETCH = [[0.5], 1.0]
NO_SKETCH = [5.0, [[0.5]], [0.5, 1.0], [[0.5], -1.0], [[0.5], math.inf], [[math.nan], 1.0], [["x"], 1.0], [[], 1.0]]
NO_COUNT = [-1, 1.0, True, None, "0", 2**63, 10**400]
NO_NUMBER = [None, True, "1", [1.0], math.nan, math.inf, 10**400, 2 * LARGEST_REAL]
NO_LIST: list[Any] = [None, 1, "x", {}]
NO_LAYERS: list[list[float]] = [[], [], [], []]
WRONG: dict[str, list[Any]] = {
    "time": [*NO_NUMBER, -0.5, 1e16],
    "worker": NO_COUNT,
    "version": [-2, 1.0, True, None, "0", 2**63],
    "model": NO_SKETCH,
    "batch": [*NO_NUMBER, 0, -1.0],
    "clock": [*NO_COUNT, 0],
    "created": NO_SKETCH,
    "message": NO_COUNT,
    "read_version": NO_COUNT,
    "sent_bytes": NO_COUNT,
    "mass": NO_SKETCH,
    "kept": NO_SKETCH,
    "lost": NO_SKETCH,
    "tag": [None, 5, ["x"]],
    "change_norm": [*NO_NUMBER, -1e-9],
    "corrected_norm": [*NO_NUMBER, -1e-9],
    "kept_norm": [*NO_NUMBER, -1e-9],
    "messages": [*NO_LIST, *([bad] for bad in NO_COUNT)],
    "weights": [*NO_LIST, *([bad] for bad in NO_NUMBER if bad != [1.0])],
    "members": [*NO_LIST, *([bad] for bad in NO_COUNT)],
    "step": [*NO_NUMBER, 0.0, -0.5, 1.5],
    "copies": [*NO_LIST, *([bad] for bad in NO_SKETCH)],
    "models": [*NO_LIST, *([bad] for bad in NO_SKETCH)],
    "changes": [*NO_LIST, *([bad] for bad in NO_SKETCH)],
    "base": NO_SKETCH,
    "corrections": [*NO_LIST, *([bad] for bad in NO_COUNT)],
    "reason": ["bored", "", None, 5],
    "abandoned": NO_SKETCH,
    "key": [None, 5],
    "due": [*NO_NUMBER, -0.5, 1e16],
    "step_scale": [*NO_NUMBER, 0, -1.0],
    "statistics": [
        *NO_LIST,
        *([], [0, 0, [], []], [0, -1, *NO_LAYERS], [0, 0, [-1], [], [], []], [0, 0, [], ["x"], [], []]),
        *([0, 0, [], [], [-1], []], [0, 0, [], [], [], 0], [0, 0, *NO_LAYERS, 0]),
    ],
    "blocks": [1, "x", {}, *([bad] for bad in NO_COUNT)],
    "spares_last_step": [None, 0, 1, "true"],
    "pulled_bytes": NO_COUNT,
}
"""What each field must not be."""
WRONG_OF_ONE = {("Mixed", "sent_bytes"): [*NO_LIST, *([bad] for bad in NO_COUNT), [8], [8, 8, 8]]}
"""By event, where a field means something else there."""


def through_json(events: list[Event]) -> list[Event]:
    return from_rows(json.loads(json.dumps(as_rows(events))))


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event: Event) -> None:
    (restored,) = through_json([event])
    assert restored == event
    assert type(restored) is type(event)
    # Equality does not tell a tuple from a sketch.
    assert repr(restored) == repr(event)


@pytest.mark.parametrize("kind", EVENTS.values(), ids=lambda kind: kind.__name__)
def test_an_event_of_default_fields_survives_json(kind: type[Event]) -> None:
    (full,) = (event for event in EVERY_KIND if type(event) is kind)
    required = [value for name, value in full._asdict().items() if name not in kind._field_defaults]
    event = kind(*required)
    assert through_json([event]) == [event]


def test_the_hash_is_that_of_the_restored_trace() -> None:
    assert trace_hash(through_json(EVERY_KIND)) == trace_hash(EVERY_KIND)


def test_an_integer_may_stand_for_a_number_and_becomes_one() -> None:
    (restored,) = from_rows([["Started", 1, 0, 2, 1]])
    assert repr(restored) == "Started(time=1.0, worker=0, batch=2.0, step_scale=1.0)"


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_a_wrong_field_is_named_with_its_row(event: Event) -> None:
    for place, name in enumerate(event._fields, start=1):
        for bad in WRONG_OF_ONE.get((type(event).__name__, name), WRONG[name]):
            row = as_row(event)
            row[place] = bad
            with pytest.raises(ValueError, match=rf"^row 7 of the trace, {type(event).__name__}: {name} must be "):
                from_row(7, row)


def test_weights_of_a_mixing_are_rows_and_not_negative() -> None:
    row = as_row(next(event for event in EVERY_KIND if type(event).__name__ == "Mixed"))
    for bad in ([0.5, 0.5], [[0.5, -0.5]], [[0.5, None]]):
        with pytest.raises(ValueError, match="row 0 of the trace, Mixed: weights must be a list, each item a"):
            from_row(0, [*row[:3], bad, *row[4:]])


@pytest.mark.parametrize("field", ["copies", "models", "changes"])
@pytest.mark.parametrize(("sums", "sum_count"), [([], 0), ([0.5], 1), ([0.5], None)])
def test_a_mixing_has_a_sketch_of_every_member_or_of_none(field: str, sums: list[float], sum_count: int | None) -> None:
    event = Mixed(1.0, (0, 1), ((0.5, 0.5), (0.5, 0.5)), 0.5, (0, 0))._asdict()
    rows = [as_row(Mixed(**{**event, field: (Mass(tuple(sums)),) * count})) for count in range(4)]
    for count in (0, 2):
        assert from_row(7, rows[count], sum_count=sum_count).time == 1
    for count in (1, 3):
        with pytest.raises(ValueError, match=f"^row 7 of the trace, Mixed: {field} must be 2 sketches.* got {count}$"):
            from_row(7, rows[count], sum_count=sum_count)


def test_a_version_that_is_applied_is_a_new_one() -> None:
    with pytest.raises(ValueError, match="Applied: version must be an integer from 1 to"):
        from_row(0, ["Applied", 1.0, [0], [1.0], 0, SKETCH])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([], r"row 1 of the trace is no event: \[\]"),
        (None, "row 1 of the trace is no event: None"),
        (5, "row 1 of the trace is no event: 5"),
        ("Arrived", "row 1 of the trace is no event: 'Arrived'"),
        ({"Arrived": 1.0}, "row 1 of the trace is no event: {"),
        (["Vanished", 1.0], "row 1 of the trace is no event"),
        ([["Arrived"], 1.0, 2], "row 1 of the trace is no event"),
        (["Arrived", 1.0], "row 1 of the trace, Arrived, needs 2 fields, got 1"),
        (["Arrived", 1.0, 2, 3], "row 1 of the trace, Arrived, needs 2 fields, got 3"),
    ],
)
def test_a_row_that_is_no_event_is_refused(row: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        from_rows([as_row(Arrived(0.5, 0)), row])


def test_a_long_row_is_not_repeated_at_length() -> None:
    with pytest.raises(ValueError, match="no event") as caught:
        from_row(0, ["x"] * 10_000)
    assert len(str(caught.value)) < 200


def test_every_sketch_has_as_many_sums_as_the_run_and_none_where_there_are_no_vectors() -> None:
    joined, sent = as_row(Joined(0.0, 0, 0, Mass((1.0,), 1.0))), as_row(Sent(0.0, 0, 0, 0, 8))
    assert from_row(0, joined, sum_count=1).time == 0
    for count in (0, 2):
        with pytest.raises(ValueError, match=f"Joined: model has a sketch of 1 sums, those of the run have {count}"):
            from_row(0, joined, sum_count=count)
    with pytest.raises(ValueError, match="Sent: mass has a sketch of 0 sums, those of the run have 1"):
        from_row(0, sent, sum_count=1)
    assert from_row(0, sent, sum_count=0).time == 0
    with pytest.raises(ValueError, match=r"Sent: the norms must be 0 in a run without vectors, got \(0.0, 0.0, 1.0\)"):
        from_row(0, [*sent[:12], 1.0, *sent[13:]], sum_count=0)
    # Nothing lost needs no sketch.
    some = [SKETCH, SKETCH]
    assert from_row(0, [*sent[:6], *some, [[], 0.0], *sent[9:]], sum_count=1).time == 0
