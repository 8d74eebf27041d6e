"""The numbers of split learning are those that a hand computes, and the figure shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.results import result
from paper.studies.learning.split import (
    GUESS,
    MACROS,
    METHODS,
    against_none,
    area_difference,
    areas,
    areas_table,
    frontier_area,
    of_method,
    split_frontier,
    split_table,
)
from tests.support.drawing import plain
from tests.support.paper_data import rewrite, write
from tests.support.studies.split_data import RUNS, WIDTHS, split_record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "split.json", split_record())
    return tmp_path


def test_an_area_by_hand() -> None:
    """Nothing is had below 0.2; 0.5 up to 0.6, then 0.8."""
    points = [(0.8, 0.6), (0.5, 0.2), (0.4, 0.3)]
    assert frontier_area(points) == pytest.approx(0.2 * GUESS + 0.4 * 0.5 + 0.4 * 0.8)
    assert frontier_area([(0.8, -0.5)]) == 0.8
    assert frontier_area([(0.9, 1.5)]) == pytest.approx(GUESS)
    assert frontier_area([]) == GUESS


def test_an_area_over_the_shares_that_both_reach() -> None:
    """From 0.4 on: 0.5 up to 0.6, then 0.8."""
    points = [(0.8, 0.6), (0.5, 0.2), (0.4, 0.3)]
    assert frontier_area(points, 0.4) == pytest.approx((0.2 * 0.5 + 0.4 * 0.8) / 0.6)
    with pytest.raises(ValueError, match="1"):
        frontier_area(points, 1.0)


@given(
    st.lists(st.tuples(st.floats(0.1, 1), st.floats(-1, 2)), max_size=6), st.tuples(st.floats(0.1, 1), st.floats(0, 1))
)
def test_another_point_never_makes_an_area_smaller(
    points: list[tuple[float, float]], point: tuple[float, float]
) -> None:
    # Six additions of numbers up to one.
    assert frontier_area([*points, point]) >= frontier_area(points) - 1e-15 * 8


def test_areas_are_of_seeds_and_differences_are_paired(folder: Path) -> None:
    study = result(folder, "split")
    assert areas(study, "biased") == pytest.approx(
        [0.2 * 0.1 + 0.4 * 0.3 + 0.2 * 0.7 + 0.2 * 0.8, 0.2 * 0.1 + 0.4 * 0.3 + 0.2 * 0.8 + 0.2 * 0.9]
    )
    found = area_difference(folder, "corrected", "biased")
    # From 0.2 on, the least share that both reach with either seed.
    biased = [0.4 * 0.3 + 0.2 * 0.7 + 0.2 * 0.8, 0.4 * 0.3 + 0.2 * 0.8 + 0.2 * 0.9]
    corrected = [0.4 * 0.2 + 0.4 * 0.8, 0.3 * 0.4 + 0.3 * 0.8 + 0.2 * 0.9]
    pairs = zip(corrected, biased, strict=True)
    assert found.value == pytest.approx(sum(100 * (one - other) / 0.8 for one, other in pairs) / 2)


def test_what_less_reads_is_set_against_the_same_seed_without_protection(folder: Path) -> None:
    read = against_none(folder, "top_k", "explained_share")
    assert [each.value for each in read] == pytest.approx([-15, -15])
    assert plain(MACROS["SplitSendingLessReads"](folder)) == "less in none, more in none, inconclusive in 2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SplitSeeds", "2"),
        ("SplitSteps", "100"),
        ("SplitAccuracy", "85.0"),
        ("SplitRead", "80.0"),
        ("SplitBiased", "0.80"),
        ("SplitCorrected", "0.40"),
        ("SplitIndependentExamples", "128"),
        ("SplitIndependentWidths", "64 and 16"),
        ("SplitIndependentWide", "0.900"),
        ("SplitIndependentNarrow", "0.400"),
        ("SplitIndependentCorrected", "-0.0050"),
        ("SplitIndependentDeviation", "0.010"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


@pytest.mark.parametrize("name", MACROS)
def test_every_macro_has_a_text(name: str, folder: Path) -> None:
    assert MACROS[name](folder)


def test_the_figure_has_a_curve_of_every_method_and_the_theorem_beside_what_was_measured(folder: Path) -> None:
    left, right = split_frontier(folder).axes
    curves = {str(line.get_label()): line for line in left.lines}
    assert set(curves) == {*(look.title for look in METHODS.values()), "unprotected"}
    assert curves["Top-$k$ at the cut"].get_xdata() == pytest.approx([0.8, 0.65, 0.65])
    assert curves["Top-$k$ at the cut"].get_ydata() == pytest.approx([0.85, 0.8, 0.45])
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in right.lines]
    assert len(heights) == 3 * len(WIDTHS)
    for theorem, measured in (heights[0:2], heights[3:5]):
        assert theorem == pytest.approx(measured, abs=0.02)


def test_a_run_that_diverged_is_said_to_be_and_left_out(folder: Path) -> None:
    record = split_record()
    record["runs"][2] |= {"accuracy": [None, None], "explained_share": [None, None]}
    rewrite(folder / "split.json", runs=record["runs"])
    study = result(folder, "split")
    assert len(of_method(study, "biased")) == 2
    assert split_table(folder).count("diverged") == 1
    assert len(split_table(folder).splitlines()) == len(RUNS) + 6
    split_frontier(folder)
    assert areas_table(folder).count("penalty") == 2


def test_a_method_that_was_not_run_is_an_error(folder: Path) -> None:
    with pytest.raises(ValueError, match="no run of 'masks'"):
        of_method(result(folder, "split"), "masks")
