"""A trace as rows that JSON can hold, and back. A row comes from outside: whatever is wrong with it is a `ValueError`.

Every field must be there, of its kind and within its range; the message names the row and the field. What the events
mean together is for the monitors to judge.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from typing import Any

from sparsync.verify.monitors.trace import EVENTS, Event, Mass, Mixed, Sent, StepStatistics

LARGEST_INTEGER = 2**63 - 1
LARGEST_REAL = 2.0**500
"""Of sketches, norms and weights: sums of many products of two of them are finite."""
LARGEST_SECONDS = 2.0**53
"""Of a time: beyond, adding a second would change nothing."""
Reader = Callable[[object], Any]
"""From a JSON value to the field's; a `ValueError` says what it must be."""


def as_row(event: Event) -> list[object]:
    """An event as a list that JSON can hold: the kind, then the fields."""
    return [type(event).__name__, *event]


def as_rows(events: Iterable[Event]) -> list[list[object]]:
    """Events as lists that JSON can hold."""
    return [as_row(event) for event in events]


def from_rows(rows: Iterable[object]) -> list[Event]:
    """The events of `as_rows`, also after a journey through JSON.

    Raises:
        ValueError: a row is no event; it is named, and so is the field.
    """
    return [from_row(number, row) for number, row in enumerate(rows)]


def from_row(number: int, row: object, *, sum_count: int | None = None) -> Event:
    """The event of a row.

    Args:
        number: of the row, from 0, for messages.
        row: as `as_row` makes it; tuples may be lists, and real numbers integers.
        sum_count: how many sums every sketch must have, 0 where nobody computes vectors; None leaves it open.

    Raises:
        ValueError: it is no event, or a field is missing, too many, of another kind, length or range.
    """
    if not isinstance(row, list | tuple) or not row or not isinstance(row[0], str) or row[0] not in EVENTS:
        raise ValueError(f"row {number} of the trace is no event: {reprlib.repr(row)}")
    name, *values = row
    kind, readers = EVENTS[name], _READERS[name]
    if len(values) != len(readers):
        raise ValueError(f"row {number} of the trace, {name}, needs {len(readers)} fields, got {len(values)}")
    fields: list[Any] = []
    for field, reader, value in zip(kind._fields, readers, values, strict=True):
        try:
            fields.append(reader(value))
        except ValueError as error:
            got = reprlib.repr(value)
            raise ValueError(f"row {number} of the trace, {name}: {field} must be {error}, got {got}") from None
    event = kind(*fields)
    if isinstance(event, Mixed):
        _require_lengths(number, event)
    if sum_count is not None:
        _require_sketches(number, event, sum_count)
    return event


def _require_lengths(number: int, event: Mixed) -> None:
    """There are bytes of every member, and a sketch of it, or of none where nobody computes vectors."""
    if len(event.sent_bytes) != len(event.members):
        raise ValueError(
            f"row {number} of the trace, Mixed: sent_bytes must be {len(event.members)} counts, as there are members, "
            f"got {len(event.sent_bytes)}"
        )
    for field in ("copies", "models", "changes"):
        count, member_count = len(getattr(event, field)), len(event.members)
        if count not in (0, member_count):
            raise ValueError(
                f"row {number} of the trace, Mixed: {field} must be {member_count} sketches, as there are members, or "
                f"none, got {count}"
            )


def _require_sketches(number: int, event: Event, sum_count: int) -> None:
    """Every sketch has this many sums, so that no ledger stays closed; what is lost may be said to be nothing."""
    place = f"row {number} of the trace, {type(event).__name__}"
    for field, value in zip(event._fields, event, strict=True):
        for mass in (value,) if isinstance(value, Mass) else value if isinstance(value, tuple) else ():
            if isinstance(mass, Mass) and len(mass.sums) != sum_count and (mass.sums or field != "lost"):
                raise ValueError(
                    f"{place}: {field} has a sketch of {len(mass.sums)} sums, those of the run have {sum_count}"
                )
    if not sum_count and isinstance(event, Sent) and any((event.change_norm, event.corrected_norm, event.kept_norm)):
        raise ValueError(f"{place}: the norms must be 0 in a run without vectors, got {event[9:12]}")


