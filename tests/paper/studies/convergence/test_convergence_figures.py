"""The figures of the training runs draw what the files say, seed by seed and mean by mean."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from paper.rules import METHODS
from paper.studies.convergence.figures import convergence, counts, momentum
from paper.studies.convergence.runs import (
    moving_mean,
    smoothed,
    still_running,
)
from paper.studies.convergence.study import STUDY
from tests.support.drawing import drawn_line
from tests.support.paper_data import rewrite, write_results, write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


@pytest.mark.parametrize(
    ("name", "field"),
    [("convergence", "loss"), ("convergence", "sent_bytes"), ("counts", "largest_selected_count")],
)
def test_a_missing_field_is_named_with_its_file(name: str, field: str, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    path = write_run(folder, "plain", "gaussian_k", 0.01, 1)
    rewrite(path, **{field: None})
    with pytest.raises(ValueError, match=f"plain-fnn3_gaussian_k-0.01-1.json: no field '{field}'"):
        STUDY.figures[name](folder)


def test_a_method_has_one_colour_in_every_figure(folder: Path) -> None:
    drawn = {
        (line.get_label(), line.get_color())
        for name in ("convergence", "counts")
        for axes in STUDY.figures[name](folder).axes
        for line in axes.get_lines()
    }
    assert drawn == {(look.title, look.colour) for look in METHODS.values()}


def test_bytes_are_cumulative_and_in_megabytes(folder: Path) -> None:
    accuracy_against_bytes = convergence(folder).axes[6]
    sent, accuracy = drawn_line(accuracy_against_bytes, METHODS["top_k"].title)
    assert sent == [(1000 + 2000 + 3000 + 4000) / 1e6]
    assert accuracy == [fmean([100 * 0.80, 100 * 0.82])]


def test_a_count_of_zero_has_a_place_on_the_axis(folder: Path) -> None:
    axes = counts(folder).axes[0]
    _, means = drawn_line(axes, METHODS["gaussian_k_released"].title)
    assert means == [0, 1, 2, 1.5]
    assert axes.get_ylim()[0] < 0
    assert 0 in axes.get_yticks()


def test_the_largest_count_of_any_panel_is_on_the_axis(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    write_run(folder, "standardised", "gaussian_k_released", 0.001, 0, largest_selected_count=[6 * 100] * 4)
    panels = counts(folder).axes
    assert min(axes.get_ylim()[1] for axes in panels) > 100


def test_momentum_shows_paired_differences(folder: Path) -> None:
    axes = momentum(folder).axes[0]
    dots = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert np.asarray(dots.get_ydata(), float).tolist() == [100 * (0.81 - 0.80), 100 * (0.80 - 0.82)]


def test_the_band_of_the_momentum_figure_lies_around_the_mean(folder: Path) -> None:
    """Differences of 1 and −2 have the mean −1/2 and the standard error 3/2; Student's t with one degree is 12.706."""
    (band,) = (patch for patch in momentum(folder).axes[0].patches if isinstance(patch, Rectangle))
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx(
        (-0.5 - 1.5 * 12.7062, -0.5 + 1.5 * 12.7062)
    )


def test_the_band_of_counts_reaches_the_largest_worker_of_any_seed(tmp_path: Path) -> None:
    """At the first update the workers of one seed send nothing, and one of the other seed seven times k."""
    folder = write_results(tmp_path / "data")
    write_run(folder, "plain", "gaussian_k_released", 0.001, 1, largest_selected_count=[6 * 7] * 4)
    band = counts(folder).axes[0].collections[0].get_paths()[0].vertices
    heights = [float(height) for update, height in np.asarray(band) if update == 1]
    assert (min(heights), max(heights)) == (0, 7)


def test_runs_without_a_common_seed_are_not_paired(folder: Path) -> None:
    for seed in (0, 1):
        write_run(folder, "momentum", "gaussian_k", 0.001, seed).unlink()
    write_run(folder, "momentum", "gaussian_k", 0.001, 2)
    with pytest.raises(
        ValueError, match=r"gaussian_k-0.001-2.json and its fellows have no seed in common with .*top_k"
    ):
        momentum(folder)


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=4))
def test_at_each_place_are_the_values_of_those_that_reach_it(series: list[list[int]]) -> None:
    columns = still_running(series)
    assert len(columns) == max(map(len, series), default=0)
    assert sum(map(len, columns)) == sum(map(len, series))
    assert all(columns)


def test_means_over_updates_are_of_equally_many_and_at_the_last_of_them() -> None:
    assert smoothed([[1, 3, 5], [3, 5]], 2) == (range(2, 4), [[2, 4], [4]])
    assert smoothed([[1, 3], [7]], 20) == (range(2, 3), [[2]])


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), st.integers(1, 40))
def test_a_moving_mean_is_the_mean_of_each_window(values: list[int], width: int) -> None:
    means = moving_mean(values, width)
    size = min(width, len(values))
    assert len(means) == len(values) - size + 1
    assert means == [sum(values[start : start + size]) / size for start in range(len(means))]
