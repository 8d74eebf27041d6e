"""The command that advises: what it reads of a trace or of numbers, what it refuses, and what it says."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from sparsync.experiments import advise, race_real
from sparsync.experiments.advise import asked, main, read_arguments
from sparsync.experiments.racing.contest import QUADRATIC, Race, run_contestant
from sparsync.experiments.racing.recordings import write_traces

NUMBERS = ["--step-seconds", "1", "1", "4", "--data", QUADRATIC, "--target", "2"]
FEW = ["--policy", "bsp", "asp", "--densities", "1", "0.1", "--seeds", "2", "--jobs", "1", "--seconds", "60"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, race = tmp_path_factory.mktemp("traces"), Race(data=QUADRATIC, seconds=20.0, workers=3, points=1)
    return write_traces(folder, race, [run_contestant(race, "asp")])[0]


def run_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["advise", *words])
    main()


def test_numbers_describe_a_cluster_on_which_a_message_takes_as_long_as_one_of_the_model() -> None:
    words = ["--link-mbit", "8", "--model-bytes", "2e6", "--latency", "0.25", "--shared-link"]
    cluster = asked(read_arguments([*NUMBERS, *words])[0])[0].cluster
    assert [cluster.durations(worker, 7) for worker in range(3)] == [1.0, 1.0, 4.0]
    assert cluster.upload == cluster.download
    # 32 numbers of 8 bytes.
    assert cluster.upload.occupied_seconds(256) == pytest.approx(2.0)
    assert (cluster.upload.latency_seconds, cluster.upload.is_shared) == (0.25, True)


def test_conditions_are_those_of_the_trace_but_for_the_horizon(trace: Path) -> None:
    command, _ = read_arguments(["--trace", str(trace), "--target", "1", "--step-size", "0.2"])
    question, conditions = asked(command)
    race = question.race
    assert (race.data, race.workers, race.seconds, race.step_size) == (QUADRATIC, 3, 120.0, 0.2)
    assert question.step_sizes == (0.2,)
    assert conditions.unit_seconds == 1.0
    assert question.cluster.durations(2, 1) == pytest.approx(3.0)


def test_the_best_comes_first_with_the_command_that_runs_it(
    trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = tmp_path / "found.json"
    run_main(monkeypatch, "--trace", str(trace), "--target", "2", *FEW, "--output", str(output))
    *lines, command = capsys.readouterr().out.splitlines()
    assert [line.split()[0].rstrip("≈") for line in lines] == ["1", "2", "3", "4"]
    assert lines[0].startswith("1  asp, ")
    found = json.loads(output.read_text(encoding="utf-8"))
    assert [row["policy"] for row in found["candidates"]][:2] == ["asp", "asp"]
    assert found["command"] == command
    program, words = command.split(" -m sparsync.experiments.race_real ")
    assert program == "torchrun --nproc-per-node 4"
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.chdir(tmp_path)
    real, contestant = race_real.read_arguments(shlex.split(words))
    real = race_real.of_this_job(real)
    assert (contestant, real.race.workers, real.race.data) == (("asp", {}), 3, QUADRATIC)


@pytest.mark.slow
def test_several_processes_say_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], trace: Path
) -> None:
    words = ["--trace", str(trace), "--target", "2", *FEW]
    run_main(monkeypatch, *words)
    alone = capsys.readouterr().out
    run_main(monkeypatch, *words, "--jobs", "2")
    assert capsys.readouterr().out == alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "2"], "either --trace FILE, or --step-seconds of each worker"),
        ([*NUMBERS, "--trace", "x.jsonl"], "either --trace FILE, or --step-seconds of each worker"),
        (["--trace", "x.jsonl", "--target", "2"], "x.jsonl: there is no such file"),
        ([*NUMBERS, "--workers", "4"], "4 workers, but seconds of 3"),
        ([*NUMBERS, "--link-mbit", "0"], "link_mbit must be positive, got 0.0"),
        ([*NUMBERS, "--model-bytes", "-1"], "model_bytes must be positive, got -1.0"),
        ([*NUMBERS, "--bandwidth", "1e6"], "--step-seconds and --link-mbit describe a cluster here"),
        ([*NUMBERS, "--densities", "0.1", "0.1"], "densities must be there once each"),
        ([*NUMBERS, "--densities", "2"], r"density must lie in (0, 1], got 2.0"),
        ([*NUMBERS, "--policy", "pssp:sample=7"], "sample must be at most 2"),
        ([*NUMBERS, "--policy", "bps"], "unknown policy 'bps'"),
        ([*NUMBERS, "--jobs", "0"], "jobs must be at least 1, got 0"),
        ([*NUMBERS, "--seeds", "0"], "seeds must be at least 1, got 0"),
        (["--step-seconds", "1", "0", "--target", "2", "--data", QUADRATIC], "seconds must be positive"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_line(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advise, "advise", lambda *_: pytest.fail("simulated in vain"))
    with pytest.raises(SystemExit) as caught:
        run_main(monkeypatch, *words)
    (line,) = capsys.readouterr().err.splitlines()
    assert (caught.value.code, line.partition(": ")[0]) == (2, "error")
    assert message in line


@pytest.mark.parametrize("words", [["--workers", "4"], ["--link-mbit", "10"], ["--cluster", "pareto"]])
def test_what_the_trace_tells_is_not_told_otherwise(
    words: list[str], trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_main(monkeypatch, "--trace", str(trace), "--target", "2", *words)
    assert words[0] in capsys.readouterr().err
