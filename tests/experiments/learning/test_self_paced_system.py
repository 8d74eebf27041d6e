"""The system `spl`: its settings, its result, and the command on real processes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.learning.registry import SYSTEMS
from sparsync.experiments.learning.self_paced_system import Settings, line, run
from sparsync.experiments.parties.party import Party
from tests.support.workers import torchrun

TINY = Settings(batches=3, corrupted_batches=1, features=4, examples=60, rounds=4, steps=6)


def test_the_result_says_what_came_of_it() -> None:
    advanced: list[None] = []
    found = run(TINY, Party(advance=lambda: advanced.append(None)))
    assert found is not None
    assert len(advanced) == SYSTEMS["spl"].step_count(TINY) == 4
    assert found["recovery_error"] == found["rounds"][-1]["recovery_error"]
    assert found["plain_recovery_error"] == found["rounds"][0]["recovery_error"]
    assert found["violation_count"] == 0
    assert found["sent_bytes"] == sum(sum(one["sent_bytes"]) for one in found["rounds"])
    assert found["sent_bytes"] >= found["step_count"] * 3 * 4 * 8
    assert found["moved_count"] == 18 + 2 + 2
    words = line({"system": "spl", **found})
    assert "the Lagrangian never rose" in words
    assert f"{found['sent_bytes']} bytes" in words
    last = found["rounds"][-1]
    assert (found["distance_bound"], found["is_settled"]) == (last["distance_bound"], last["is_settled"])
    assert last["distance_bound"] > 1e-4
    assert f"not settled, at most {found['distance_bound']:.1g} from the optimum" in words


def test_the_printed_step_is_said_to_let_the_lagrangian_rise() -> None:
    found = run(replace(TINY, z_step="printed", steps=30), Party())
    assert found is not None
    assert found["violation_count"] > 0
    assert f"the Lagrangian rose {found['violation_count']} times" in line(found)


def test_a_selection_sends_less_and_real_data_have_a_test_error() -> None:
    whole, selected = (
        run(replace(TINY, source="diabetes", batches=4, density=density), Party()) for density in (1.0, 0.2)
    )
    assert whole is not None
    assert selected is not None
    assert whole["recovery_error"] is None
    assert 0 < selected["test_error"] < 200
    assert selected["sent_bytes"] / selected["step_count"] < whole["sent_bytes"] / whole["step_count"]


def test_early_ends_still_advance_as_often_as_promised() -> None:
    advanced: list[None] = []
    settings = replace(TINY, pace=1e6, last_pace=1e6, rounds=9, steps=200, tolerance=1e-3)
    found = run(settings, Party(advance=lambda: advanced.append(None)))
    assert found is not None
    assert found["round_count"] < 9
    assert len(advanced) == 9


@pytest.mark.parametrize(
    ("change", "words"),
    [({"pace": 0.0}, "pace"), ({"density": 2.0}, "density"), ({"corrupted_batches": 4}, "corrupted_count")],
)
def test_settings_out_of_range_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(TINY, **change)


def test_the_command_has_the_bits_of_one_process(tmp_path: Path) -> None:
    """Top-k of three batches on two processes, started as the docs say."""
    output = tmp_path / "result.json"
    options = ("--batches", "3", "--corrupted-batches", "1", "--features", "4", "--examples", "60", "--rounds", "2")
    command = ("--nproc-per-node", "2", "-m", "sparsync.experiments.learn", "--system", "spl", "--output", str(output))
    done = torchrun(*command, *options, "--steps", "4", "--density", "0.5")
    assert done.returncode == 0, done.stderr
    assert "spl: " in done.stdout
    found = json.loads(output.read_text(encoding="utf-8"))
    here = run(replace(TINY, rounds=2, steps=4, density=0.5), Party())
    assert here is not None
    assert found["model"] == here["model"]
    assert found["sent_bytes"] == here["sent_bytes"]
    assert found["provenance"]["process_count"] == 2
