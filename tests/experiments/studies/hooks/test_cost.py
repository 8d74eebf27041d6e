"""The command that times the hook: its parts add up, intervals overlap as they do by counting, and it cleans up."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.hooks.watching import BEYOND, PHASES, Content, Passage, WatchedStep
from sparsync.experiments.studies.hooks import cost
from sparsync.experiments.studies.hooks.rank import Job, measure
from sparsync.experiments.studies.hooks.ranks import Place, run_ranks
from sparsync.experiments.studies.hooks.timeline import (
    Timeline,
    communication_seconds,
    overlapped_seconds,
    trace_events,
)
from tests.support.workers import run_workers

CONTENT = Content([], [], [], [], [], 0, 0, 0, 2, Ef14("outside"))
JOB = Job("tiny", 2, contenders=("plain", "hook", "watched", "telemetry", "dense"), rounds=2, steps=2, batch_size=4)


def measured(folder: Path) -> dict[str, Any]:
    """A tiny job on this rank."""
    return measure(replace(JOB, memory_steps=20, traced=True), folder)


def test_the_parts_of_a_step_add_up_and_a_row_says_their_shares(tmp_path: Path) -> None:
    results = run_workers(partial(measured, tmp_path), 2)
    assert [result["rank"] for result in results] == [0, 1]
    for result in results:
        assert all(len(seconds) == JOB.rounds * JOB.steps for seconds in result["step_seconds"].values())
        watched = result["watched"]["watched"]
        sums = map(sum, zip(*watched["phase_seconds"].values(), strict=True))
        for parts, whole in zip(sums, watched["through_seconds"], strict=True):
            # A sum of differences of times near 10⁶ s, each rounded to 2⁻³³ s.
            assert parts == pytest.approx(whole, abs=1e-8)
        assert len(result["resident_bytes"]) == 10
        assert {event["name"] for event in result["traces"]["watched"]} >= {"backward", "select 0", "communicate 0"}
    row = cost.cost_row(JOB, results)
    first = results[0]["watched"]["watched"]
    beyond = [sum(first["phase_seconds"][phase][step] for phase in BEYOND) for step in range(4)]
    shares = [part / whole for part, whole in zip(beyond, results[0]["step_seconds"]["watched"], strict=True)]
    # The median of two is their mean.
    assert row["overhead_share"] == pytest.approx([(shares[0] + shares[1]) / 2, (shares[2] + shares[3]) / 2])
    assert set(row["phase_seconds"]) == set(PHASES)
    assert "plain DDP" in cost.cost_line(row)
    json.dumps(row, allow_nan=False)


def timeline(ready: list[int], sent: list[tuple[int, int]]) -> Timeline:
    passages = [Passage(CONTENT, (0,), [("pack", begin, 0), ("communicate", end, 0)]) for begin, end in sent]
    return Timeline(0, 2, 40, WatchedStep(0, [float(time) for time in ready], passages))


TIMES = st.integers(0, 40)


@given(
    st.lists(TIMES.filter(lambda time: time >= 2), min_size=1),
    st.lists(st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair))), max_size=6),
)
def test_what_overlaps_is_what_one_counts_second_by_second(ready: list[int], sent: list[tuple[int, int]]) -> None:
    found = timeline(ready, sent)
    under_way = {second for begin, end in sent for second in range(begin, end)}
    assert communication_seconds(found) == len(under_way)
    assert overlapped_seconds(found) == len(under_way & set(range(2, max(ready))))


def test_a_trace_has_every_phase_where_and_when_it_was() -> None:
    events = trace_events(timeline([3, 9], [(4, 6), (10, 20)]), rank=1, origin=0.0)
    spans = {(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"}
    assert spans == {
        ("forward", 0.0, 2e6),
        ("backward", 2e6, 7e6),
        ("waiting, then the optimiser", 9e6, 31e6),
        ("communicate 0", 4e6, 2e6),
        ("communicate 0", 10e6, 10e6),
    }
    assert {event["pid"] for event in events} == {1}


def test_a_rank_that_fails_ends_the_others_and_is_quoted() -> None:
    waits = Place([sys.executable, "-c", "import time; time.sleep(600)"])
    fails = Place([sys.executable, "-c", "raise SystemExit('no such luck')"])
    with pytest.raises(RuntimeError, match=r"rank 1 ended with status 1:\nno such luck"):
        run_ranks(JOB, [waits, fails])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "fnn9"], "unknown models fnn9; known: resnet20"),
        (["--ranks", "1"], "ranks must be at least 2"),
        (["--rounds", "0"], "rounds must be at least 1, got 0"),
        (["--link-mbit", "0"], "link_mbit must be positive, got 0"),
    ],
)
def test_bad_arguments_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cost.main(["--output", str(tmp_path / "out.json"), *words])
    assert message in capsys.readouterr().err


def test_who_is_not_root_is_told_so_in_a_line_and_gets_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda tool: f"/usr/sbin/{tool}")
    cost.main(["--output", str(tmp_path / "out.json"), "--link-mbit", "100", "--models", "--ranks"])
    assert capsys.readouterr().err == "slow links need root; left out\n"
    study = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (study["rows"], study["link"]) == ([], [])
    assert not (tmp_path / "out.trace.json").exists()
