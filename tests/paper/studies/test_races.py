"""Races are compared when their smoothed means reach the target; the figure shows the curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.results import result
from paper.studies.races import (
    CLUSTERS,
    MACROS,
    SELECTORS,
    SHOWN,
    broken_bounds,
    bytes_to_target,
    race_table,
    races,
    seconds_to_target,
    smoothed,
    speed_up,
)
from tests.support.drawing import plain
from tests.support.paper_data import rewrite, write

FAST, SLOW = [0.1, 0.6, 0.75, 0.75, 0.75], [0.1, 0.2, 0.5, 0.7, 0.76]


def _row(policy: str, cluster: str, selector: str, seed: int, accuracy: list[float], **changes: Any) -> dict[str, Any]:
    row = {"policy": policy, "cluster": cluster, "selector": selector, "seed": seed, "accuracy": accuracy}
    row |= {"broken_bound": None, "sent_bytes": [0, 10, 20, 30, 40]}
    return row | {"waiting_share": 0.254, "largest_gap": 3} | changes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """BSP reaches the target at 30 s, "asp" at 20 s, "ssp" never and once breaks its bound."""
    curves = {"bsp": [SLOW, SLOW], "asp": [FAST, FAST], "ssp": [[0.1] * 5, [0.2] * 5]}
    rows = [
        _row(policy, cluster, selector, seed, accuracy)
        for policy, repetitions in curves.items()
        for cluster in CLUSTERS
        for selector in SELECTORS
        for seed, accuracy in enumerate(repetitions)
    ]
    rows[-1]["broken_bound"] = "worker 0 is 17 ahead"
    race = {"seconds": 40.0, "step_size": 0.2, "density": 0.01, "workers": 8}
    write(tmp_path / "races.json", {"profile": "quick", "seconds": [0, 10, 20, 30, 40], "race": race, "races": rows})
    return tmp_path


def test_smoothing_takes_neighbours_that_are_there() -> None:
    assert smoothed([3.0, 0.0, 6.0, 9.0]) == [1.5, 3.0, 5.0, 7.5]


def test_the_target_is_reached_by_the_smoothed_mean(folder: Path) -> None:
    """FAST smoothed is 0.35, 0.4833, 0.7, …; SLOW 0.15, 0.267, 0.467, 0.653, 0.73."""
    study = result(folder, "races")
    assert seconds_to_target(study, "asp", "equal", "none") == 20
    assert seconds_to_target(study, "bsp", "equal", "none") == 30
    assert seconds_to_target(study, "ssp", "equal", "none") is None
    assert bytes_to_target(study, "bsp", "churn", "top_k") == 30
    assert bytes_to_target(study, "ssp", "churn", "top_k") is None


def test_one_high_measurement_is_not_yet_the_target(folder: Path) -> None:
    study = result(folder, "races")
    for row in study.fields["races"][:2]:
        row["accuracy"] = [0.1, 0.7, 0.1, 0.7, 0.76]
    assert (study["races"][0]["policy"], study["races"][0]["cluster"]) == ("bsp", "equal")
    assert seconds_to_target(study, "bsp", "equal", "none") == 40


def test_speed_is_relative_to_bsp_that_sends_alike(folder: Path) -> None:
    assert speed_up(folder, "asp", "pareto", "top_k") == 1.5
    assert speed_up(folder, "ssp", "pareto", "top_k") is None


def test_the_mean_of_all_repetitions_counts(folder: Path) -> None:
    study = result(folder, "races")
    study.fields["races"][0]["accuracy"] = FAST
    assert seconds_to_target(study, "bsp", "equal", "none") == 30
    study.fields["races"][0]["accuracy"] = [1.0] * 5
    assert seconds_to_target(study, "bsp", "equal", "none") == 20


def test_a_line_of_the_table_shows_seconds_waiting_and_lead(folder: Path) -> None:
    table = race_table(folder)
    number = r"\ensuremath{{{}}}".format
    lines = {line.split(" & ")[0]: line for line in table.splitlines() if line.startswith(r"\texttt")}
    assert list(lines) == [r"\texttt{bsp}", r"\texttt{asp}", r"\texttt{ssp}"]
    cells = [number(20)] * 8 + [number(25), number(3)]
    assert lines[r"\texttt{asp}"] == " & ".join([r"\texttt{asp}", *cells]) + r" \\"
    assert lines[r"\texttt{ssp}"].count("--") == 8


def test_broken_bounds_are_counted_and_named(folder: Path) -> None:
    assert broken_bounds(result(folder, "races")) == {"ssp": 1}
    assert MACROS["RaceBroken"](folder) == r"\texttt{ssp} in 1"


def test_repetitions_are_counted_and_the_fewest_said(folder: Path) -> None:
    assert plain(MACROS["RaceRuns"](folder)) == "2 runs"
    rows = result(folder, "races")["races"]
    rewrite(folder / "races.json", races=rows[1:])
    assert MACROS["RaceRuns"](folder) == "one run"


def test_an_unknown_contestant_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match="no race of 'adsp' in cluster 'equal' with selector 'none'"):
        seconds_to_target(result(folder, "races"), "adsp", "equal", "none")


def test_coloured_lines_are_the_smoothed_accuracies(folder: Path) -> None:
    figure = races(folder)
    by_time = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert set(by_time) & {look.title for look in SHOWN.values()} == {"BSP", "ASP", "SSP"}
    assert np.asarray(by_time["ASP"].get_xdata()).tolist() == [10, 20, 30, 40]
    assert np.asarray(by_time["ASP"].get_ydata()).tolist() == [100 * share for share in smoothed(FAST)[1:]]
    by_bytes = {line.get_label(): line for line in figure.axes[-1].get_lines()}
    assert np.asarray(by_bytes["ASP"].get_xdata()).tolist() == pytest.approx([1e-5, 2e-5, 3e-5, 4e-5])
    # Dense and Top-k in one panel.
    assert len(figure.axes[-1].get_lines()) == 6
