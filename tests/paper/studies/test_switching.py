"""The figures of switching show the means and the limits that the file holds, and the facts count what they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from paper.comparisons import UNKNOWN
from paper.results import result
from paper.studies.switching import (
    CLUSTERS,
    CONDITIONS,
    DRAWN,
    LESS,
    LIMITS,
    MACROS,
    MORE,
    ORDERS,
    against_ends,
    end_errors,
    largest_limit_deviation,
    largest_step_runs,
    limit,
    order_ratio,
    step_limits,
    switch_shares,
    switching,
    switching_table,
    time_ratio,
)
from tests.support.drawing import plain
from tests.support.paper_data import write
from tests.support.studies.switching_data import switching_record

PLACE = ("network", "pareto")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "switching.json", switching_record())
    return tmp_path


def test_every_order_is_drawn_between_the_two_that_never_switch(folder: Path) -> None:
    panels = switching(folder).axes
    assert len(panels) == len(DRAWN) * len(CLUSTERS)
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


def test_orders_are_compared_seed_by_seed(folder: Path) -> None:
    """Seed 0: 0.1/0.2; seed 1: 0.3/0.2."""
    found = order_ratio(folder, "synchronous_first", "asynchronous_first")
    assert found.value == pytest.approx(math.log(0.75) / 2)
    assert found.count == 2
    assert found.high - found.value == pytest.approx(12.7062 * math.log(3) / 2, rel=1e-5)
    record = switching_record()
    for run in record["runs"]:
        if run["condition"] == "network" and run["order"] == "synchronous_first" and run["share"] == 0.5:
            run["end_error"] = [0.8, 0.8]
    write(folder / "switching.json", record)
    # Geometric means over shares of 1/2 and 4, and of 3/2 and 4.
    network = order_ratio(folder, "synchronous_first", "asynchronous_first", conditions=("network",))
    assert network.value == pytest.approx((math.log(2) + math.log(6)) / 4)


def test_an_order_is_better_or_worse_than_the_ends_only_if_the_intervals_say_so(folder: Path) -> None:
    """Means alone never decide: here the synchronous order is below both ends, then surely so, and surely above one."""
    places = len(CONDITIONS) * len(CLUSTERS)
    for share, errors in ((0.5, [0.1, 0.39]), (0.125, [0.2, 0.4])):
        _rewrite_order(folder, {share: errors})
        assert against_ends(folder, "synchronous_first", share) == [UNKNOWN] * places
    # The last is surely above ASP, whatever it is beside BSP.
    _rewrite_order(folder, {0.5: [0.1, 0.3001], 0.125: [0.4999, 0.7001]})
    assert against_ends(folder, "synchronous_first", 0.5) == [LESS] * places
    assert against_ends(folder, "synchronous_first", 0.125) == [MORE] * places


def _rewrite_order(folder: Path, errors: dict[float, list[float]]) -> None:
    record = switching_record()
    for run in record["runs"]:
        if run["order"] == "synchronous_first":
            run["end_error"] = errors.get(run["share"], run["end_error"])
    write(folder / "switching.json", record)


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


def test_the_table_has_a_row_for_each_place_and_marks_what_is_not_surely_more_than_its_least(folder: Path) -> None:
    """The least has 0.1 and 0.3: ASP has 0.1 more of both, BSP 0.4; of every other order it may be none."""
    table = switching_table(folder)
    assert table.count(r"\\") == 1 + len(CONDITIONS) * len(CLUSTERS)
    assert table.count(r"\boldmath") == len(CONDITIONS) * len(CLUSTERS) * 8
    assert r"0.300} & \ensuremath{0.600} & {\boldmath\ensuremath{0.200}}" in table


def test_every_macro_can_be_written(folder: Path) -> None:
    written = {name: macro(folder) for name, macro in MACROS.items()}
    assert all(written.values())
    # √0.75 times e to the power of ±12.706 · ln 3/2.
    assert plain(written["SwitchNetworkRatio"]) == "0.87 (0.00 to 930.53; inconclusive)"
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
