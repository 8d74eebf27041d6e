"""The figure and the numbers of streamed products are what their file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.studies.planning.streams import (
    MACROS,
    by_outer,
    by_price,
    crossover,
    errors,
    exact_count,
    gains,
    operation_share,
    overlap_errors,
    streams_figure,
)
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import rewrite, write


def cell(outer: int, sleep: float, *, sent: int = 100) -> dict[str, Any]:
    """With two blocks of operations of 5 ns in a hyperstep; overlap gains a half, and predictions are right for it."""
    return {
        "outer": outer,
        "word_seconds": sleep,
        "block_rows": 12 // outer,
        "local_bytes": 7_000_000 // outer**2,
        "sent_counts": [100, sent],
        "external_counts": [50, 50],
        "stated_sent_count": 100,
        "stated_external_count": 50,
        "prices": {"operation_seconds": 5e-9, "barrier_seconds": 0.001, "fetched_seconds": sleep + 1e-8},
        "hidden_word_seconds": 1e-7 * outer,
        "bound_by": "memory" if sleep > 1e-7 * outer else "computing",
        "streamed_predicted_seconds": 1.0 * outer,
        "unoverlapped_predicted_seconds": 1.2 * outer,
        "streamed_seconds": [0.9 * outer, 1.1 * outer],
        "unoverlapped_seconds": [1.4 * outer, 1.6 * outer],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cells = [cell(3, 2e-7), cell(1, 2e-7), cell(3, 0.0), cell(3, 8e-7)]
    study = {"profile": "quick", "rows": 24, "process_count": 4, "outer": 3, "word_seconds": 2e-7, "cells": cells}
    write(tmp_path / "streams.json", study)
    return tmp_path


def test_products_stand_by_outer_blocks_and_by_what_a_word_takes(folder: Path) -> None:
    assert [one["outer"] for one in by_outer(folder)] == [1, 3]
    assert [one["word_seconds"] for one in by_price(folder)] == [0.0, 2e-7, 8e-7]
    assert crossover(folder) == pytest.approx(3e-7)
    # Of 2 · 2 · 4³ operations and what 2 · 4² words may take.
    assert operation_share(folder) == pytest.approx(256 * 5e-9 / (32 * 3e-7))


def test_errors_and_gains_are_of_medians(folder: Path) -> None:
    assert errors(folder, "streamed") == pytest.approx([0.0] * 4)
    assert errors(folder, "unoverlapped") == pytest.approx([-0.2] * 4)
    assert [len(overlap_errors(folder, by)) for by in ("memory", "computing")] == [2, 2]
    assert gains(folder) == pytest.approx([1.5] * 3)
    assert MACROS["StreamAloneWorst"](folder) == r"\ensuremath{20}"


def test_errors_with_overlap_are_told_apart_by_what_should_bind(folder: Path) -> None:
    late = cell(1, 2e-7) | {"streamed_seconds": [1.25, 1.25]}
    rewrite(folder / "streams.json", cells=[cell(3, 2e-7), late])
    assert plain(MACROS["StreamMemoryWorst"](folder)) == "20"
    assert plain(MACROS["StreamComputingWorst"](folder)) == "0"
    rewrite(folder / "streams.json", cells=[cell(3, 2e-7)])
    assert MACROS["StreamMemoryWorst"](folder) == "no"


def test_a_word_too_many_in_a_round_is_said(folder: Path) -> None:
    assert exact_count(folder) == 4
    rewrite(folder / "streams.json", cells=[cell(3, 2e-7), cell(1, 2e-7, sent=101)])
    assert exact_count(folder) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("StreamSleep", "200"), ("StreamMemoryBound", "1"), ("StreamOuterCount", "2"), ("StreamPredictedGain", "1.20")],
)
def test_a_number_is_what_the_file_says(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


def test_the_figure_has_predictions_as_lines(folder: Path) -> None:
    left, right = streams_figure(folder).axes
    assert drawn_line(left, "with overlap") == ([1.0, 3.0], [1.0, 3.0])
    places, heights = drawn_line(right, "without")
    assert places == pytest.approx([10, 210, 810])
    assert heights == pytest.approx([3.6] * 3)
    assert [label.get_text() for label in left.get_xticklabels()] == ["1\n7", "3\n0.78"]
