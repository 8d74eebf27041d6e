"""The command prints a table and leaves its rows; who fails says why, and nothing is left then."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sparsync.experiments.bulk import global_top_k
from sparsync.experiments.bulk.top_k_comparison import METHODS
from tests.support.workers import run_program

PROGRAM = """
import os, signal, sys
from sparsync.experiments.bulk import global_top_k, top_k_comparison
rank = int(os.environ["RANK"])
if {lost} == rank:
    top_k_comparison.METHODS["sampled"] = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["global_top_k", *{words}]
global_top_k.main()
"""
SMALL = ("--dimension", "500", "--density", "0.02", "--vectors", "gaussian", "--repeats", "1")


def ran(folder: Path, size: int, *words: str, lost: int | None = None) -> subprocess.CompletedProcess[str]:
    said = ["--output", str(folder / "result.json"), *SMALL, *words]
    program = folder / "program.py"
    program.write_text(PROGRAM.format(words=said, lost=lost), encoding="utf-8")
    return run_program(program, size)


def test_a_run_prints_a_table_and_leaves_its_rows_and_where_they_were_made(tmp_path: Path) -> None:
    ended = ran(tmp_path, 2)
    assert ended.returncode == 0, ended.stderr
    assert "Top-k over 2 ranks" in ended.stdout
    assert ended.stdout.endswith(f"global_top_k: 7 rows → {tmp_path / 'result.json'}\n")
    found = json.loads((tmp_path / "result.json").read_text())
    assert [row["method"] for row in found["rows"]] == list(METHODS)
    assert found["rows"][0]["count"] == found["rows"][0]["k"] == 10
    assert found["settings"]["dimension"] == 500
    assert found["provenance"]["process_count"] == 2


def test_a_lost_rank_ends_the_run_with_an_error_and_no_result(tmp_path: Path) -> None:
    ended = ran(tmp_path, 2, "--timeout-seconds", "20", lost=1)
    assert ended.returncode != 0
    assert "error on rank 0: sampled: a connection was lost" in ended.stderr
    assert not (tmp_path / "result.json").exists()


def test_one_process_is_one_rank_that_sends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "result.json"
    global_top_k.global_top_k(global_top_k.read_arguments(["--output", str(output), *SMALL]))
    rows = json.loads(output.read_text())["rows"]
    assert {row["sent_bytes"] for row in rows} == {0}
    assert "Top-k over 1 ranks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout-seconds", "0"], "timeout_seconds must be positive"),
        (["--join-seconds", "-1"], "join_seconds must be positive"),
    ],
)
def test_times_that_are_none_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        global_top_k.read_arguments(["--output", str(tmp_path / "result.json"), *words])


def test_a_setting_out_of_range_is_refused_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises((ValueError, SystemExit)):
        global_top_k.read_arguments(["--output", str(tmp_path / "result.json"), "--density", "2"])


def test_an_output_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        global_top_k.read_arguments(["--output", str(tmp_path / "nowhere" / "result.json")])
