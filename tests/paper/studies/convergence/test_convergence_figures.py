"""The figures draw the ends and the counts that the files have, and say what has not been run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

from paper.rules import METHODS
from paper.studies.convergence.figures import MAIN, PANEL_COUNT, drawn
from paper.studies.convergence.runs import NOT_RUN, USUAL
from paper.studies.convergence.study import STUDY
from tests.support.drawing import drawn_line
from tests.support.paper_data import ARENAS, write_results
from tests.support.studies.convergence_data import ACCURACY


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


def panel(folder: Path, name: str, arena: str) -> Axes:
    return STUDY.figures[name](folder).axes[drawn(folder).index(arena)]


@pytest.mark.parametrize("method", MAIN)
def test_the_ends_are_drawn_at_their_densities(method: str, folder: Path) -> None:
    mean = float(np.mean(ACCURACY[method]))
    places, values = drawn_line(panel(folder, "convergence", "fnn3"), METHODS[method].title)
    # Methods stand beside each other.
    assert places == pytest.approx([0.001, 0.01], rel=0.1)
    assert values == pytest.approx([100 * mean] * 2)
    _, losses = drawn_line(panel(folder, "convergence", "gpt"), METHODS[method].title)
    assert losses == pytest.approx([2 * mean] * 2)


def test_an_end_has_its_interval(folder: Path) -> None:
    """Of 81 and 80 it is 80.5 ± 12.706 / 2."""
    ranges = [line.get_ydata() for line in panel(folder, "convergence", "fnn3").get_lines()]
    assert sum(np.asarray(each, float).tolist() == pytest.approx([74.147, 86.853], abs=1e-3) for each in ranges) == 2


def test_no_interval_is_drawn_beyond_all_and_none(folder: Path) -> None:
    """The interval of Rand-k, 55 ± 63.5, reaches below 0 and above 100."""
    low, high = panel(folder, "convergence", "fnn3").get_ylim()
    assert (low, high) == (0.0, 100.0)


def test_dense_training_is_a_line_across(folder: Path) -> None:
    assert drawn_line(panel(folder, "convergence", "fnn3"), METHODS["dense"].title)[1] == pytest.approx([91.0] * 2)


def test_counts_are_drawn_with_their_whole_range(folder: Path) -> None:
    axes = panel(folder, "counts", "fnn3")
    assert drawn_line(axes, METHODS["gaussian_k_released"].title)[1] == [0.25, 0.25]
    ranges = [np.asarray(line.get_ydata(), float).tolist() for line in axes.get_lines()]
    assert ranges.count([0.0, 9.0]) == ranges.count([4 / 6, 8 / 6]) == 2


@pytest.mark.parametrize("name", STUDY.figures)
def test_a_panel_of_an_arena_that_was_not_run_says_so(name: str, folder: Path) -> None:
    panels = STUDY.figures[name](folder).axes
    said = [any(text.get_text() == NOT_RUN for text in axes.texts) for axes in panels]
    assert said == [arena not in ARENAS for arena in drawn(folder)]


def test_what_has_been_run_comes_first_and_stands_in_its_order(folder: Path, tmp_path: Path) -> None:
    assert drawn(folder) == ["fnn3", "lenet5", "resnet20", "gpt"]
    write_results(tmp_path)
    for arena in ("fnn3_16", "lstm"):
        (tmp_path / f"convergence_{arena}.json").write_bytes((folder / "convergence_gpt.json").read_bytes())
    assert drawn(tmp_path) == ["fnn3", "gpt", "fnn3_16", "lstm"]
    assert len(drawn(tmp_path)) == PANEL_COUNT < len(USUAL)
