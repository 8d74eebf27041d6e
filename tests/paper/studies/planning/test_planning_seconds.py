"""The table of planners names each of them with what it asks and how long it thought."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.studies.planning.planning_seconds import STUDY, planners_table
from sparsync.experiments.planners.registry import PLANNERS
from tests.support.paper_data import write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {"planner": name, "asks": "What?", "question": f"some_{name}", "seconds": place}
        for place, name in enumerate(PLANNERS)
    ]
    write(tmp_path / "planning_seconds.json", {"aim_seconds": 5.0, "rows": rows})
    return tmp_path


def test_every_planner_has_a_row(folder: Path) -> None:
    table = planners_table(folder)
    for place, name in enumerate(PLANNERS):
        shown = name.replace("_", r"\_")
        assert rf"\texttt{{{shown}}} & What? & some\_{shown} & \ensuremath{{{place}.00}} \\" in table


def test_the_slowest_is_named(folder: Path) -> None:
    assert STUDY.macros["PlannersAim"](folder) == r"\ensuremath{5}"
    assert STUDY.macros["PlannersSlowest"](folder) == rf"\ensuremath{{{len(PLANNERS) - 1}.0}}"
    assert STUDY.macros["PlannersCount"](folder) == rf"\ensuremath{{{len(PLANNERS)}}}"
