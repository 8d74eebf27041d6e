"""Programs with one setting after the other: read from a folder, refused early, and quoted if a round fails."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sparsync.experiments.parties.party import Party
from sparsync.experiments.studies.planning import rounds
from sparsync.experiments.studies.planning.rounds import Settings, measured_rounds

SLEEPLESS = {"work_seconds": 0.0, "message_seconds": 0.0, "byte_seconds": 0.0}
SMALL = {"unknowns": 24, "blocks": 6, "workers": (1, 2), "iterations": 2, **SLEEPLESS}


def test_settings_are_run_one_after_the_other() -> None:
    small = {"rows": 6, "word_seconds": 0.0}
    found = rounds.run(Settings("streaming", ({**small, "outer": 1}, {**small, "outer": 3})), Party())
    assert found is not None
    assert [one["words"]["external_count"] for one in found["results"]] == [3 * 36, 7 * 36]


def test_a_rank_finds_its_settings_in_the_folder(tmp_path: Path) -> None:
    each = (SMALL, {**SMALL, "workers": (1, 2, 3)})
    job = {"program": "farm", "each": each}
    (tmp_path / "job.json").write_text(json.dumps(job), encoding="utf-8")
    name, system, command = rounds.read(tmp_path)
    assert name == "farm"
    assert command.settings == Settings("farm", each)
    assert system.step_count(command.settings) == 2 + 3
    assert system.least_size == 2
    assert command.output == tmp_path / "result.json"


def test_a_setting_that_the_program_refuses_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "run_to_end", lambda *_, **__: pytest.fail("it began"))
    with pytest.raises(ValueError, match="density must lie in"):
        measured_rounds("farm", [SMALL, {"density": 2.0}], process_count=3, round_count=1)


def test_a_round_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.CompletedProcess(["torchrun"], 1, "", "no such luck")
    monkeypatch.setattr(rounds, "run_to_end", lambda *_, **__: ended)
    with pytest.raises(RuntimeError, match="torchrun ended with status 1:\nno such luck"):
        measured_rounds("farm", [SMALL], process_count=3, round_count=1)


@pytest.mark.slow
def test_rounds_are_measured_under_torchrun() -> None:
    advanced: list[None] = []
    found = measured_rounds("farm", [SMALL], process_count=3, round_count=2, advance=lambda: advanced.append(None))
    assert len(found) == len(advanced) == 2
    assert len({row["iterates_digest"] for (one,) in found for row in one["curve"]}) == 1
