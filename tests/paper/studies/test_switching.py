"""The figures of switching show the means and the limits that the file holds, and the facts count what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from paper.results import result
from paper.studies.switching import (
    CLUSTERS,
    CONDITIONS,
    LIMITS,
    MACROS,
    ORDERS,
    end_errors,
    largest_limit_deviation,
    largest_step_runs,
    limit,
    step_limits,
    switch_shares,
    switching,
    switching_table,
    time_ratio,
    won_pairs,
)
from tests.support.paper_data import write
from tests.support.switching_data import switching_record

PLACE = ("network", "pareto")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "switching.json", switching_record())
    return tmp_path


def test_every_order_is_drawn_between_the_two_that_never_switch(folder: Path) -> None:
    panels = switching(folder).axes
    assert len(panels) == len(CONDITIONS) * len(CLUSTERS)
    lines = {line.get_label(): line for line in panels[0].get_lines()}
    drawn = lines[ORDERS["synchronous_first"].title]
    assert np.asarray(drawn.get_xdata()).tolist() == [0, 0.125, 0.5, 1]
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([0.3, 0.2, 0.2, 0.6])
    assert {look.title for look in ORDERS.values()} <= set(lines)


def test_limits_are_drawn_by_formula_and_as_measured(folder: Path) -> None:
    lines = step_limits(folder).axes[0].get_lines()
    curve = next(line for line in lines if line.get_label() == LIMITS[0.9].title)
    assert np.asarray(curve.get_ydata()).tolist() == [2.9, 1.9]
    marks = [line for line in lines if line.get_color() == LIMITS[0.9].colour and line.get_linestyle() == "None"]
    assert sorted(float(np.asarray(line.get_ydata())[0]) for line in marks) == pytest.approx([1.919] * 3 + [3.838])


@pytest.mark.parametrize("draw", [switching, step_limits])
def test_smoke_figures_say_so_and_a_missing_file_is_named(draw: Callable[[Path], Figure], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"switching\.json"):
        draw(tmp_path)
    write(tmp_path / "switching.json", switching_record("smoke"))
    assert "smoke" in draw(tmp_path).get_suptitle()


def test_pairs_are_won_seed_by_seed(folder: Path) -> None:
    pairs = len(CONDITIONS) * len(CLUSTERS) * 2 * 2
    # Seed 0: 0.1 < 0.2; seed 1: 0.3 > 0.2.
    assert won_pairs(folder, "synchronous_first", "asynchronous_first") == (pairs // 2, pairs)
    falling = ("asynchronous_first_falling", "synchronous_first_falling")
    assert won_pairs(folder, *falling, conditions=("network",)) == (8, 8)


def test_ratios_are_of_times_to_the_same_error(folder: Path) -> None:
    assert time_ratio(folder, *PLACE, "synchronous_first", 0.125) == 36 / 24
    assert time_ratio(folder, *PLACE, "asynchronous_first", 0.0) == 36 / 24
    assert time_ratio(folder, *PLACE, "synchronous_first_falling", 0.5) is None


def test_bsp_is_as_fast_as_bsp(folder: Path) -> None:
    """Its target is a mean over its last errors, which it reaches before the end of its run."""
    for condition in CONDITIONS:
        for cluster in CLUSTERS:
            assert time_ratio(folder, condition, cluster, "bsp", 1.0) == 1


def test_steps_at_the_end_of_the_grid_are_counted(folder: Path) -> None:
    places = len(CONDITIONS) * len(CLUSTERS)
    assert largest_step_runs(folder, "synchronous_first_falling") == (places, 2 * places)
    assert largest_step_runs(folder, "asp") == (0, places)


def test_limits_are_compared_with_their_formulas(folder: Path) -> None:
    assert largest_limit_deviation(folder) == pytest.approx(0.01)
    assert limit(folder, 4, 0.9)["predicted"] == 1.9
    assert limit(folder, 4, 0.0, cluster="pareto")["predicted"] is None


def test_the_table_has_a_row_for_each_place_and_marks_its_least(folder: Path) -> None:
    table = switching_table(folder)
    assert table.count(r"\\") == 1 + len(CONDITIONS) * len(CLUSTERS)
    assert table.count(r"\boldmath") == len(CONDITIONS) * len(CLUSTERS) * 6
    assert r"0.300} & \ensuremath{0.600} & {\boldmath\ensuremath{0.200}}" in table


def test_every_macro_can_be_written(folder: Path) -> None:
    written = {name: macro(folder) for name, macro in MACROS.items()}
    assert all(written.values())
    assert written["SwitchNetworkPairs"] == r"\ensuremath{4} of \ensuremath{8}"
    assert written["SwitchAspTime"] == written["SwitchSyncFallingTime"] == r"\ensuremath{1.5}"
    assert written["SwitchLimitDeviation"] == r"\ensuremath{1.00}"


def test_what_is_missing_or_diverged_is_named(folder: Path) -> None:
    study = result(folder, "switching")
    assert switch_shares(study) == [0.125, 0.5]
    with pytest.raises(ValueError, match="no run of 'other' under 'network' on 'pareto'"):
        end_errors(study, *PLACE, "other")
    with pytest.raises(ValueError, match="no limit of 3 workers on 'equal' with momentum"):
        limit(folder, 3, 0.0)
    with pytest.raises(ValueError, match="no run"):
        time_ratio(folder, *PLACE, "synchronous_first", 0.3)
    record = switching_record()
    for run in record["runs"]:
        run["seconds_to_target"] = None
    write(folder / "switching.json", record)
    assert MACROS["SwitchAspTime"](folder) == "--"
    record["runs"][0]["end_error"] = [None, 0.2]
    write(folder / "switching.json", record)
    with pytest.raises(ValueError, match="diverged"):
        end_errors(result(folder, "switching"), "same optimum", "one_slow", "synchronous_first")
