"""The farm as a program: real processes, a curve beside its prediction, settings that are refused, who is lost."""

from __future__ import annotations

import json
import math
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.bulk import farm, farm_talk
from sparsync.experiments.bulk.command import read_arguments
from sparsync.experiments.bulk.farm import SYSTEM, Model, Settings, result
from sparsync.experiments.bulk.farm_talk import Constants, Course
from sparsync.experiments.parties.party import Party
from sparsync.experiments.parties.talk import Books
from tests.experiments.bulk.test_farm_talk import played
from tests.support.workers import run_program, run_workers

SMALL = Settings(
    unknowns=48, blocks=12, workers=(1, 2, 3), iterations=4, work_seconds=0, message_seconds=0, byte_seconds=0
)


def ran(settings: Settings) -> dict[str, Any] | None:
    return farm.run(settings, Party(dist.get_rank(), dist.get_world_size()))


@pytest.mark.parametrize("density", [1.0, 0.25])
def test_real_workers_have_the_bits_of_simulated_ones(density: float) -> None:
    settings = Settings(**{**vars(SMALL), "density": density})
    found, *others = run_workers(partial(ran, settings), 4)
    assert others == [None] * 3
    assert found["iterates_are_equal"]
    simulated = {played(settings.job, workers).digest for workers in (1, 2, 3)}
    assert {row["iterates_digest"] for row in found["curve"]} == simulated
    assert [row["worker_count"] for row in found["curve"]] == [1, 2, 3]
    share = 1.0 if density == 1 else 12 / (4 * 8)
    assert found["payload_share"] == share
    for row in found["curve"]:
        assert row["told_bytes"] == row["worker_count"] * 48 * 8 * (1 + 3 * share)


def lose_a_worker() -> str:
    """Rank 2 is killed in its first block."""
    if dist.get_rank() == 2:
        pytest.MonkeyPatch().setattr(farm_talk, "change", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    try:
        farm.run(SMALL, Party(dist.get_rank(), 3 + 1, timeout_seconds=20))
    except ExchangeError as error:
        return str(error)
    return "no error"


def test_a_lost_worker_ends_the_farm_with_its_rank() -> None:
    said, *_ = run_workers(lose_a_worker, 4, killed=[2])
    assert "rank 0, takes 'answer' from rank 2" in said
    assert "a connection was lost" in said


PROGRAM = """
import sys
sys.argv = ["farm", *{words}]
from sparsync.experiments.bulk import command, farm
command.main("farm", farm.SYSTEM)
"""


def test_the_command_prints_a_line_and_leaves_a_result(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    words = ["--output", str(output), "--unknowns", "48", "--blocks", "12", "--workers", "1", "2", "--iterations", "3"]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(words=[*words, "--density", "0.5"]), encoding="utf-8")
    ended = run_program(program, 3)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("farm: the same iterates on all workers, speed-up with sleeps by workers 1: 1.00")
    assert ended.stdout.endswith(f"workers → {output}\n")
    found = json.loads(output.read_text())
    assert found["settings"]["density"] == 0.5
    assert found["load"]["work_seconds"] == 0.002
    assert "waiting makes the curve" in found["load"]["meaning"]
    assert found["provenance"]["process_count"] == 3


def test_more_workers_than_processes_are_refused_before_anything_begins() -> None:
    with pytest.raises(ValueError, match="workers up to 3 and a master take 4 processes, there are 3"):
        farm.run(SMALL, Party(0, 3))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--blocks", "7"], "blocks must divide the 960 unknowns, got 7"),
        (["--workers", "2", "5"], r"workers must divide the 24 blocks, got \(2, 5\)"),
        (["--workers", "0"], "workers must divide the 24 blocks"),
        (["--density", "0"], r"density must lie in \(0, 1\], got 0.0"),
        (["--iterations", "0"], "iterations must be at least 1, got 0"),
        (["--byte-seconds", "-1"], "byte_seconds must be at least 0 and finite, got -1.0"),
        (["--work-seconds", "nan"], "work_seconds must be at least 0 and finite, got nan"),
        (["--timeout-seconds", "0"], "timeout_seconds must be positive"),
    ],
)
def test_bad_words_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        read_arguments("farm", SYSTEM, ["--output", str(tmp_path / "result.json"), *words])


CONSTANTS = Constants(dispatch=0.0015, send=0.002, collect=0.0005, receive=0.006, work=0.144)


def test_a_model_is_that_of_the_statements() -> None:
    model = Model(CONSTANTS, 0.01, 1.0, 1.0)
    assert math.isclose(model.phased_seconds(3), 3 * 0.004 + 0.006 + 0.01 + 0.048)
    assert math.isclose(model.pipelined_seconds(3), 3 * 0.0035 + 0.048 + 0.0025 + 0.01)
    found = model.boundary()
    assert math.isclose(found["worker_count"], 6)
    assert found["best_worker_count"] == 6
    assert math.isclose(found["largest_gain"], math.sqrt(2))


def test_a_selection_moves_the_boundary_of_a_model() -> None:
    model = Model(CONSTANTS, 0.01, 0.125, 0.25)
    assert math.isclose(model.phased_seconds(3), 3 * 0.00225 + 0.0015 + 0.01 + 0.048)
    assert math.isclose(model.pipelined_seconds(3), 3 * 0.00175 + 0.048 + 0.001 + 0.01)
    found = model.boundary()
    assert math.isclose(found["worker_count"], math.sqrt(0.144 / 0.00225))
    assert found["dense_worker_count"] < found["worker_count"] < found["dense_worker_count"] * found["largest_gain"]


def test_iterates_that_differ_are_said() -> None:
    course = played(SMALL.job, 1)
    other = Course(course.seconds, course.master_seconds, "other", course.change, course.approximation)
    found = result(Settings(**{**vars(SMALL), "workers": (1, 2)}), CONSTANTS, [course, other], [Books(), Books()])
    assert not found["iterates_are_equal"]
    assert SYSTEM.line(found).startswith("DIFFERENT iterates")
