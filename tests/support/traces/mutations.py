"""One thing changed in a trace: a value, a row or the header, drawn at random; and what was changed, in words."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.support.traces.documents import Document

Place = tuple[Any, ...]
"""Of keys and places, from the header or from a row down to a value."""


@dataclass(frozen=True)
class Mutation:
    """What was done to a trace.

    Args:
        deed: "header", "until" or "value" changed; a row "left out", "repeated", "swapped" with the next or "moved" to
            the end; or the trace "cut off" before it.
        row: number of the row, −1 for none.
        path: of the value in the row or the header.
        before: value, or row.
        after: value that took its place.
    """

    deed: str
    row: int = -1
    path: Place = ()
    before: Any = None
    after: Any = None


def number_variants(value: float) -> list[Any]:
    variants = [value + 1, value - 1, -value, 2 * value, value / 2, 1e9 * value, 0, -1, True, None, str(value), [value]]
    variants += [int(value), float(value), math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
    return [*variants, 10**400, 1e300, -1e300, math.inf, -math.inf, math.nan, 1e-300]


def list_variants(value: list[Any]) -> list[Any]:
    return [[], value[:-1], [*value, *value[-1:]], value[::-1], [*value, 0], [value], None, "x", {}, 1.5]


def variants(value: Any) -> list[Any]:
    """What could stand in the place of a JSON value, by mistake or by intent."""
    if isinstance(value, bool) or value is None:
        return [not value, 0, 1, 5.0, None, "true", []]
    if isinstance(value, int | float):
        return number_variants(value)
    if isinstance(value, str):
        return ["", f"{value}x", value[::-1], "left", "crashed", "float32", "bfloat16", 5, None, [value], True]
    if isinstance(value, list):
        return list_variants(value)
    return [{}, None, [], "x", {**value, "more": 1}]


def places(value: Any, path: Place = ()) -> list[Place]:
    """The paths of a value and of all values within it."""
    found = [path]
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return found + [deeper for key, item in items for deeper in places(item, (*path, key))]


def at(value: Any, path: Place) -> Any:
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: Place, new: Any) -> Any:
    """A copy with another value at a place."""
    if not path:
        return new
    changed = copy.deepcopy(value)
    at(changed, path[:-1])[path[-1]] = new
    return changed


def changed_value(whole: Document, numbers: random.Random) -> tuple[Document, Mutation]:
    row = numbers.randrange(len(whole.rows))
    path = numbers.choice(places(whole.rows[row]))
    before = at(whole.rows[row], path)
    after = numbers.choice(variants(before))
    rows = [*whole.rows[:row], put(whole.rows[row], path, after), *whole.rows[row + 1 :]]
    return replace(whole, rows=rows), Mutation("value", row, path, before, after)


def changed_header(whole: Document, numbers: random.Random) -> tuple[Document, Mutation]:
    path = numbers.choice(places(whole.header))
    before = at(whole.header, path)
    after = numbers.choice(variants(before))
    return replace(whole, header=put(whole.header, path, after)), Mutation("header", -1, path, before, after)


def changed_end(whole: Document, numbers: random.Random) -> tuple[Document, Mutation]:
    after = numbers.choice(number_variants(whole.until))
    return replace(whole, until=after), Mutation("until", before=whole.until, after=after)


def changed_rows(whole: Document, numbers: random.Random) -> tuple[Document, Mutation]:
    rows, number = list(whole.rows), numbers.randrange(len(whole.rows))
    row = rows[number]
    deed = numbers.choice(["left out", "repeated", "swapped", "moved", "cut off"])
    if deed in ("left out", "moved"):
        rows = [*rows[:number], *rows[number + 1 :], *([row] if deed == "moved" else [])]
    elif deed == "repeated":
        rows.insert(number, row)
    elif deed == "swapped":
        rows[number : number + 2] = rows[number : number + 2][::-1]
    else:
        rows = rows[:number]
    return replace(whole, rows=rows), Mutation(deed, number, before=row)


CHANGES: list[Callable[[Document, random.Random], tuple[Document, Mutation]]] = [
    *[changed_value] * 6,
    *[changed_rows] * 3,
    changed_header,
    changed_end,
]
"""Each as often as it is drawn."""


def mutated(whole: Document, numbers: random.Random) -> tuple[Document, Mutation]:
    """A trace with one thing changed."""
    while True:
        changed, mutation = numbers.choice(CHANGES)(whole, numbers)
        if repr(changed) != repr(whole):
            return changed, mutation
