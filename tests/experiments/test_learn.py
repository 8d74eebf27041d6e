"""The command of the learning systems: one line runs any of them, and whoever fails says why before all end."""

from __future__ import annotations

import json
import signal
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
    assert found["settings"] == {"count": 4, "lost": False, "lost_later": False, "pause_seconds": 0.0}
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


def test_who_has_done_its_part_waits_for_the_result_longer_than_for_an_exchange(tmp_path: Path) -> None:
    ended = echoed(tmp_path, 3, "--pause-seconds", "9", "--timeout-seconds", "5")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "result.json").exists()


def test_a_process_that_is_lost_once_nobody_needs_it_is_no_error_of_the_others(tmp_path: Path) -> None:
    ended = echoed(tmp_path, 3, "--lost-later", "--pause-seconds", "1")
    # The first status that is not zero is that of the last rank.
    assert ended.returncode == -signal.SIGKILL
    assert ended.stderr == ""
    assert (tmp_path / "result.json").exists()


FEDERATED = """
import os, signal, sys, time
from itertools import count
from sparsync.experiments.learning import federated, federated_clients
sys.argv = ["learn", "--system", "federated", "--secure", "--threshold", "2", "--rounds", "3", "--local-steps", "1",
            "--examples", "120", *{words}]
right, calls = federated_clients.Client.local_gradients, count()
def slowly(client):
    exchange = next(calls)
    time.sleep({seconds})
    if {dies} and client.rank == 3 and exchange == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return right(client)
federated_clients.Client.local_gradients = slowly
from sparsync.experiments import learn
learn.main()
"""


def masked(folder: Path, *words: str, seconds: float, dies: bool) -> subprocess.CompletedProcess[str]:
    """The command with secure masks on a server and three clients, whose steps take so long."""
    said = ["--output", str(folder / "result.json"), *words]
    program = folder / "program.py"
    program.write_text(FEDERATED.format(words=said, seconds=seconds, dies=dies), encoding="utf-8")
    return run_program(program, 4)


@pytest.mark.slow
def test_a_client_that_leaves_waits_for_the_others_at_the_end(tmp_path: Path) -> None:
    words = ("--drop-client", "3", "--drop-round", "0", "--timeout-seconds", "6")
    ended = masked(tmp_path, *words, seconds=4.0, dies=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads((tmp_path / "result.json").read_text())["lost"] == [{"rank": 3, "exchange": 0}]


def test_a_client_that_is_killed_under_masks_is_no_error_of_the_others(tmp_path: Path) -> None:
    ended = masked(tmp_path, seconds=0.0, dies=True)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stderr == ""
    assert json.loads((tmp_path / "result.json").read_text())["lost"] == [{"rank": 3, "exchange": 1}]


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
