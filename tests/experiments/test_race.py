"""The command that races synchronisation models: what it reads, refuses, runs, writes and draws."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.race import RaceCommand, listing, main, race, results, summary
from sparsync.experiments.racing.contest import QUADRATIC, Race, run_contestant
from sparsync.experiments.racing.drawings import draw_comparison, draw_gantt
from sparsync.experiments.racing.entries import label, make_policy, policy_parameters, read_contestants
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Violation, judge_trace
from sparsync.verify.monitors.trace import (
    Header,
    Joined,
    Stepped,
    trace_hash,
)

SHORT = Race(data=QUADRATIC, seconds=12.0, workers=4, points=6, latency=0.25, bandwidth=1e4)
PNG = b"\x89PNG\r\n\x1a\n"


def run_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit status of the command."""
    monkeypatch.setattr(sys, "argv", ["race", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


# What is read.


def test_policies_come_with_parameters_of_their_own_and_common_ones() -> None:
    words = ["--staleness", "5", "--sample=2"]
    assert read_contestants(["bsp", "ssp", "ssp:staleness=inf", "pssp:sample=1"], words) == [
        ("bsp", {}),
        ("ssp", {"staleness": 5}),
        ("ssp", {"staleness": math.inf}),
        ("pssp", {"staleness": 5, "sample": 1}),
    ]


def test_values_take_the_type_of_the_default() -> None:
    read = dict(read_contestants(["ssp:staleness=2.0", "backup:backups=3", "sync_switch:straggler=exclude"], []))
    assert read["ssp"]["staleness"] == 2
    assert isinstance(read["ssp"]["staleness"], int)
    assert read["backup"] == {"backups": 3}
    assert read["sync_switch"] == {"straggler": "exclude"}
    assert read_contestants(["ds_sync"], ["--group-size", "2"]) == [("ds_sync", {"group_size": 2})]


def test_blocks_are_read_for_each_worker_and_written_as_they_are_read() -> None:
    """Of several, of one, and of none."""
    name, rows = (
        "parameter_database:reads=0+1/1/2,writes=0//2",
        {"reads": ((0, 1), (1,), (2,)), "writes": ((0,), (), (2,))},
    )
    assert read_contestants([name], []) == [("parameter_database", rows)]
    assert read_contestants(["parameter_database"], ["--reads", "0+1/1/2", "--writes=0//2"]) == [
        ("parameter_database", rows)
    ]
    assert label("parameter_database", rows) == name
    assert read_contestants(["parameter_database:writes=3"], []) == [("parameter_database", {"writes": ((3,),)})]


@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        ([], [], "name at least one --policy of: bsp, asp, ssp"),
        (["bps"], [], "unknown policy 'bps'; known: bsp, asp, ssp"),
        (["ssp:stale=3"], [], "policy 'ssp' has no parameter 'stale'; it has: staleness"),
        (["bsp:stale=3"], [], "policy 'bsp' has no parameter 'stale'; it has: none"),
        (["ssp:staleness"], [], "expected parameter=value, got 'staleness'"),
        (["ssp:staleness=many"], [], "ssp: staleness must be a number, got 'many'"),
        (["ssp"], ["--staleness"], "option '--staleness' needs a value"),
        (["ssp"], ["3"], "unexpected argument '3'"),
        (["bsp", "asp"], ["--staleness", "3"], "none of the policies has a parameter 'staleness'"),
        *(
            (
                [f"parameter_database:writes={bad}"],
                [],
                f"parameter_database: writes must be blocks of each worker, such as 0\\+1/1, got '{re.escape(bad)}'$",
            )
            for bad in ("", "0+", "x/1", "0;1", "-1", "1.5/0", "٣")
        ),
        (["parameter_database"], ["--reads", "0+1/one"], "parameter_database: reads must be .*, got '0\\+1/one'$"),
        (["ssp", "bsp", "ssp:staleness=3"], ["--staleness", "3"], "'ssp:staleness=3' races already"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(names: list[str], words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        read_contestants(names, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "bps"], "error: unknown policy 'bps'; known: bsp"),
        ([], "error: name at least one --policy of: bsp"),
        (["--policy", "bsp", "--cluster", "fast"], "error: unknown cluster 'fast'; known: equal, one_slow"),
        (["--policy", "bsp", "--data", "mnist"], "error: unknown data source 'mnist'; known: embedded"),
        (["--policy", "bsp", "--model", "gpt"], "error: model 'gpt' takes text, and the data are images; models of "),
        (
            ["--policy", "bsp", "--selector", "top", "--data", QUADRATIC],
            "error: unknown selector 'top'; known: keep_all",
        ),
        (["--policy", "bsp", "--workers", "0"], "error: workers must be at least 1, got 0"),
        (["--policy", "bsp", "--points", "0"], "error: points must be at least 1, got 0"),
        (["--policy", "bsp", "--seconds", "inf"], "error: seconds must be positive and finite, got inf"),
        (
            ["--policy", "bsp", "--bandwidth", "0", "--data", QUADRATIC],
            "error: bytes_per_second must be positive, got 0",
        ),
        (["--policy", "bsp", "--latency", "-1", "--data", QUADRATIC], "error: latency_seconds must be at least 0"),
        (["--policy", "ssp", "--staleness", "-1", "--data", QUADRATIC], "error: staleness must be at least 0, got -1"),
        (["--policy", "bsp", "--output", "/nowhere/out.json"], "error: the output folder /nowhere does not exist"),
        (["--policy", "bsp", "--output", "/tmp"], "error: --output must name a file, got /tmp"),
        (
            ["--policy", "bsp", "--figure", "race.jpgg"],
            "error: cannot draw race.jpgg; the name must end in one",
        ),
        (
            ["--policy", "bsp", "--gantt", "a.png", "--figure", "a.png"],
            "error: outputs must be different files",
        ),
        (["--policy", "bsp", "--gantt", "a.png", "--gantt-seconds", "0"], "error: gantt_seconds must be positive"),
        (["--policy", "bsp", "--traces", "/dev/null"], "error: --traces must name a folder, got /dev/null"),
        (["--policy", "bsp", "--output", "a", "--traces", "a"], "error: outputs must be different files, got a, a"),
    ],
)
def test_the_command_refuses_bad_input_in_one_line(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, *words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("option", ["--output", "--figure", "--gantt"])
def test_no_output_takes_the_place_of_a_pipe(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    words = ["--policy", "bsp", "--data", QUADRATIC, "--seconds", "1", option, str(pipe)]
    assert run_main(monkeypatch, *words) == 2
    assert capsys.readouterr().err == f"error: {option} must name a file, got {pipe}\n"
    assert pipe.is_fifo()


def test_a_broken_promise_is_one_line_and_status_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sparsync.experiments.policies.asp.Asp.guarantee", lambda _: Guarantee(gap=1))
    output = tmp_path / "out.json"
    words = ["--policy", "bsp", "asp", "--data", QUADRATIC, "--seconds", "9", "--output", str(output)]
    assert run_main(monkeypatch, *words) == 1
    assert capsys.readouterr().err.startswith("broken promise: event ")
    assert list(tmp_path.iterdir()) == []


def test_a_diverging_run_is_one_line_and_status_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--policy", "bsp", "--data", QUADRATIC, "--step-size", "1e200", "--output", str(tmp_path / "out.json")]
    assert run_main(monkeypatch, *words) == 1
    assert capsys.readouterr().err.startswith("error: step ")
    assert list(tmp_path.iterdir()) == []


def test_the_list_tells_of_everything_what_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert run_main(monkeypatch, "--list") == 0
    shown = capsys.readouterr().out
    for told in (
        "ssp (staleness=3)",
        "one_slow",
        "The last worker takes three seconds a step",
        *SELECTORS,
        *ADAPTIVE_SELECTORS,
    ):
        assert told in shown
    kinds, names, tellings = (list(column.cells) for column in listing().columns)
    assert len(kinds) == len(names) == len(tellings)
    assert all(str(cell).endswith(".") or str(cell)[-1].isalnum() for cell in tellings)


def test_the_command_tells_in_a_line_what_each_contestant_reached(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--policy", "bsp", "ssp", "--staleness", "1", "--data", QUADRATIC, "--seconds", "9", "--workers", "2"]
    monkeypatch.setattr(sys, "argv", ["race", *words])
    monkeypatch.setenv("COLUMNS", "120")
    main()
    shown = capsys.readouterr().out.splitlines()
    # Two workers, one of them three times slower, behind a barrier: three rounds in nine seconds.
    assert [cell.strip() for cell in next(line for line in shown if "bsp" in line).split("│")[3:5]] == ["6", "3"]
    assert any("ssp:staleness=1" in line for line in shown)


@pytest.mark.parametrize(("total_steps", "remarks"), [(40, 1), (2, 0)])
def test_a_remark_of_a_policy_stands_below_the_table_and_in_the_file(
    total_steps: int,
    remarks: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    name, output = f"sync_switch:total_steps={total_steps},bsp_fraction=0.5", tmp_path / "out.json"
    words = ["--policy", "bsp", name, "--data", QUADRATIC, "--seconds", "9", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["race", *words])
    main()
    captured = capsys.readouterr()
    below = captured.out.splitlines()[captured.out.count("\n") - remarks :]
    said = [outcome["remark"] for outcome in json.loads(output.read_text())["outcomes"] if outcome["remark"]]
    assert len(said) == remarks
    assert [line.partition(": the run ended in its synchronous part, ")[1] != "" for line in below] == [True] * remarks
    assert [line.partition(": ")[2] for line in below] == said
    assert captured.err == ""


# What is run.


def test_a_race_is_deterministic_and_measures_at_equal_distances() -> None:
    first, second = (run_contestant(SHORT, "ssp", {"staleness": 1}) for _ in range(2))
    assert first.as_row() == second.as_row()
    assert [point.seconds for point in first.points] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert first.points[0].sent_bytes == first.points[0].step_count == 0
    assert first.points[-1].step_count == sum(first.worker_steps)
    assert first.points[-1].quality < 0.8 * first.points[0].quality
    assert trace_hash(run_contestant(replace(SHORT, seed=1), "ssp", {"staleness": 1}).trace) != trace_hash(first.trace)


@pytest.mark.parametrize(("seconds", "points"), [(448.0, 82), (1.0, 49)])
def test_the_last_measurement_is_at_the_end_however_it_divides(seconds: float, points: int) -> None:
    # 82 times 448/82 rounds to more than 448, 49 times 1/49 to less than 1.
    race_ = Race(data=QUADRATIC, seconds=seconds, workers=1, points=points, cluster="equal")
    outcome = run_contestant(race_, "bsp")
    assert len(outcome.points) == points + 1
    assert outcome.points[-1].seconds == seconds
    assert outcome.points[-1].step_count == seconds


def test_policies_share_the_conditions() -> None:
    bsp, asp = run_contestant(SHORT, "bsp"), run_contestant(SHORT, "asp")
    assert bsp.points[0] == asp.points[0]
    created = [
        {(e.worker, e.clock): e.created for e in outcome.trace if isinstance(e, Stepped) and e.clock == 1}
        for outcome in (bsp, asp)
    ]
    assert created[0] == created[1]


def test_a_label_is_what_the_command_line_takes() -> None:
    outcome = run_contestant(replace(SHORT, seconds=3.0), "ssp", {"staleness": 1})
    assert outcome.label == "ssp:staleness=1"
    assert read_contestants([outcome.label], []) == [("ssp", {"staleness": 1})]
    assert run_contestant(replace(SHORT, seconds=3.0), "ssp", {"staleness": 3}).label == "ssp"


def test_unknown_policies_and_parameters_are_refused_in_python_too() -> None:
    with pytest.raises(ValueError, match="unknown policy 'bps'"):
        make_policy("bps", {})
    with pytest.raises(ValueError, match="policy 'bsp' has no parameter 'x'; it has: none"):
        make_policy("bsp", {"x": 1})
    assert policy_parameters("ssp") == {"staleness": 3}


def test_the_report_says_how_much_was_waited() -> None:
    # One of two workers takes three seconds: the other waits two in three, together one third.
    outcome = run_contestant(Race(data=QUADRATIC, workers=2, seconds=12.0, points=1), "bsp")
    assert outcome.report.waiting_share == pytest.approx(1 / 3)
    assert outcome.as_row()["report"]["waiting_share"] == outcome.report.waiting_share


# What is written and drawn.


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RaceCommand, list[Any]]:
    folder = tmp_path_factory.mktemp("race")
    command = RaceCommand(
        SHORT,
        output=folder / "out.json",
        figure=folder / "race.png",
        traces=folder / "traces",
        gantt=folder / "gantt.svg",
        gantt_seconds=6.0,
    )
    return folder, command, race(command, read_contestants(["bsp", "ssp:staleness=inf", "asp"], []))


def test_every_output_is_written_and_nothing_else(raced: tuple[Path, RaceCommand, list[Any]]) -> None:
    folder, _, _ = raced
    assert {path.name for path in folder.iterdir()} == {"out.json", "race.png", "traces", "gantt.svg"}


def test_results_record_conditions_curves_and_where_they_are_from(raced: tuple[Path, RaceCommand, list[Any]]) -> None:
    folder, command, outcomes = raced
    written = json.loads((folder / "out.json").read_text())
    now = json.loads(json.dumps(results(SHORT, outcomes)))
    assert {**written, "provenance": None} == {**now, "provenance": None}
    assert written["race"]["workers"] == 4
    assert written["provenance"]["process_count"] == 1
    bsp, ssp, _ = written["outcomes"]
    assert ssp["parameters"] == {"staleness": "inf"}
    assert written["measure"] == "f − min f"
    assert results(Race(), [])["measure"] == "test accuracy"
    assert len(ssp["report"]["undelivered"][0]) == 2
    assert bsp["points"][-1]["seconds"] == 12.0
    assert bsp["trace_sha256"] == trace_hash(outcomes[0].trace)
    assert summary(command.race, outcomes).row_count == 3


def test_infinite_conditions_can_be_written(tmp_path: Path) -> None:
    command = RaceCommand(Race(data=QUADRATIC, seconds=2.0, points=1), output=tmp_path / "out.json")
    race(command, [("bsp", {})])
    assert json.loads((tmp_path / "out.json").read_text())["race"]["bandwidth"] == "inf"


def test_a_written_trace_is_refused_where_it_promises_too_much(raced: tuple[Path, RaceCommand, list[Any]]) -> None:
    outcome = raced[2][2]
    joined = next(event for event in outcome.trace if isinstance(event, Joined))
    header = Header(4, joined.model, unit_roundoff=2.0**-40)
    assert judge_trace(header, Guarantee(), outcome.trace, 12.0).workers == outcome.report.workers
    with pytest.raises(Violation, match="promised are 1"):
        judge_trace(header, Guarantee(gap=1), outcome.trace, 12.0)


def test_drawings_are_drawn(raced: tuple[Path, RaceCommand, list[Any]]) -> None:
    folder, _, _ = raced
    assert (folder / "race.png").read_bytes().startswith(PNG)
    drawn = (folder / "gantt.svg").read_text()
    assert drawn.lstrip().startswith("<?xml")
    # Three panels of four workers, each with some bars, beside axes and letters.
    assert drawn.count("<path") > 100


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_drawings_come_in_every_usual_format(
    suffix: str, raced: tuple[Path, RaceCommand, list[Any]], tmp_path: Path
) -> None:
    outcomes = raced[2]
    draw_comparison(tmp_path / f"race.{suffix}", SHORT, outcomes)
    draw_gantt(tmp_path / f"gantt.{suffix}", outcomes[:1], 4, 6.0)
    assert {path.name for path in tmp_path.iterdir()} == {f"race.{suffix}", f"gantt.{suffix}"}
    assert min(path.stat().st_size for path in tmp_path.iterdir()) > 2000


def test_a_drawing_follows_a_link_and_is_of_the_kind_that_the_link_names(
    raced: tuple[Path, RaceCommand, list[Any]], tmp_path: Path
) -> None:
    target, link = tmp_path / "target.svg", tmp_path / "race.png"
    link.symlink_to(target)
    draw_comparison(link, SHORT, raced[2])
    assert link.is_symlink()
    assert target.read_bytes().startswith(PNG)


@pytest.mark.parametrize("name", ["race.png", "link.png"])
def test_a_drawing_that_fails_leaves_the_old_one(
    name: str, raced: tuple[Path, RaceCommand, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "race.png", tmp_path / "link.png"
    path.write_text("old")
    link.symlink_to(path)

    def fail(self: Any, target: Path, **options: Any) -> None:
        Path(target).write_text("half")
        raise OSError("no space left")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match="no space left"):
        draw_comparison(tmp_path / name, SHORT, raced[2])
    assert path.read_text() == "old"
    assert {item.name for item in tmp_path.iterdir()} == {"race.png", "link.png"}
