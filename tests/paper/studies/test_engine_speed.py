"""What is said of the simulation's speed is what was timed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.results import result
from paper.studies.engine_speed import MACROS, slow_policies, speed_row
from tests.support.paper_data import write


def _row(policy: str, events_per_second: float, *, is_judged: bool = False) -> dict[str, Any]:
    return {"policy": policy, "is_judged": is_judged, "events_per_second": events_per_second}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [_row("bsp", 120_400.0), _row("bsp", 70_000.0, is_judged=True), _row("aw_psp", 4_040.0)]
    write(tmp_path / "engine_speed.json", {"workers": 1000, "rows": [*rows, _row("asp", 50_000.0)]})
    return tmp_path


def test_policies_below_the_aim_are_named(folder: Path) -> None:
    assert slow_policies(result(folder, "engine_speed")) == {"aw_psp": 4_040.0}
    assert MACROS["SpeedSlow"](folder) == r"\texttt{aw\_psp} \ensuremath{4.0}"


@pytest.mark.parametrize(("name", "text"), [("SpeedBsp", "120"), ("SpeedBspJudged", "70"), ("SpeedWorkers", "1000")])
def test_a_number_is_what_was_timed(name: str, text: str, folder: Path) -> None:
    assert MACROS[name](folder) == rf"\ensuremath{{{text}}}"


def test_a_policy_that_was_not_timed_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match="no timing of 'asp', is_judged True"):
        speed_row(result(folder, "engine_speed"), "asp", is_judged=True)
