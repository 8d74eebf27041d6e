"""The command of the learning systems: one line runs any of them, and whoever fails says why before all end."""

from __future__ import annotations

import json
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from sparsync.experiments import learn
from sparsync.experiments.learning.registry import SYSTEMS
from sparsync.verify.tools.locks import held
from tests.support.stand_ins.echoing import ECHO
from tests.support.workers import run_program

PROGRAM = """
import os, sys
from sparsync.experiments.learning.registry import SYSTEMS
from tests.support.stand_ins.echoing import ECHO
SYSTEMS["echo"] = ECHO
sys.argv = ["learn", *{words}, *{by_rank}[int(os.environ["RANK"])]]
from sparsync.experiments import learn
learn.main()
"""


def echoed(
    folder: Path, size: int, *words: str, by_rank: tuple[tuple[str, ...], ...] = ((), (), ())
) -> subprocess.CompletedProcess[str]:
    """The command on so many ranks."""
    said = ["--system", "echo", "--output", str(folder / "result.json"), *words]
    program = folder / "program.py"
    program.write_text(PROGRAM.format(words=said, by_rank=by_rank), encoding="utf-8")
    return run_program(program, size)


def test_a_run_prints_a_line_and_leaves_its_settings_its_result_and_where_it_was_made(tmp_path: Path) -> None:
    ended = echoed(tmp_path, 3, "--count", "4")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"echo: echo 12 → {tmp_path / 'result.json'}\n"
    found = json.loads((tmp_path / "result.json").read_text())
    assert (found["system"], found["echo"]) == ("echo", 12.0)
    assert found["settings"] == {"count": 4, "lost": False}
    assert [(row["subject"], row["bytes"]) for row in found["books"]] == [("numbers", 16), ("echo", 16)]
    assert found["provenance"]["process_count"] == 3
    assert {file.name for file in tmp_path.iterdir()} == {"result.json", "program.py"}


def test_too_few_processes_are_refused(tmp_path: Path) -> None:
    ended = echoed(tmp_path, 1)
    assert ended.returncode == 2
    assert "echo takes at least 2 processes, there are 1" in ended.stderr
    assert not (tmp_path / "result.json").exists()


def test_ranks_with_other_settings_are_named(tmp_path: Path) -> None:
    ended = echoed(tmp_path, 3, by_rank=((), (), ("--count", "5")))
    assert ended.returncode != 0
    assert "ranks [2] were started with other settings than rank 0" in ended.stderr
    assert not (tmp_path / "result.json").exists()


def test_an_output_that_another_process_writes_ends_all(tmp_path: Path) -> None:
    with held(tmp_path / "result.json"):
        ended = echoed(tmp_path, 2)
    assert ended.returncode == 2
    assert "is being written by" in ended.stderr
    assert "ranks [0] cannot go on" in ended.stderr


def test_a_lost_process_ends_the_run_with_its_rank_and_no_result(tmp_path: Path) -> None:
    ended = echoed(tmp_path, 2, "--lost", "--timeout-seconds", "20")
    assert ended.returncode != 0
    assert "error on rank 0: rank 0, takes 'echo' from rank 1" in ended.stderr
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--system", "none"], "unknown system 'none'"),
        (["--system", "echo", "--count", "0"], "count must be positive, got 0"),
        (["--system", "echo", "--timeout-seconds", "0"], "timeout_seconds must be positive"),
        (["--system", "echo", "--join-seconds", "nan"], "join_seconds must be positive"),
    ],
)
def test_bad_words_are_refused_before_anything_begins(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SYSTEMS, "echo", ECHO)
    with pytest.raises(ValueError, match=said):
        learn.read_arguments([*words, "--output", str(tmp_path / "result.json")])


def test_an_output_without_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, "echo", ECHO)
    with pytest.raises(ValueError, match="missing"):
        learn.read_arguments(["--system", "echo", "--output", str(tmp_path / "missing" / "result.json")])


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_setting_of_a_system_is_an_option_with_a_word_of_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        learn.read_arguments(["--system", name, "--help"])
    said = capsys.readouterr().out
    for field in fields(SYSTEMS[name].settings):
        assert f"--{field.name.replace('_', '-')}" in said
