"""The figure and the numbers of a farm are what its file says: where it is fastest, and how far predictions are off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.studies.planning.farms import (
    MACROS,
    agreement_count,
    errors,
    farms_figure,
    found_count,
    predicted_count,
    rows_of,
    saturation,
    shown_rows,
    speed_ups,
)
from tests.support.drawing import macro_number, plain
from tests.support.paper_data import write

COUNTS = (1, 2, 4, 5, 6)
CONSTANTS = {"dispatch": 0.0015, "send": 0.012, "collect": 0.0005, "receive": 0.0, "work": 0.224, "master": 0.001}


def row(density: float, *, close: tuple[int, ...], slower: float = 1.0) -> dict[str, Any]:
    """2L = 2 ms, t_s = 12 ms and t_w = 224 ms, so that K* is 4 if all is told; predictions are a tenth too short."""
    phased = [count * (0.002 + 0.012 * density) + 0.001 + 0.224 / count for count in COUNTS]
    return {
        "density": density,
        "payload_share": density,
        "constants": {f"{name}_seconds": value for name, value in CONSTANTS.items()},
        "boundary": {"worker_count": (0.224 / (0.002 + 0.012 * density)) ** 0.5},
        "curve": [
            {
                "worker_count": count,
                "seconds": [1.1 * seconds, 1.1 * seconds * slower, 1.1 * seconds / slower],
                "phased_seconds": seconds,
                "pipelined_seconds": 1.1 * seconds,
            }
            for count, seconds in zip(COUNTS, phased, strict=True)
        ],
        "fastest_count": close[0],
        "close_counts": list(close),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = {"boundary": 217.41, "best_count": 217, "best_level_count": 256}
    study = {
        "profile": "quick",
        "unknowns": 1920,
        "blocks": 120,
        "iterations": 6,
        "rows": [row(0.25, close=(5,)), row(1.0, close=(2, 4, 5), slower=2.0), row(0.5, close=(2, 6))],
        "tree": {"map_seconds": 1.0, "fold_seconds": 1e-5, "round_seconds": 2e-3, "parts": 10_000}
        | {"gathered": found, "tree": found},
    }
    write(tmp_path / "farms.json", study)
    return tmp_path


def test_rows_come_from_the_largest_density_on_and_three_are_shown(folder: Path) -> None:
    rows = rows_of(folder)
    assert [one["density"] for one in rows] == [1.0, 0.5, 0.25]
    assert [one["density"] for one in shown_rows(rows)] == [1.0, 0.5, 0.25]
    assert [one["density"] for one in shown_rows(rows[:1])] == [1.0]


def test_a_speed_up_is_over_one_worker_in_the_same_round(folder: Path) -> None:
    whole = rows_of(folder)[0]
    for rounds in speed_ups(whole):
        # A round that is slower with all numbers of workers changes no speed-up.
        assert rounds == pytest.approx([rounds[0]] * 3)


def test_errors_are_of_predicted_over_measured_medians(folder: Path) -> None:
    assert errors(folder, "phased_seconds") == pytest.approx([-0.1 / 1.1] * 15)
    assert errors(folder, "pipelined_seconds") == pytest.approx([0.0] * 15, abs=1e-12)
    assert MACROS["FarmPhasedWorst"](folder) == r"\ensuremath{9.1}"


def test_what_was_predicted_agrees_where_it_cannot_be_told_from_the_fastest(folder: Path) -> None:
    rows = rows_of(folder)
    assert [predicted_count(one) for one in rows] == [4, 5, 6]
    assert [found_count(one) for one in rows] == [2, 2, 5]
    assert agreement_count(folder) == 1


def test_the_boundary_ends_where_messages_alone_are_left(folder: Path) -> None:
    assert saturation(folder) == pytest.approx((0.224 / 0.002) ** 0.5)
    assert macro_number(MACROS["FarmMessage"](folder)) == 2.0
    assert macro_number(MACROS["FarmWholeBoundary"](folder)) == 4.0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FarmDensities", "1, 0.5, 0.25"),
        ("FarmWholeClose", "2 to 5"),
        ("FarmLeastClose", "5"),
        ("FarmLeastFound", "5"),
        ("FarmRounds", "3"),
        ("FarmGatheredBoundary", "217.4"),
    ],
)
def test_a_number_is_what_the_file_says(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


def test_the_figure_marks_boundaries_and_what_was_found(folder: Path) -> None:
    left, right = farms_figure(folder).axes
    triangles = [line.get_xdata()[0] for line in left.get_lines() if line.get_marker() == "^"]  # type: ignore[index]
    assert triangles == pytest.approx([one["boundary"]["worker_count"] for one in rows_of(folder)])
    rings = [line.get_xdata()[0] for line in left.get_lines() if line.get_markerfacecolor() == "none"]  # type: ignore[index]
    assert rings == [2, 2, 5]
    dots = [(line.get_xdata()[0], line.get_ydata()[0]) for line in right.get_lines() if line.get_marker() == "o"]  # type: ignore[index]
    assert dots == [(1.0, 2), (0.5, 2), (0.25, 5)]
