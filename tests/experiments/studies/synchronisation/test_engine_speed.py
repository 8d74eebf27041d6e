"""The study of the simulation's speed counts every event, and refuses what it cannot time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.studies.synchronisation.engine_speed import (
    AIM_SECONDS,
    AIM_STEPS,
    SpeedCommand,
    main,
    policy_speed,
    run_engine_speed,
    table,
)


def test_every_policy_is_timed_with_and_without_its_monitors(tmp_path: Path) -> None:
    study = run_engine_speed(SpeedCommand(tmp_path / "speed.json", ("bsp", "asp"), workers=5, steps=4, lookahead=3))
    assert [(row["policy"], row["is_judged"]) for row in study["rows"]] == [
        ("bsp", False),
        ("bsp", True),
        ("asp", False),
        ("asp", True),
    ]
    # Of each of five workers four deliveries, steps and arrivals.
    assert {row["event_count"] for row in study["rows"]} == {60}
    assert all(row["events_per_second"] * row["seconds"] == pytest.approx(60) for row in study["rows"])
    assert all(row["aim_seconds"] == pytest.approx(row["seconds"] * AIM_STEPS / 20) for row in study["rows"])
    assert study["zipline"]["seconds"] > 0


def test_all_policies_are_timed_by_default() -> None:
    assert SpeedCommand(Path("speed.json")).policies == tuple(POLICIES)


def test_a_broken_promise_is_noted_and_the_others_are_timed() -> None:
    rows = [policy_speed("dssp_printed", 40, 60, is_judged=is_judged) for is_judged in (True, False)]
    assert "promised are 16" in rows[0]["broken_promise"]
    assert rows[1]["broken_promise"] == ""
    assert rows[0]["event_count"] < rows[1]["event_count"] == 3 * 40 * 60


def test_the_table_says_who_reaches_a_million_steps_in_a_minute() -> None:
    row = {"policy": "bsp", "is_judged": False, "event_count": 60, "seconds": 1.0, "events_per_second": 60.0}
    rows = [
        row | {"aim_seconds": AIM_SECONDS, "broken_promise": ""},
        row | {"aim_seconds": 1.01 * AIM_SECONDS, "broken_promise": ""},
        row | {"aim_seconds": 1.0, "broken_promise": "worker 3 is too far ahead"},
    ]
    assert list(table(rows).columns[-1].cells) == ["yes", "no", "broken promise"]


def test_the_command_writes_what_it_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "speed.json"
    words = ["--output", str(output), "--policies", "ssp", "--workers", "3", "--steps", "2", "--lookahead", "2"]
    monkeypatch.setattr(sys, "argv", ["engine_speed", *words])
    main()
    written = json.loads(output.read_text())
    assert (written["workers"], written["steps"], len(written["rows"])) == (3, 2, 2)
    assert written["provenance"]["process_count"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policies", "bps"], "unknown policy 'bps'"),
        (["--workers", "0"], "workers must be at least 1, got 0"),
        (
            ["--policies", "bsp", "pssp", "--workers", "2"],
            "pssp: sample must be at most 1, the number of others, got 2",
        ),
    ],
)
def test_what_cannot_be_timed_is_refused(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["engine_speed", "--output", str(tmp_path / "speed.json"), *words])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
