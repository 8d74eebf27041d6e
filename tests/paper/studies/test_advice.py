"""Advice: the advised candidate's seconds over the fastest one's, and what is said where nothing got there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.results import result
from paper.studies.advice import (
    MACROS,
    NAME,
    advice,
    advice_table,
    candidate_seconds,
    constant_ratio,
    largest_ratio,
    ratio,
    rows,
)
from tests.support.drawing import plain, table_lines
from tests.support.paper_data import PROVENANCE, rewrite, write


def candidate(policy: str, density: float, predicted: float | None, real: float | str) -> dict[str, Any]:
    return {
        "policy": policy,
        "density": density,
        "predicted_seconds": None if predicted is None else {"value": predicted},
        "real_mean_seconds": real,
        "real_seconds": [real, real],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    settings = {
        "quadratic, one_slow": {
            "candidates": [
                candidate("ssp:staleness=2", 1.0, 2.0, 2.2),
                candidate("ssp:staleness=2", 0.05, 3.0, 2.0),
                candidate("asp", 0.05, None, "inf"),
                candidate("asp", 1.0, None, 2.5),
            ],
            "fastest_seconds": 2.0,
            "is_within": True,
        },
        "network, equal": {
            "candidates": [candidate("bsp", 1.0, None, "inf"), candidate("asp", 1.0, None, 4.0)],
            "fastest_seconds": 4.0,
            "is_within": False,
        },
        "network, spread": {
            "candidates": [candidate("bsp", 1.0, None, "inf"), candidate("asp", 1.0, None, "inf")],
            "fastest_seconds": "inf",
            "is_within": False,
        },
    }
    write(
        tmp_path / f"{NAME}.json", {"profile": "record", "settings": settings, "within": 1.1, "provenance": PROVENANCE}
    )
    return tmp_path


def test_candidates_are_drawn_that_have_been_predicted_and_got_there(folder: Path) -> None:
    assert candidate_seconds(result(folder, NAME)) == [(2.0, 2.2), (3.0, 2.0)]
    diagonal, points = advice(folder).axes[0].get_lines()
    assert np.asarray(points.get_xydata()).tolist() == [[2.0, 2.2], [3.0, 2.0]]
    assert np.asarray(diagonal.get_xdata()).tolist() == np.asarray(diagonal.get_ydata()).tolist() == [2.0, 3.0]


def test_the_largest_ratio_is_that_of_the_setting_that_fared_worst(folder: Path) -> None:
    assert largest_ratio(folder) == math.inf


def test_a_ratio_is_infinite_where_the_advised_one_did_not_get_there(folder: Path) -> None:
    assert [ratio(row) for row in rows(result(folder, NAME)).values()] == [pytest.approx(1.1), math.inf, math.inf]


def test_the_table_has_the_advised_and_the_fastest(folder: Path) -> None:
    table = advice_table(folder)
    assert table_lines(table, "quadratic, one slow") == [
        ["\\texttt{ssp:staleness=2}", "2.00", "2.20", "\\texttt{ssp:staleness=2}, 0.05", "2.00", "1.10", "1.25"]
    ]
    ((advised, predicted, seconds, fastest, _, times, constant),) = table_lines(table, "network, equal")
    assert (advised, predicted, seconds, fastest) == ("\\texttt{bsp}", "--", "not reached", "\\texttt{asp}")
    assert (times, constant) == ("--", "1.00")


def test_what_nobody_has_to_be_asked_for_stands_beside_the_advised(folder: Path) -> None:
    found = [constant_ratio(row) for row in rows(result(folder, NAME)).values()]
    assert found == [pytest.approx(1.25), pytest.approx(1.0), math.inf]
    reached = dict(list(result(folder, NAME)["settings"].items())[:1])
    rewrite(folder / f"{NAME}.json", settings=reached)
    assert [plain(MACROS[name](folder)) for name in ("AdviceLargest", "AdviceConstant")] == ["1.100", "1.250"]


def test_macros_count_settings(folder: Path) -> None:
    assert {name: plain(macro(folder)) for name, macro in MACROS.items()} == {
        "AdviceSettings": "3",
        "AdviceWell": "1",
        "AdviceLargest": "not known",
        "AdviceConstant": "not known",
        "AdviceWithin": "10",
        "AdviceCandidates": "4",
        "AdviceSeeds": "2",
    }
