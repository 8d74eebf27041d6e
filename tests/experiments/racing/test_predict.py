"""The command that predicts: what a trace says of other policies, how wrong it is, and what it refuses."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from sparsync.experiments.engine.clusters import Cluster, Link, Recorded
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.predict import main
from sparsync.experiments.race import main as race
from sparsync.experiments.racing.contest import QUADRATIC, Race, run_contestant
from sparsync.experiments.racing.entries import make_policy
from sparsync.experiments.racing.forecast import forecast, observe
from sparsync.experiments.racing.recordings import recording_of, write_traces
from sparsync.verify.monitors.files import write_trace
from sparsync.verify.monitors.trace import Stepped
from tests.experiments.policies.test_policies import BROKEN
from tests.support.fitting import usual_for
from tests.support.launch.real_runs import real_server, usual_conditions, usual_race

SHORT = Race(
    data=QUADRATIC, seconds=40.0, workers=4, points=1, latency=0.05, bandwidth=1e3, cluster="pareto", shared_link=True
)
MOST_ERROR_PERCENT = 10.0


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    write_traces(folder, SHORT, [run_contestant(SHORT, name) for name in ("asp", "bsp")])
    return folder


def run_main(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["predict", *map(str, words)])
    main()


def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The one line of a command that ends with status 2."""
    with pytest.raises(SystemExit) as caught:
        run_main(monkeypatch, *words)
    (line,) = capsys.readouterr().err.splitlines()
    assert (caught.value.code, line.partition(": ")[0]) == (2, "error")
    return line


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in BROKEN])
def test_a_trace_of_asp_predicts_every_policy(name: str, traces: Path) -> None:
    parameters = usual_for(name, SHORT.workers)
    base = observe(traces / "asp.jsonl")
    times = [event.time for event in run_contestant(SHORT, name, parameters).trace if isinstance(event, Stepped)]
    contestant = name, parameters
    found = forecast(base.cluster, base.race, contestant, len(times), usual_seconds=times[-1], data=None)
    assert found.seconds == pytest.approx(times[-1], rel=MOST_ERROR_PERCENT / 100)


