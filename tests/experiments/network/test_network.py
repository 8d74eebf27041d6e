"""A command runs across hosts to its end on each, nothing of it runs on, and a person sees what the links carried."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sparsync.experiments import network
from sparsync.experiments.hosts import RATES_VARIABLE, Host, Traffic, absence, slow_hosts
from sparsync.experiments.network import HostResult, NetworkCommand, main, read, run_across
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.runs import RUNS

NEEDS_LINKS = pytest.mark.skipif(bool(absence()), reason=absence())
ENDLESS = "sleep 600 & echo $!; setsid sleep 600 & echo $!; echo began >&2; wait"
"""One process in another session as well, which no group of processes holds."""


@pytest.fixture(scope="module")
def pair() -> Iterator[list[Host]]:
    """Two hosts."""
    with slow_hosts(2, 1000, 500) as hosts:
        yield hosts


@pytest.fixture
def _shells(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of torchrun a shell, which begins in no time; it is told which host this is."""

    def launcher(hosts: Sequence[Host], place: int) -> list[str]:
        return ["env", f"PLACE={place}", f"COUNT={len(hosts)}", "bash", "-c"]

    monkeypatch.setattr(network, "_launcher", launcher)


def is_running(process: int) -> bool:
    return psutil.pid_exists(process) and psutil.Process(process).status() != psutil.STATUS_ZOMBIE


@NEEDS_LINKS
@pytest.mark.usefixtures("_shells")
def test_every_host_is_told_its_place_and_answers_with_output_errors_and_status(pair: list[Host]) -> None:
    found = run_across(
        pair,
        [f'echo $PLACE of $COUNT, $NAME, ${RATES_VARIABLE}; hostname -I >&2; exit "$PLACE"'],
        60,
        environment={"NAME": "x"},
    )
    assert [(result.host, result.status, result.output) for result in found] == [
        (pair[0], 0, "0 of 2, x, 1000 500\n"),
        (pair[1], 1, "1 of 2, x, 1000 500\n"),
    ]
    assert [result.errors.split() for result in found] == [[host.address] for host in pair]


@NEEDS_LINKS
@pytest.mark.usefixtures("_shells")
def test_hosts_that_go_on_after_a_failure_are_ended(pair: list[Host]) -> None:
    began = time.monotonic()
    script = f"if [ $PLACE = 1 ]; then exit 3; fi; {ENDLESS}"
    first, second = run_across(pair, [script], 60, after_failure_seconds=0.5)
    assert time.monotonic() - began < 30
    assert (first.status, second.status) == (-9, 3)
    assert not any(map(is_running, map(int, first.output.split())))


@NEEDS_LINKS
@pytest.mark.usefixtures("_shells")
def test_what_outlives_its_time_is_an_error_with_its_last_words_and_is_ended(pair: list[Host], tmp_path: Path) -> None:
    script = f"if [ $PLACE = 0 ]; then exit 0; fi; exec > {tmp_path}/processes; {ENDLESS}"
    with pytest.raises(RuntimeError, match=r"hosts \[1\] have not ended within 0.5 s:\nbegan"):
        run_across(pair, [script], 0.5)
    processes = [int(word) for word in (tmp_path / "processes").read_text().split()]
    assert len(processes) == 2
    assert not any(map(is_running, processes))


def test_torchrun_meets_at_the_first_host_and_no_host_needs_a_name() -> None:
    hosts = [Host(f"space-{place}", f"192.0.2.{1 + place}") for place in range(3)]
    words = [" ".join(network._launcher(hosts, place)) for place in range(3)]
    assert all("--rdzv-endpoint 192.0.2.1:29400 --rdzv-id space-0" in line for line in words)
    assert [re.findall(r"is_host=(\d) --local-addr (\S+)", line) for line in words] == [
        [("1", "192.0.2.1")],
        [("0", "192.0.2.2")],
        [("0", "192.0.2.3")],
    ]


def test_what_follows_two_hyphens_is_torchrun_s() -> None:
    words = ["--hosts", "3", "--mbit", "10", "--", "--max-restarts", "2", "script.py", "--", "--hosts", "5"]
    assert read(words) == (NetworkCommand(hosts=3, mbit=(10,)), words[5:])
    words = ["--hosts", "3", "--mbit", "100", "100", "2.5", "--", "script.py"]
    assert read(words)[0] == NetworkCommand(hosts=3, mbit=(100, 100, 2.5))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hosts", "2"], "what torchrun is to run follows"),
        (["--hosts", "2", "--"], "what torchrun is to run follows"),
        (["--hosts", "0", "--", "script.py"], "hosts must be from 1 to 250, got 0"),
        (["--mbit", "-1", "--", "script.py"], "the rate of a link must be positive, got -1"),
        (["--mbit", "9", "8", "--", "script.py"], "links need one rate, or one for each of 4 hosts, got 2"),
        (["--timeout", "0", "--", "script.py"], "timeout must be positive, got 0"),
    ],
)
def test_bad_arguments_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_who_is_not_root_is_told_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda tool: f"/usr/sbin/{tool}")
    with pytest.raises(SystemExit, match="2"):
        main(["--", "script.py"])
    assert capsys.readouterr().err == "error: slow links need root\n"


@NEEDS_LINKS
@pytest.mark.usefixtures("_shells")
def test_the_command_prints_a_row_for_each_host_and_ends_as_the_first_that_failed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="4"):
        main(["--hosts", "2", "--", "echo said $PLACE; exit $((4 * PLACE))"])
    said = capfd.readouterr().out
    assert {"said 0", "said 1"} <= set(said.splitlines())
    rows = [re.findall(r"[\w.]+(?: bytes)?", line) for line in said.splitlines() if "192.0.2." in line]
    assert [row[:2] for row in rows] == [["192.0.2.1", "0"], ["192.0.2.2", "4"]]


def test_the_table_has_sizes_that_a_person_reads() -> None:
    result = HostResult(Host("space", "192.0.2.1"), 0, "", "")
    shown = network.table(NetworkCommand(), [result], [Traffic(1_234_000, 10, 999, 3)], 1.25)
    assert [list(column.cells) for column in shown.columns] == [["192.0.2.1"], ["0"], ["1.23 MB"], ["999 bytes"]]
    assert shown.title == "4 hosts, 100 Mbit/s, 1.2 s"
    assert network.table(NetworkCommand(2, (100, 2.5)), [], [], 1).title == "2 hosts, 100 2.5 Mbit/s, 1.0 s"


@pytest.mark.slow
@NEEDS_LINKS
def test_training_across_hosts_has_the_bits_of_the_simulation(pair: list[Host], tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    training = ("-m", "sparsync.experiments.train", "--run-name", "fnn3_top_k", "--steps", "3", "--output", str(output))
    results = run_across(pair, training, 240)
    assert [result.status for result in results] == [0, 0], results
    simulated = simulate(replace(RUNS["fnn3_top_k"], steps=3, workers=2))
    assert json.loads(output.read_text())["parameters_sha256"] == simulated.parameters_sha256
