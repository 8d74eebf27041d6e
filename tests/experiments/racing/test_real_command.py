"""What the server of a real race prints and writes when the run is over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparsync.experiments.race_real import RealRaceCommand, read_arguments, serve
from sparsync.experiments.racing.crew import real_crew
from tests.support.launch.real_runs import usual_conditions, usual_race


def test_a_remark_of_the_policy_is_printed_below_the_result_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    race, conditions = usual_race(workers=2, seconds=0.6, points=1), usual_conditions()
    command = RealRaceCommand("sync_switch", tmp_path / "out.json", race, conditions)
    with real_crew(race, conditions) as (announcements, _):
        serve(command, ("sync_switch", {"total_steps": 10_000}), announcements)
    captured = capsys.readouterr()
    result, remark = captured.out.splitlines()
    written = json.loads(command.output.read_text())
    assert result.startswith("sync_switch:total_steps=10000: f − min f ")
    assert written["measure"] == "f − min f"
    assert remark == f"sync_switch:total_steps=10000: {written['outcomes'][0]['remark']}"
    assert "the run ended in its synchronous part" in remark
    assert captured.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "dybw", "--checkpoint", "kept"], "dybw has no shared model that a server could keep"),
        (["--policy", "asp", "--bandwidth", "1e6"], "--bandwidth is of simulated links; real ones are what they are"),
        (["--policy", "asp", "--resume"], "--resume goes on from the folder that --checkpoint names"),
        (["--policy", "asp", "--lost-after", "0"], "lost_after must be positive and finite, got 0"),
        (["--policy", "ssp:stale=1"], "policy 'ssp' has no parameter 'stale'"),
    ],
)
def test_what_has_no_meaning_is_refused_before_anything_begins(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        read_arguments([*words, "--output", str(tmp_path / "out.json")])
    except ValueError as error:
        assert message in str(error)  # noqa: PT017
    except SystemExit:
        assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
    else:
        pytest.fail("was accepted")
    assert list(tmp_path.iterdir()) == []
