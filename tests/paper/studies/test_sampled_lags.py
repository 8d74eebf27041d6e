"""The figure, table and numbers of sampled barriers show what the file says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.results import result
from paper.studies.sampled_lags import (
    MACROS,
    held_count,
    lag_table,
    passing_points,
    sampled_lags,
    sampled_passes,
    shown_run,
)
from paper.style import paper_style
from tests.support.drawing import drawn_lines, macro_number
from tests.support.paper_data import rewrite
from tests.support.studies.barrier_data import write_barrier_results


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_barrier_results(tmp_path_factory.mktemp("paper") / "data")


def test_lags_and_passes_are_drawn_as_measured(data_folder: Path) -> None:
    with paper_style():
        left, middle = sampled_passes(data_folder).axes
        (right,) = sampled_lags(data_folder).axes
    # Eight of nine others are looked at: one laggard is missed with probability 1/9.
    assert drawn_lines(left, r"$\beta=8$")[0][1] == pytest.approx([1, 1 / 9])
    assert np.asarray(middle.get_lines()[0].get_ydata()).tolist() == [0.8] * 4
    assert [label.get_text() for label in middle.get_xticklabels()] == ["0", "1", "8", "all"]
    assert drawn_lines(right, "equal workers") == [[[place, 1.5] for place in range(4)]]
    # The 99 % quantile, dotted, and the bound on the mean, dashed, which there is none of without a sample.
    dotted, dashed = (
        [np.asarray(line.get_ydata()).tolist() for line in right.get_lines() if line.get_linestyle() == style]
        for style in (":", "--")
    )
    assert (dotted, dashed) == ([[4] * 4] * 2, [[4.0] * 3] * 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LagWorkers", 20),
        ("LagRuns", 32),
        ("LagLooks", 32 * 150),
        ("LagChiSquare", 40),
        ("LagCompared", 32),
        ("LagLargestDeviation", 1.5),
        ("LagPassShare", 80),
        ("LagStatedShare", 0.4),
        ("LagWaitingRuns", 24),
        ("LagHeldSlowestMean", 12),
        ("LagHeldSlowestSquare", 24),
        ("LagHeldAnotherMean", 24),
        ("LagTailSlowestSmallest", 0.75),
        ("LagTailSlowestLargest", 0.78),
        ("LagHeadLargest", 7),
        ("LagFreeHeadLargest", 0.5),
        ("LagSlowestHeadLargest", 7),
        ("LagGrowth", 2),
        ("LagEqualGrowth", 1.5),
    ],
)
def test_numbers_about_sampled_barriers_are_those_of_the_files(name: str, value: float, data_folder: Path) -> None:
    assert macro_number(MACROS[name](data_folder)) == value


def test_a_bound_counts_as_held_where_it_is_met(data_folder: Path) -> None:
    # Without staleness a mean of 1.5 exceeds 1, and a second moment of 3 meets 3.
    assert held_count(data_folder, "slowest", "mean") == (12, 24)
    assert held_count(data_folder, "slowest", "second_moment") == (24, 24)


def test_passes_have_their_stated_error(data_folder: Path) -> None:
    laggards, shares, errors = passing_points(shown_run(data_folder, "exponential", 0))
    assert (laggards, shares) == ([0, 1], [1.0, 0.4])
    # Of 19 others 8 are looked at.
    assert errors == pytest.approx([0, (8 / 19 * 11 / 19 / 50) ** 0.5])


def test_the_table_has_a_row_per_sample_size_and_no_bound_without_one(data_folder: Path) -> None:
    lines = lag_table(data_folder).splitlines()
    rows = [line.replace(r"\ensuremath", "").translate(str.maketrans("", "", "{}")) for line in lines[5:-2]]
    half = "1.50 (0.25) & 4 & 0.50 & "
    assert rows == [
        rf"{sample} & {half}{bound} & {half}{bound} \\"
        for sample, bound in ((0, "none"), (1, "4.00"), (8, "4.00"), (19, "4.00"))
    ]
    assert all(line.count("&") in (2, 8) for line in lines if "&" in line)


def test_smoke_results_say_so(tmp_path: Path) -> None:
    with paper_style():
        figure = sampled_lags(write_barrier_results(tmp_path, profile="smoke"))
    assert "smoke" in figure.get_suptitle()


def test_what_the_file_lacks_is_named(tmp_path: Path) -> None:
    folder = write_barrier_results(tmp_path)
    rewrite(folder / "sampled_lags.json", runs=result(folder, "sampled_lags")["runs"][:1])
    with pytest.raises(ValueError, match=r"sampled_lags\.json: no run of 10 workers, cluster 'exponential'"):
        shown_run(folder, "exponential", 3)
