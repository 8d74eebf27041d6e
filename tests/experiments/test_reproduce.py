"""The whole road starts torchrun once, and a difference from the simulation would be an error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments import reproduce
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.registry import CASE_STUDIES, CaseStudy
from sparsync.experiments.studies.training.contestants import Case
from sparsync.experiments.studies.training.measured_run import run_case
from sparsync.experiments.training.runs import RUNS
from sparsync.verify.tools.durations import read_durations
from sparsync.verify.tools.pool import Pool
from tests.support.slow_cases import slow_except
from tests.support.stand_ins.forked import run_forked


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


def test_how_long_a_part_took_is_noted_unless_it_took_something_over(tmp_path: Path) -> None:
    files = {"data_folder": tmp_path / "data", "store": tmp_path / "store"}
    for place, name in enumerate(("first.json", "again.json")):
        command = reproduce.ReproduceCommand(
            profile="smoke", jobs=1, only=("crossovers", "refinement"), durations=tmp_path / name, **files
        )
        assert reproduce.reproduce(command) == {}
        noted = read_durations(tmp_path / name)
        assert set(noted) == (set() if place else {"crossovers", "refinement"})
        assert all(one["duration_seconds"] > 0 and one["job_count"] == 1 for one in noted.values())


def test_every_part_runs_unless_some_are_named(tmp_path: Path) -> None:
    everything = reproduce.ReproduceCommand(data_folder=tmp_path)
    assert everything.chosen(reproduce.PARTS) == list(reproduce.PARTS)
    some = reproduce.ReproduceCommand(data_folder=tmp_path, only=("races", "torchrun"))
    assert some.chosen(reproduce.PARTS) == ["torchrun", "races"]


def test_a_part_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown part 'race'; known: torchrun, .*races"):
        reproduce.ReproduceCommand(data_folder=tmp_path, only=("races", "race"))


def tiny_cases(folder: Path) -> list[Case]:
    """A run that goes to its end, one that diverges, one that fails, and another that goes to its end."""
    runs = {
        "fnn3_top_k": {},
        "fnn3_gaussian_k_released": {"step_size": 1e30},
        "fnn3_dense": {"data": f"fashion_mnist:{folder}"},
        "fnn3_random_k": {},
    }
    sizes = {"steps": 4, "workers": 2, "evaluate_every": 2}
    return [Case(replace(RUNS[name], **sizes, **changes), is_low_rank=False) for name, changes in runs.items()]  # type: ignore[arg-type]  # the fields are of several types


def test_a_diverging_run_is_a_result_and_a_failing_case_spares_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, store = tmp_path / "data", tmp_path / "store"
    cases = tiny_cases(tmp_path / "absent")

    def run(profile_name: ProfileName, pool: Pool) -> dict[str, Any]:
        return {"profile": profile_name, "runs": pool.run(run_case, cases)}

    monkeypatch.setitem(CASE_STUDIES, "convergence_fnn3", CaseStudy(run, lambda _profile: len(cases)))
    data.mkdir()
    (data / "convergence_fnn3.json").write_text("old")
    words = ["--data-folder", str(data), "--profile", "smoke", "--jobs", "1", "--store", str(store)]
    monkeypatch.setattr(sys, "argv", ["reproduce", *words, "--only", "convergence_fnn3", "planned_barriers"])
    with pytest.raises(SystemExit, match="1"):
        reproduce.main()
    errors = capsys.readouterr().err
    assert "FAILED convergence_fnn3: Case(run=Run(selector='keep_all'" in errors
    assert "1 cases failed; a rerun does only what is missing" in errors
    # The other study is there, the old result is in its place, and what was finished is kept.
    assert (data / "planned_barriers.json").exists()
    assert (data / "convergence_fnn3.json").read_text() == "old"
    finished = {path: path.stat().st_mtime_ns for path in store.rglob("*.result")}
    cases[2] = replace(cases[2], run=replace(cases[2].run, data="embedded"))
    reproduce.main()
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    assert len(list(store.rglob("*.result"))) == len(finished) + 1
    found = json.loads((data / "convergence_fnn3.json").read_text())["runs"]
    assert [run["test_loss"] is None for run in found] == [False, True, False, False]


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what shells start in the background ignores it
from dataclasses import replace
from sparsync.experiments import reproduce
from sparsync.experiments.studies.registry import CaseStudy
from sparsync.experiments.studies.training.contestants import Case
from sparsync.experiments.studies.training.measured_run import run_case
from sparsync.experiments.training.runs import RUNS

sizes = {"steps": 4, "workers": 2}
names = ("fnn3_top_k", "fnn3_dense")
cases = [Case(replace(RUNS[name], **sizes, seed=seed), is_low_rank=False) for seed in range(3) for name in names]
reproduce.CASE_STUDIES["convergence_fnn3"] = CaseStudy(
    lambda _profile, pool: {"runs": pool.run(run_case, cases)}, lambda _profile: len(cases)
)
if __name__ == "__main__":
    reproduce.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_run_goes_on_where_it_was_and_ends_as_a_whole_one(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(INTERRUPTED)

    def words(name: str, job_count: int) -> list[str]:
        of_jobs = ["--profile", "smoke", "--jobs", str(job_count), "--only", "convergence_fnn3"]
        return ["program.py", "--data-folder", name, "--store", f"{name}-store", *of_jobs]

    def finish(name: str) -> None:
        done = run_forked("", *words(name, 1), folder=tmp_path)
        assert done.returncode == 0, done.stderr

    finish("whole")
    store, command = tmp_path / "parts-store", [sys.executable, *words("parts", 2)]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE) as begun:
        while not list(store.glob("*/*.result")) and begun.poll() is None:
            time.sleep(0.01)
        os.killpg(begun.pid, number)
        begun.communicate(timeout=100)
    assert begun.returncode == -number
    assert not any(path.is_file() and path.suffix != ".result" for path in store.rglob("*"))
    finished = {path: path.stat().st_mtime_ns for path in store.rglob("*.result")}
    assert 0 < len(finished) < 6
    assert not (tmp_path / "parts" / "convergence_fnn3.json").exists()
    finish("parts")
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    assert len(list(store.rglob("*.result"))) == 6
    whole, parts = (_results(tmp_path / name / "convergence_fnn3.json") for name in ("whole", "parts"))
    assert whole == parts


def _results(path: Path) -> list[dict[str, object]]:
    """What was found, without how fast."""
    return [{**run, "processor_seconds": None} for run in json.loads(path.read_text())["runs"]]
