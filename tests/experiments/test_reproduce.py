"""The whole road starts torchrun once, and a difference from the simulation would be an error."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from sparsync.experiments import reproduce
from tests.support.paths import ROOT
from tests.support.slow_cases import slow_except


@pytest.mark.slow
def test_torchrun_and_simulation_agree_and_are_recorded_together() -> None:
    """Slow since `make reproduce` does it in every profile."""
    record = reproduce.compare_with_torchrun("fnn3_gaussian_k")
    assert record["parameters_sha256"] == record["simulated_parameters_sha256"]
    assert (record["run"]["workers"], record["provenance"]["process_count"]) == (4, 4)


def test_a_difference_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that would write this are not started: what torchrun does is the claim of the test above."""

    def other_result(command: Sequence[str], **_options: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text(json.dumps({"parameters_sha256": "0" * 64}))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(reproduce, "run_to_end", other_result)
    with pytest.raises(RuntimeError, match="torchrun and simulation differ"):
        reproduce.compare_with_torchrun("fnn3_gaussian_k")


@pytest.mark.slow
def test_a_failing_launch_is_an_error_with_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "_TORCHRUN_PROCESS_COUNT", 1)
    with pytest.raises(RuntimeError, match="unknown run 'fnn4'"):
        reproduce.compare_with_torchrun("fnn4")


def test_no_jobs_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        reproduce.ReproduceCommand(data_folder=tmp_path / "data", profile="smoke", jobs=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("part", slow_except({"planned_barriers"}, ["steady_state", "planned_barriers"]))
def test_a_part_alone_leaves_the_files_of_the_others(tmp_path: Path, part: str) -> None:
    (tmp_path / "races.json").write_text("as it was")
    command = reproduce.ReproduceCommand(data_folder=tmp_path, profile="smoke", jobs=1, only=(part,))
    reproduce.reproduce(command)
    assert {path.name for path in tmp_path.iterdir()} == {"races.json", f"{part}.json"}
    assert (tmp_path / "races.json").read_text() == "as it was"
    assert json.loads((tmp_path / f"{part}.json").read_text())["profile"] == "smoke"


def test_every_part_runs_unless_some_are_named(tmp_path: Path) -> None:
    everything = reproduce.ReproduceCommand(data_folder=tmp_path)
    assert everything.chosen(reproduce.PARTS) == list(reproduce.PARTS)
    some = reproduce.ReproduceCommand(data_folder=tmp_path, only=("convergence", "torchrun"))
    assert some.chosen(reproduce.PARTS) == ["torchrun", "convergence"]


def test_a_part_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown part 'race'; known: torchrun, .*races"):
        reproduce.ReproduceCommand(data_folder=tmp_path, only=("races", "race"))


def test_results_do_not_depend_on_whether_the_processor_has_avx_512() -> None:
    """Where it has AVX2, that is what PyTorch is told to use; elsewhere it is told nothing."""
    root, processor = ROOT, Path("/proc/cpuinfo")
    command = ["make", "-n", "reproduce"]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
    (line,) = [line.strip() for line in printed.splitlines() if "sparsync.experiments.reproduce " in line]
    setting, _, _ = line.partition(".venv/bin/python")
    program = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    command = ["bash", "-c", f'{setting} "$0" -c "{program}"', sys.executable]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    has_avx2 = processor.exists() and "avx2" in processor.read_text(encoding="utf-8")
    assert found == ("AVX2" if has_avx2 else torch.backends.cpu.get_cpu_capability())
