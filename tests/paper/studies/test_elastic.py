"""The timeline shows what was done by whom, what was lost and done again; the table has medians and ranges."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.results import result
from paper.studies.elastic import MACROS, restarts, slices_markdown, slices_table, timeline
from tests.support.drawing import drawn_lines, plain, table_lines
from tests.support.paper_data import PROVENANCE, write

PROGRESS = [
    *([0.0, 0, 2], [1.0, 10, 2], [2.0, 8, 2], [3.0, 20, 2]),
    *([9.0, 16, 1], [10.0, 30, 1], [11.0, 30, 3], [12.0, 40, 3]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two workers lose two updates, then one of them and four more; with three there is nothing to be done again."""
    attempts = [{"first_step": 0}, {"first_step": 8}, {"first_step": 16}, {"first_step": 30}]
    fields = {"profile": "record", "steps": 40, "every": 8, "lost_steps": 6, "attempts": attempts, "progress": PROGRESS}
    events = [[1.5, "a rank is killed"], [3.5, "a node is killed"]]
    write(tmp_path / "elastic.json", {**fields, "events": events, "provenance": PROVENANCE})
    rows = [
        {
            "model": "resnet20",
            "method": "top_k",
            "process_count": count,
            "step_seconds": [seconds / count for seconds in (0.3, 0.1, 0.2)],
        }
        for count in (4, 2, 1)
    ]
    write(tmp_path / "slices.json", {"worker_count": 4, "core_count": 2, "rows": rows, "provenance": PROVENANCE})
    return tmp_path


def test_updates_that_are_done_again_are_marked(folder: Path) -> None:
    assert restarts(result(folder, "elastic")) == [((2.0, 10), 8), ((9.0, 20), 16)]


def test_a_curve_breaks_where_updates_are_lost_or_workers_change(folder: Path) -> None:
    (axes,) = timeline(folder).axes
    first, *others = drawn_lines(axes, "2 workers")
    assert (first, others) == ([[0.0, 0.0], [1.0, 10.0]], [])
    assert drawn_lines(axes, "1 worker") == [[[9.0, 16.0], [10.0, 30.0]]]
    assert drawn_lines(axes, "3 workers") == [[[11.0, 30.0], [12.0, 40.0]]]
    assert [text.get_text().strip() for text in axes.texts] == ["a rank is killed", "a node is killed"]


def test_macros_count(folder: Path) -> None:
    counts = {name: plain(macro(folder)) for name, macro in MACROS.items()}
    assert counts == {
        "ElasticSteps": "40",
        "ElasticEvery": "8",
        "ElasticLost": "6",
        "ElasticAttempts": "4",
        "SlicesCores": "2",
        "SlicesWorkers": "4",
    }


def test_the_table_has_a_column_for_each_number_of_processes(folder: Path) -> None:
    assert table_lines(slices_table(folder), "processes") == [["4", "2", "1"]]
    assert table_lines(slices_table(folder), "ResNet-20, top-k") == [
        ["50.0 (25.0 to 75.0)", "100.0 (50.0 to 150.0)", "200.0 (100.0 to 300.0)"]
    ]


def test_the_page_says_where_it_was_timed(folder: Path) -> None:
    head, table = slices_markdown(folder).strip().split("\n\n")
    assert head == "4 workers on 2 cores, Test & Sons 100%, 2026-01-01, median and range of rounds:"
    assert table.splitlines() == [
        "| milliseconds of a step | 4 processes | 2 processes | 1 process |",
        "| --- | --: | --: | --: |",
        "| ResNet-20, top-k | 50.0 (25.0 to 75.0) | 100.0 (50.0 to 150.0) | 200.0 (100.0 to 300.0) |",
    ]
