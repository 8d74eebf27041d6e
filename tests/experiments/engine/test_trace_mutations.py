"""Traces with one thing changed: each is refused, or the change is of a kind that is known to hide nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.monitors.trace import EVENTS
from sparsync.verify.monitors.verdict import BROKEN, KEPT, UNREADABLE, judge_file
from tests.support.traces.documents import RUNS, Document, document, write_run
from tests.support.traces.harmless import KINDS, SKETCHES, Case, kind_of, open_end, unsent
from tests.support.traces.mutations import Mutation, Place, at, mutated, put

LARGEST_PASSING_SHARE = 0.25
"""Of what changes times, batches, bytes, names and norms, many pass; a judge that slept would let most pass."""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document]:
    folder = tmp_path_factory.mktemp("runs")
    for name in RUNS:
        write_run(name, folder / name)
        assert judge_file(folder / name)[0] == KEPT
    return {name: document(folder / name) for name in RUNS}


def tried(whole: Document, name: str, count: int, path: Path) -> Iterator[tuple[int, str, Case]]:
    """Status and line for random changes of a trace; whatever else is raised than they tell fails the test."""
    numbers = random.Random(f"{name} {count}")
    for _ in range(count):
        changed, mutation = mutated(whole, numbers)
        yield *judge_file(changed.seal(path)), Case(mutation, whole, changed)


def unexplained(whole: Document, name: str, count: int, path: Path) -> tuple[list[Mutation], Counter[str]]:
    """Changes that passed and are of no harmless kind; and how many there were of each kind, and of each status."""
    found, counts = [], Counter[str]()
    for status, line, case in tried(whole, name, count, path):
        counts[f"status {status}"] += 1
        assert line.count("\n") == 0
        if status == KEPT:
            kind = kind_of(case)
            counts[kind or "unknown"] += 1
            found += [] if kind else [case.mutation]
    return found, counts


@pytest.mark.parametrize("name", RUNS)
def test_a_changed_trace_is_refused_or_the_change_is_harmless(
    name: str, documents: dict[str, Document], tmp_path: Path
) -> None:
    found, counts = unexplained(documents[name], name, 40, tmp_path / "trace")
    assert found == []
    assert counts[f"status {KEPT}"] < 20
    assert counts[f"status {BROKEN}"] > 0
    assert counts[f"status {UNREADABLE}"] > 0


@pytest.mark.slow
def test_thousands_of_changed_traces_are_refused_or_harmless_and_every_kind_occurs(
    documents: dict[str, Document], tmp_path: Path
) -> None:
    total = Counter[str]()
    for name, whole in documents.items():
        found, counts = unexplained(whole, name, 1000, tmp_path / "trace")
        assert found == [], name
        total += counts
    assert total[f"status {KEPT}"] < LARGEST_PASSING_SHARE * 1000 * len(documents)
    assert {kind.__name__ for kind in KINDS} - set(total) <= {*RARE, "unbegun"}, total


RARE: dict[str, tuple[str, str, str, Callable[[Any], Any]]] = {
    "crash": ("coming and going", "Departed", "reason", lambda _: "crashed"),
    "other_order": ("dropped messages", "Applied", "messages", lambda messages: messages[::-1]),
    "nothing_lost": ("a bound on the lead", "Sent", "lost", lambda _: [[], 0.0]),
}
"""Changes that are seldom drawn, by kind: in which run, of which event, which field, and what becomes of it."""


@pytest.mark.parametrize("kind", RARE)
def test_a_harmless_change_that_is_seldom_drawn_passes(
    kind: str, documents: dict[str, Document], tmp_path: Path
) -> None:
    name, event, field, change = RARE[kind]
    whole, place = documents[name], EVENTS[event]._fields.index(field) + 1
    number, before = next(
        (number, row[place])
        for number, row in enumerate(whole.rows)
        if row[0] == event and change(row[place]) != row[place]
    )
    row = put(whole.rows[number], (place,), change(before))
    changed = replace(whole, rows=[*whole.rows[:number], row, *whole.rows[number + 1 :]])
    assert judge_file(changed.seal(tmp_path / "trace"))[0] == KEPT
    assert kind_of(Case(Mutation("value", number, (place,), before, change(before)), whole, changed)) == kind


def test_whether_one_that_crashes_had_begun_its_step_is_open(documents: dict[str, Document], tmp_path: Path) -> None:
    whole = documents["coming and going"]
    cases = [
        Case(
            Mutation("left out", number, before=row),
            whole,
            replace(whole, rows=whole.rows[:number] + whole.rows[number + 1 :]),
        )
        for number, row in enumerate(whole.rows)
        if row[0] == "Started"
    ]
    (found,) = [case for case in cases if kind_of(case) == "unbegun"]
    assert judge_file(found.after.seal(tmp_path / "trace"))[0] == KEPT


def sketch_places(whole: Document) -> list[tuple[int, Place]]:
    """Row and path of every sketch of a trace."""
    found: list[tuple[int, Place]] = []
    for number, row in enumerate(whole.rows):
        for place, name in enumerate(EVENTS[row[0]]._fields, start=1):
            if name in ("copies", "models", "changes"):
                found += [(number, (place, item)) for item in range(len(row[place]))]
            elif name in SKETCHES:
                found.append((number, (place,)))
    return found


def inflated(whole: Document, row: int, path: Place, *, share: float) -> Document:
    """The size of a sketch is blown up 10⁹-fold, and that part of the largest size is missing from its sums."""
    sums, size = at(whole.rows[row], path)
    missing = share * whole.header["initial"][1]
    sketch: list[Any] = [[value - missing for value in sums], 1e9 * max(size, missing)]
    rows = [*whole.rows[:row], put(whole.rows[row], path, sketch), *whole.rows[row + 1 :]]
    return Document(whole.header, rows, whole.until)


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.1])
@pytest.mark.parametrize("name", ["a bound on the lead", "mixed models", "no memory"])
def test_a_size_that_is_blown_up_hides_no_lost_mass(
    name: str, share: float, documents: dict[str, Document], tmp_path: Path
) -> None:
    whole = documents[name]
    places = [(row, path) for row, path in sketch_places(whole) if at(whole.rows[row], path)[1]]
    for row, path in random.Random(name).sample(places, 12):
        case = Case(Mutation("value", row, path, at(whole.rows[row], path)), whole, whole)
        if not open_end(case) and not unsent(case):
            status, line = judge_file(inflated(whole, row, path, share=share).seal(tmp_path / "trace"))
            assert status == BROKEN, (row, path, line)
