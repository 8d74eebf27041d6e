"""What a race writes of its contestants is judged like the race itself, and says which run it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sparsync.experiments.race import main
from sparsync.experiments.racing.contest import QUADRATIC, Outcome, Race, run_contestant
from sparsync.experiments.racing.recordings import recording, trace_name, write_traces
from sparsync.verify.monitors.files import stored_trace
from sparsync.verify.monitors.verdict import judge_file, judged

SHORT = Race(
    data=QUADRATIC, seconds=9.0, workers=4, points=2, latency=0.25, bandwidth=1e4, selector="top_k", consensus_step=0.5
)
CONTESTANTS = [("bsp", {}), ("ssp", {"staleness": 1}), ("ds_sync", {}), ("parameter_database", {})]


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [run_contestant(SHORT, name, dict(parameters)) for name, parameters in CONTESTANTS]


def test_a_written_race_is_judged_like_the_race(outcomes: list[Outcome], tmp_path: Path) -> None:
    paths = write_traces(tmp_path, SHORT, outcomes)
    assert [path.name for path in paths] == [
        "bsp.jsonl",
        "ssp-staleness=1.jsonl",
        "ds_sync.jsonl",
        "parameter_database.jsonl",
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    for path, outcome in zip(paths, outcomes, strict=True):
        with stored_trace(path) as trace:
            assert trace.until == SHORT.seconds
            assert trace.event_count == len(outcome.trace)
            assert judged(trace) == outcome.report
        with stored_trace(path) as trace:
            assert list(trace.events) == outcome.trace
        assert judge_file(path)[1].startswith(f"{path}: {outcome.label} kept its promises: ")


def test_a_recording_says_which_run_it_was(outcomes: list[Outcome], tmp_path: Path) -> None:
    (path, *_) = write_traces(tmp_path, SHORT, outcomes[1:2])
    with stored_trace(path) as trace:
        said = trace.recording
    assert said.cluster == {
        "cluster": "one_slow", "workers": 4, "bandwidth": 1e4, "latency": 0.25, "shared_link": False,
        "rack_size": None, "rack_bandwidth": "inf", "fixed_share": 0.0, "flat_until": 0.0,
    }  # fmt: skip
    assert (said.run["policy"], said.run["parameters"], said.run["seed"]) == ("ssp", {"staleness": 1}, 0)
    assert said.run["provenance"]["process_count"] == 1
    assert (said.guarantee, said.worker_count) == (outcomes[1].guarantee, 4)
    assert (said.arithmetic.numbers, said.arithmetic.dimension) == ("float64", 32)
    assert said.header == outcomes[1].header


def test_what_is_infinite_can_be_said() -> None:
    outcome = run_contestant(Race(data=QUADRATIC, seconds=2.0, workers=2, points=1), "ssp", {"staleness": float("inf")})
    said = recording(Race(data=QUADRATIC, seconds=2.0, workers=2, points=1), outcome)
    assert said.cluster["bandwidth"] == said.run["parameters"]["staleness"] == "inf"
    assert trace_name(outcome) == "ssp-staleness=inf.jsonl"


def test_a_race_that_is_held_to_no_bounds_promises_none() -> None:
    outcome = run_contestant(SHORT, "bsp", is_held_to_bounds=False)
    assert outcome.guarantee.gap == float("inf")
    assert outcome.guarantee.lossless


def test_the_command_writes_a_trace_for_each_policy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [
        "--policy",
        "bsp",
        "asp",
        "--data",
        QUADRATIC,
        "--seconds",
        "3",
        "--traces",
        str(tmp_path / "new" / "folder"),
    ]
    monkeypatch.setattr(sys, "argv", ["race", *words])
    main()
    written = sorted((tmp_path / "new" / "folder").iterdir())
    assert [path.name for path in written] == ["asp.jsonl", "bsp.jsonl"]
    assert [judge_file(path)[0] for path in written] == [0, 0]
