"""The study of the simulation's speed counts every event, and refuses what it cannot time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sparsync.experiments.studies.engine_speed import SpeedCommand, main, run_engine_speed


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
    assert study["zipline"]["seconds"] > 0


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