def real(least: float, most: float = LARGEST_REAL, *, above: bool = False) -> Reader:
    """Reads a finite number from `least` to `most`; `above`: and larger than `least`."""
    expected = f"a number {'above' if above else 'from'} {least:g} to {most:g}"

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(expected)
        # Not for a NaN either.
        if not ((least < value if above else least <= value) and value <= most):
            raise ValueError(expected)
        return float(value)

    return read


def integer(least: int, most: int = LARGEST_INTEGER) -> Reader:
    """Reads an integer from `least` to `most`; a truth value is none."""

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise ValueError(f"an integer from {least} to {most}")

    return read


def text(*choices: str) -> Reader:
    """Reads a text, one of the choices if there are any."""

    def read(value: object) -> str:
        if isinstance(value, str) and (not choices or value in choices):
            return value
        raise ValueError(" or ".join(map(repr, choices)) or "a text")

    return read


def several(reader: Reader) -> Reader:
    """Reads a list of what `reader` reads, as a tuple."""

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError("a list")
        try:
            return tuple(map(reader, value))
        except ValueError as error:
            raise ValueError(f"a list, each item {error}") from None

    return read


_SUMS, _SIZE = several(real(-LARGEST_REAL)), real(0)


def sketch(value: object) -> Mass:
    """Reads a sketch; without sums it is that of nothing.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, list | tuple) and len(value) == 2:
        try:
            found = Mass(_SUMS(value[0]), _SIZE(value[1]))
        except ValueError:
            found = None
        if found is not None and (found.sums or not found.size):
            return found
    raise ValueError(f"a sketch, [[sums], size], of finite numbers with 0 ≤ size ≤ {LARGEST_REAL:g}")


def flag(value: object) -> bool:
    """Reads a truth value.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def optional(reader: Reader) -> Reader:
    """Reads null as None, and else what `reader` reads."""

    def read(value: object) -> Any:
        try:
            return None if value is None else reader(value)
        except ValueError as error:
            raise ValueError(f"null or {error}") from None

    return read


def statistics(value: object) -> StepStatistics:
    """Reads what a worker measured.

    Raises:
        ValueError: it is no such list.
    """
    if isinstance(value, list | tuple) and len(value) == len(_MEASURED):
        try:
            return StepStatistics(*(reader(item) for reader, item in zip(_MEASURED, value, strict=True)))
        except ValueError:
            pass
    raise ValueError("[loss, norm, [norms], [scores], [norms], [scores]], of layers and pieces, finite, not negative")


_COUNT, _NORM = integer(0), real(0)
_MEASURED = (real(-LARGEST_REAL), _NORM, *(several(_NORM),) * 4)
_BY_FIELD: dict[str, Reader] = {
    "time": real(0, LARGEST_SECONDS),
    "worker": _COUNT,
    "members": several(_COUNT),
    "message": _COUNT,
    "messages": several(_COUNT),
    "corrections": several(_COUNT),
    "clock": integer(1),
    "version": integer(-1),
    "read_version": _COUNT,
    "sent_bytes": _COUNT,
    "batch": real(0, above=True),
    "weights": several(real(-LARGEST_REAL)),
    "step": real(0, 1, above=True),
    "tag": text(),
    "key": text(),
    "due": real(0, LARGEST_SECONDS),
    "step_scale": real(0, above=True),
    "statistics": statistics,
    "blocks": optional(several(_COUNT)),
    "spares_last_step": flag,
    "pulled_bytes": _COUNT,
    "reason": text("left", "crashed"),
    **dict.fromkeys(("model", "created", "mass", "kept", "lost", "base", "abandoned"), sketch),
    **dict.fromkeys(("copies", "models", "changes"), several(sketch)),
    **dict.fromkeys(("change_norm", "corrected_norm", "kept_norm"), _NORM),
}
_BY_EVENT: dict[tuple[str, str], Reader] = {
    ("Applied", "version"): integer(1),
    ("Mixed", "weights"): several(several(real(0))),
    ("Mixed", "sent_bytes"): several(_COUNT),
}
"""Fields that mean something else in one kind of event."""
_READERS = {
    name: tuple(_BY_EVENT.get((name, field)) or _BY_FIELD[field] for field in kind._fields)
    for name, kind in EVENTS.items()
}