def test_a_run_predicts_itself(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_main(monkeypatch, traces / "bsp.jsonl", "--output", tmp_path / "found.json")
    said = capsys.readouterr().out
    assert said.startswith("bsp: ")
    assert "observed, error " in said
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    (row,) = found["forecasts"]
    assert abs(row["error_percent"]) < MOST_ERROR_PERCENT
    assert row["step_count"] == observe(traces / "bsp.jsonl").step_count
    assert (found["trace"], found["race"]["cluster"]) == ("bsp", "pareto")


def test_a_worker_s_slower_link_is_named_and_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = Link(latency_seconds=0.01, bytes_per_second=5e4, own_rates=(math.inf, math.inf, 100.0, math.inf))
    monkeypatch.setattr(Race, "make_cluster", lambda race: Cluster(race.workers, upload=line, download=line))
    write_traces(tmp_path, SHORT, [run_contestant(SHORT, "asp")])
    run_main(monkeypatch, tmp_path / "asp.jsonl", "--output", tmp_path / "found.json")
    _, sends, reads = capsys.readouterr().out.splitlines()
    cluster = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["cluster"]
    assert cluster["upload"]["own_rates"][2] == cluster["download"]["own_rates"][2] == pytest.approx(100, rel=0.05)
    assert cluster["upload"]["own_rates"][:2] == ["inf", "inf"]
    assert re.fullmatch(r"worker 2 sends at \d+ bytes/s, slower than others", sends)
    assert re.fullmatch(r"worker 2 reads at \d+ bytes/s, slower than others", reads)


def test_others_are_predicted_and_compared_where_they_ran(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_main(monkeypatch, traces / "asp.jsonl", "--policy", "ssp", "asp", "--staleness", "1")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("ssp:staleness=1: ")
    assert "observed" not in first
    assert "observed" in second
    run_main(monkeypatch, traces / "asp.jsonl", "--against", traces / "bsp.jsonl")
    assert ", error " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "bps"], "unknown policy 'bps'"),
        (["--staleness", "3"], "unexpected arguments --staleness 3"),
        (["--policy", "bsp", "--against", "x.jsonl"], "--policy or runs of them with --against, not both"),
        (["--against", "x.jsonl"], "x.jsonl: there is no such file"),
        (["--output", "."], "--output must name a file"),
    ],
)
def test_what_cannot_be_predicted_is_refused_in_a_line(
    words: list[str], message: str, traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(monkeypatch, capsys, traces / "asp.jsonl", *words)


def test_a_trace_of_something_else_is_refused(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes((traces / "asp.jsonl").read_bytes()[:-100])
    assert "it has no end marker" in refusal(monkeypatch, capsys, cut)


def test_runs_of_other_numbers_of_workers_are_not_compared(
    traces: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    conditions = ["--workers", "2", "--data", QUADRATIC, "--seconds", "5", "--traces", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["race", "--policy", "bsp", *conditions])
    race()
    words: list[str | Path] = [traces / "asp.jsonl", "--against", tmp_path / "bsp.jsonl"]
    assert "a run of 2 workers" in refusal(monkeypatch, capsys, *words)


def real_trace(folder: Path, name: str, *, seconds: float, unit_seconds: float) -> Path:
    """A real run whose steps are lengthened by sleeping."""
    race = usual_race(seconds=seconds, cluster="spread")
    with real_server(make_policy(name, usual_for(name, 4)), race, usual_conditions(unit_seconds=unit_seconds)) as (
        server,
        _,
    ):
        server.run()
        server.finish()
    path = folder / f"{name}.jsonl"
    write_trace(path, recording_of(race, name, server, server.shared.layout), server.trace, server.view.now)
    return path


def test_a_forecast_ends_with_its_last_step_though_a_worker_was_recorded_in_haste() -> None:
    """The server may take notice of a step's begin and of its end at once; ten seconds of such steps are millions."""
    cluster = Cluster(2, Recorded(((1e-6,), (1.0,))))
    found = forecast(cluster, replace(SHORT, workers=2), ("asp", {}), 40, usual_seconds=10.0, data=None)
    assert (found.step_count, found.version) == (40, 40)
    assert found.seconds == pytest.approx(40e-6, abs=1e-6)


@pytest.mark.slow
def test_a_real_run_of_asp_predicts_a_real_run_of_bsp(tmp_path: Path) -> None:
    base, other = (observe(real_trace(tmp_path, name, seconds=1.5, unit_seconds=0.05)) for name in ("asp", "bsp"))
    found = forecast(
        base.cluster, other.race, other.contestant, other.step_count, usual_seconds=other.seconds, data=None
    )
    # On a machine that is busy with something else a run may be held up for as long as it takes.
    assert other.seconds / 3 < found.seconds < 3 * other.seconds
    assert base.cluster.durations(3, 2) > 0.15


@pytest.mark.slow
def test_a_real_run_of_asp_predicts_real_runs_of_every_policy(tmp_path: Path) -> None:
    base, errors = observe(real_trace(tmp_path, "asp", seconds=9.0, unit_seconds=0.3)), {}
    for name in (name for name in POLICIES if name not in BROKEN and name != "asp"):
        other = observe(real_trace(tmp_path, name, seconds=9.0, unit_seconds=0.3))
        found = forecast(
            base.cluster, other.race, other.contestant, other.step_count, usual_seconds=other.seconds, data=None
        )
        errors[name] = 100 * (found.seconds / other.seconds - 1)
    print("\n".join(f"{name}: {error:+.1f} %" for name, error in errors.items()))  # noqa: T201
    # Of a machine that is busy meanwhile single runs may be held up, but not most of them.
    assert median(map(abs, errors.values())) < MOST_ERROR_PERCENT, errors
