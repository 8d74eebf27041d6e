"""The figure of the README: means and intervals of the seeds on the left, smoothed races on the right."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.results import Result, result
from paper.rules import METHODS
from paper.studies.convergence.runs import MOMENTUM, contestant, study_of
from paper.studies.overview import (
    CLUSTER,
    SELECTOR,
    SENT,
    WAITED,
    accuracy_by_bytes,
    accuracy_by_time,
    overview,
)
from paper.studies.races.times import runs, smoothed
from sparsync.verify.tools.intervals import mean
from tests.support.drawing import drawn_line
from tests.support.paper_data import rewrite, write_results
from tests.support.studies.convergence_data import diverged


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


def trained(folder: Path, method: str) -> Result:
    found = contestant(study_of(folder, MOMENTUM.arena), MOMENTUM.rule, method, MOMENTUM.density)
    assert found is not None
    return found


def test_accuracy_stands_over_the_bytes_that_were_sent_until_then(folder: Path) -> None:
    places, estimates = accuracy_by_bytes(trained(folder, "top_k"))
    assert places == [10_000 / 1e6, 30_000 / 1e6]
    assert estimates == [mean([40.0, 41.0]), mean([80.0, 82.0])]


def test_a_curve_ends_where_a_run_diverged(folder: Path) -> None:
    found = trained(folder, "top_k")
    places, estimates = accuracy_by_bytes(Result(found.path, diverged(dict(found.fields), seed=1)))
    assert (places, estimates) == ([10_000 / 1e6], [mean([40.0, 41.0])])


def test_the_left_panel_shows_the_mean_in_the_band_of_its_interval(folder: Path) -> None:
    send, _ = overview(folder).axes
    assert send.get_xscale() == "log"
    for method, band in zip(SENT, send.collections, strict=True):
        places, estimates = accuracy_by_bytes(trained(folder, method))
        assert drawn_line(send, METHODS[method].title) == (places, [estimate.value for estimate in estimates])
        edges = band.get_datalim(send.transData)
        ends = min(each.low for each in estimates), max(each.high for each in estimates)
        assert (edges.y0, edges.y1) == pytest.approx(ends)


def test_one_seed_has_a_curve_and_no_band(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data", seeds=(0,))
    rewrite(folder / "races.json", races=[row for row in result(folder, "races")["races"] if row["seed"] == 0])
    for axes, shown in zip(overview(folder).axes, (SENT, WAITED), strict=True):
        assert len(axes.get_lines()) == len(shown)
        assert len(axes.collections) == 0


def test_the_right_panel_shows_smoothed_races_behind_the_first_measurement(folder: Path) -> None:
    _, wait = overview(folder).axes
    study = result(folder, "races")
    assert [line.get_label() for line in wait.get_lines()] == [look.title for look in WAITED.values()]
    for (policy, look), band in zip(WAITED.items(), wait.collections, strict=True):
        curves = [smoothed(row["accuracy"]) for row in runs(study, policy, CLUSTER, SELECTOR)]
        seconds, percents = drawn_line(wait, look.title)
        assert seconds == study["seconds"][1:]
        means = [100 * sum(column) / len(column) for column in zip(*curves, strict=True)]
        assert percents == pytest.approx(means[1:])
        _, estimates = accuracy_by_time(study, policy)
        edges = band.get_datalim(wait.transData)
        assert edges.y0 == pytest.approx(min(estimate.low for estimate in estimates))
        assert edges.y1 == pytest.approx(max(estimate.high for estimate in estimates))
    assert "one of 8 workers" in wait.get_title()
