"""A training run that diverged is drawn to its end, keeps its last accuracy, and is counted."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from paper.rules import METHODS
from paper.studies.convergence.figures import convergence, counts
from paper.studies.convergence.runs import (
    all_diverged,
)
from paper.studies.convergence.study import MACROS
from paper.studies.convergence.tables import accuracy_table, count_table, momentum_table
from tests.support.drawing import drawn_line, plain, table_lines
from tests.support.paper_data import diverge, rewrite, write_results, write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


def test_diverged_runs_are_counted_in_every_table_and_over_all(folder: Path) -> None:
    """Of Gaussian-k, seed 1, from the third update on: its accuracy was 50 per cent, 32 points below Top-k's."""
    for setting in ("plain", "momentum"):
        diverge(folder, setting, "gaussian_k", 0.001, 1, step=2)
    (accuracies,), (momentum_cells,) = (
        table_lines(table(folder), "Gaussian-$k$, ours") for table in (accuracy_table, momentum_table)
    )
    assert accuracies[1:3] == ["65.5 (50.0--81.0), 1 of 2 diverged", "80.5 (80.0--81.0)"]
    assert momentum_cells[1] == "65.5 (50.0--81.0), 1 of 2 diverged"
    differences = [cells[0] for cells in table_lines(count_table(folder), "Gaussian-$k$, ours")]
    assert differences == ["-15.50 (-225.15 to 194.15), 1 of 2 diverged", *["-0.50 (-19.56 to 18.56)"] * 3]
    assert all_diverged(folder) == (2, len(list((folder / "convergence").iterdir())))
    assert plain(MACROS["DivergedRuns"](folder)) == f"2 of {all_diverged(folder)[1]}"


def test_one_run_that_diverged_is_counted_as_well(folder: Path) -> None:
    write_run(folder, "momentum", "gaussian_k", 0.001, 1).unlink()
    diverge(folder, "momentum", "gaussian_k", 0.001, 0, step=2)
    (cells,) = table_lines(momentum_table(folder), "Gaussian-$k$, ours")
    assert cells[:3] == ["1", "50.0, 1 of 1 diverged", "-30.00 (one seed)"]


def test_without_a_divergence_nothing_is_said_of_it(folder: Path) -> None:
    assert "diverged" not in accuracy_table(folder) + count_table(folder) + momentum_table(folder)
    assert MACROS["DivergedRuns"](folder).startswith("none of")


def test_a_diverged_run_is_drawn_to_its_end_and_keeps_its_last_accuracy(folder: Path) -> None:
    """Two seeds at the first update, at which one sends nine times k, and one seed after it."""
    diverge(folder, "plain", "gaussian_k", 0.001, 1, step=1)
    changed = {"loss": [4.0], "largest_selected_count": [54], "selected_count": [15.0]}
    rewrite(folder / "convergence/plain-fnn3_gaussian_k-0.001-1.json", **changed)
    loss, accuracy = (drawn_line(axes, METHODS["gaussian_k"].title) for axes in convergence(folder).axes[0:4:2])
    assert loss == ([4.0], [fmean([2.0, 1.5, 1.0, 0.5])])
    assert accuracy == ([4.0], [fmean([81.0, 50.0])])
    axes = counts(folder).axes[0]
    assert drawn_line(axes, METHODS["gaussian_k"].title) == ([1, 2, 3, 4], [fmean([5 / 6, 2.5]), *[5 / 6] * 3])
    band = axes.collections[1].get_paths()[0].vertices
    assert max(float(height) for update, height in np.asarray(band) if update == 1) == 9


def test_a_run_that_diverged_at_once_has_no_series_and_its_first_accuracy(folder: Path) -> None:
    diverge(folder, "plain", "gaussian_k", 0.001, 1, step=0)
    assert drawn_line(convergence(folder).axes[0], METHODS["gaussian_k"].title)[0] == [4.0]
    assert drawn_line(convergence(folder).axes[2], METHODS["gaussian_k"].title) == ([4.0], [fmean([81.0, 10.0])])
    assert table_lines(count_table(folder), "Gaussian-$k$, ours")[0][1] == "100.0"
    assert all(macro(folder) for macro in MACROS.values())


def test_the_target_count_is_that_of_a_run_that_went_to_its_end(folder: Path) -> None:
    diverge(folder, "plain", "top_k", 0.001, 0, step=0)
    assert plain(MACROS["ThousandthTarget"](folder)) == "6"
