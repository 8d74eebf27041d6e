"""The runs of a profile are trained by real processes, each once, and one that fails spares the others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.command import read_command
from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.training import distributed
from sparsync.experiments.studies.training.distributed import SUMMARY, FullCommand, summary, train_all

RESULT = {"test_accuracy": 0.5, "provenance": {"process_count": 2, "gpu_name": None, "processor_name": "some"}}


def after(words: Sequence[str], name: str) -> str:
    return words[list(words).index(name) + 1]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stands for torchrun: writes a result at once, but for random_k, which fails."""
    calls: list[list[str]] = []

    def run(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        assert options["timeout_seconds"] > 0
        calls.append([*words])
        if after(words, "--run-name") == "fnn3_random_k":
            return subprocess.CompletedProcess(words, 3, "", "it broke\n")
        Path(after(words, "--output")).write_text(json.dumps(RESULT), encoding="utf-8")
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(distributed, "run_to_end", run)
    return calls


def test_each_run_is_one_torchrun_and_is_not_run_again(started: list[list[str]], tmp_path: Path) -> None:
    command = FullCommand(tmp_path, profile="smoke", processes=3, only=("fnn3_top_k",))
    assert train_all(command) == []
    assert len(started) == len(command.cases) == 1
    for words in started:
        assert words[1:4] == ["-m", "torch.distributed.run", "--standalone"]
        assert after(words, "--nproc-per-node") == "3"
        assert "--resume" in words
    assert train_all(command) == []
    assert len(started) == len(command.cases)


def test_a_run_that_fails_is_named_and_tried_again(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = FullCommand(tmp_path, profile="smoke", only=("fnn3_random_k", "fnn3_top_k"))
    failed = train_all(command)
    assert failed == [case.file_name for case in command.cases if case.run_name == "fnn3_random_k"]
    assert "status 3\nit broke" in capsys.readouterr().err
    before = len(started)
    assert train_all(command) == failed
    assert len(started) == before + len(failed)
    rows = json.loads((tmp_path / SUMMARY).read_text(encoding="utf-8"))["rows"]
    assert {row["run_name"] for row in rows} == {"fnn3_top_k"}


def test_the_training_command_takes_every_case_of_the_largest_profile(tmp_path: Path) -> None:
    command = FullCommand(tmp_path)
    for case in command.cases:
        words = command.words(case)
        parsed = read_command("train", "some", words[words.index("sparsync.experiments.train") + 1 :])
        assert parsed.settings == case.run


@pytest.mark.parametrize(("gpu", "backend"), [(None, "gloo"), ("NVIDIA H100", "nccl")])
def test_the_summary_says_who_talked_to_whom(gpu: str | None, backend: str, tmp_path: Path) -> None:
    command = FullCommand(tmp_path, profile="smoke", only=("fnn3_top_k",))
    facts = RESULT["provenance"] | {"gpu_name": gpu}  # type: ignore[operator]  # a dict of facts
    (tmp_path / command.cases[0].file_name).write_text(json.dumps(RESULT | {"provenance": facts}), encoding="utf-8")
    (row,) = summary(command)["rows"]
    assert (row["backend"], row["hardware"]) == (backend, gpu or "some")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"processes": 0}, "processes must be at least 1, got 0"),
        ({"only": ("top_q",)}, "unknown run 'top_q'"),
        ({"profile": "quick"}, "profile must be one of smoke, full, got 'quick'"),
    ],
)
def test_what_cannot_be_run_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        FullCommand(tmp_path, **options)


@pytest.mark.slow
def test_real_processes_end_where_the_simulation_does(tmp_path: Path) -> None:
    """On gloo; NCCL does the same where there are GPUs."""
    command = FullCommand(tmp_path, profile="smoke", processes=2, only=("fnn3_gaussian_k",))
    assert train_all(command) == []
    (first, *_) = command.cases
    found = json.loads((tmp_path / first.file_name).read_text(encoding="utf-8"))
    assert found["provenance"]["process_count"] == 2
    assert found["parameters_sha256"] == simulate(first.run).parameters_sha256
