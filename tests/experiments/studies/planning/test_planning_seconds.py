"""Every planner is timed on a question of a published size, and answers it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sparsync.experiments.planners.registry import PLANNERS
from sparsync.experiments.studies.planning import planning_seconds
from sparsync.experiments.studies.planning.planning_seconds import PUBLISHED, Size, main, planning_row


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_planner_answers_its_question(name: str) -> None:
    row = planning_row(name)
    assert row["planner"] == name in PLANNERS
    assert row["asks"].endswith("?")
    assert row["objective"] > 0
    assert row["seconds"] >= 0


def test_the_command_writes_a_row_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Size] = {name: Size("small", PUBLISHED[name]().question) for name in ("collective", "easyscale")}
    monkeypatch.setattr(planning_seconds, "PUBLISHED", {name: lambda size=size: size for name, size in made.items()})
    monkeypatch.setattr(sys, "argv", ["planning_seconds", "--output", str(tmp_path / "seconds.json")])
    main()
    rows = json.loads((tmp_path / "seconds.json").read_text())["rows"]
    assert [(row["planner"], row["question"]) for row in rows] == [("collective", "small"), ("easyscale", "small")]
    assert "seconds of a plan" in capsys.readouterr().out
