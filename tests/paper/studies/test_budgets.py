"""The figure of budgets shows every cell and marks both best splits; the facts are those of the file."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from paper.results import result
from paper.studies.budgets import (
    MACROS,
    PREDICTORS,
    agreement_table,
    at_an_edge,
    budgets,
    cell,
    equal_bytes,
    largest_residual_ratio,
    line_bound_ratio,
    line_ratio,
    line_rows,
    mean_error,
    predicted_ratio,
    residual_bound,
    rival_count,
)
from sparsync.experiments.studies.synchronisation.split_predictions import PREDICTORS as FIELDS
from sparsync.experiments.studies.synchronisation.split_predictions import perturbation
from tests.support.drawing import plain
from tests.support.paper_data import write
from tests.support.studies.switching_data import budgets_record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "budgets.json", budgets_record())
    return tmp_path


def test_every_cell_is_written_and_both_best_ones_are_framed(folder: Path) -> None:
    grid = budgets(folder).axes[0]
    assert [text.get_text() for text in grid.texts] == ["0", "1", "2", "3"]
    frames = {patch.get_linestyle(): patch.get_xy() for patch in grid.patches if isinstance(patch, Rectangle)}
    assert frames == {"-": (-0.5, -0.5), ":": (0.5, -0.5)}


def test_lines_are_drawn_relative_to_the_shortest_period(folder: Path) -> None:
    lines = equal_bytes(folder).axes[0].get_lines()
    assert [list(line.get_ydata()) for line in lines] == [[1, 1.5], [1, 1.5], [1, 1 / 16]]  # type: ignore[arg-type]  # matplotlib knows no type


def test_what_is_kept_back_is_drawn_beside_its_bound(folder: Path) -> None:
    lines = {line.get_label(): line for line in equal_bytes(folder).axes[1].get_lines()}
    assert list(lines["network"].get_ydata()) == [2.0]  # type: ignore[arg-type]  # matplotlib knows no type
    assert list(lines["bound"].get_ydata()) == [residual_bound(0.01)]  # type: ignore[arg-type]


def test_an_error_below_that_of_the_shortest_period_is_drawn_below_one(folder: Path) -> None:
    record = budgets_record()
    for line in record["lines"]:
        line["end_error"] = [1.0 if line["period"] > 1 else 2.0]
    write(folder / "budgets.json", record)
    assert list(equal_bytes(folder).axes[0].get_lines()[0].get_ydata()) == [1, 0.5]  # type: ignore[arg-type]


def test_smoke_figures_say_so_and_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"budgets\.json"):
        budgets(tmp_path)
    write(tmp_path / "budgets.json", budgets_record("smoke"))
    assert "smoke" in budgets(tmp_path).get_suptitle()


def test_the_residual_bound_is_the_perturbation_without_delay() -> None:
    assert residual_bound(0.75) == pytest.approx(1)
    assert residual_bound(0.01) == pytest.approx(perturbation(0.01, period=1, delay=0))


def test_the_facts_are_those_of_the_file(folder: Path) -> None:
    study = result(folder, "budgets")
    assert mean_error(cell(study, "network", "bsp", 1.0)) == pytest.approx(1.2)
    assert [row["period"] for row in line_rows(study, "network")] == [1, 16]
    assert line_ratio(folder, "network").value == pytest.approx(math.log(1.5))
    assert line_bound_ratio(folder) == 1 / 16
    # Two steps were kept back, of a bound of 198 for each step of a message.
    assert largest_residual_ratio(folder) == pytest.approx(2 / residual_bound(0.01))


def test_a_message_of_many_steps_may_keep_back_as_many_times_more(folder: Path) -> None:
    """Sixteen steps of 2.5 are more than 2 of one."""
    record = budgets_record()
    for one in record["cells"]:
        if one["rule"] == "local 16" and one["density"] < 1:
            one["residual_steps"] = 40.0
    write(folder / "budgets.json", record)
    assert largest_residual_ratio(folder) == pytest.approx(2.5 / residual_bound(0.01))


def test_of_two_lines_the_longer_is_shown_and_of_equal_ones_that_of_most_bytes(folder: Path) -> None:
    record, share = budgets_record(), 0.01
    for wider in (2.0, 0.5):
        record["lines"] += [line | {"density": wider * line["density"]} for line in record["lines"][:4]]
    write(folder / "budgets.json", record)
    assert [row["density"] for row in line_rows(result(folder, "budgets"), "network")] == [2 * share, 32 * share]
    record["lines"] += [
        line | {"period": 2, "density": share} for line in record["lines"] if line["density"] == share / 2
    ]
    write(folder / "budgets.json", record)
    assert [row["period"] for row in line_rows(result(folder, "budgets"), "network")] == [1, 2, 16]


def test_the_table_has_a_row_for_each_predictor_of_the_study(folder: Path) -> None:
    assert set(PREDICTORS) == set(FIELDS)
    assert agreement_table(folder).count(r"\ensuremath{+0.25} & \ensuremath{+0.25}") == len(FIELDS)


def test_splits_are_compared_seed_by_seed(folder: Path) -> None:
    """The best has 0.1 and 0.3, the others one, two and three more of both; what is near may be as good."""
    found = predicted_ratio(folder, "network")
    assert found.value == pytest.approx((math.log(11) + math.log(13 / 3)) / 2)
    assert found.count == 2
    assert rival_count(folder, "network") == (0, 3)
    record = budgets_record()
    record["cells"][-1]["end_error"] = [0.2, 0.3]
    write(folder / "budgets.json", record)
    assert (rival_count(folder, "network"), rival_count(folder, "quadratic")) == ((1, 3), (0, 3))
    assert plain(MACROS["BudgetNetworkRivals"](folder)) == "1 of 3"
    assert plain(MACROS["BudgetNetworkLineRatio"](folder)) == "1.50 (1.50 to 1.50)"


def test_every_macro_can_be_written(folder: Path) -> None:
    written = {name: macro(folder) for name, macro in MACROS.items()}
    assert all(written.values())
    assert written["BudgetQuadraticBest"] == r"bsp at density \ensuremath{0.01}"
    assert written["BudgetNetworkPredictedError"] == r"\ensuremath{1.20}"


def test_what_is_missing_is_named(folder: Path) -> None:
    study = result(folder, "budgets")
    with pytest.raises(ValueError, match=r"no cell of 'asp' at density 0\.01"):
        cell(study, "network", "asp", 0.01)
    with pytest.raises(ValueError, match="no line of the problem 'other'"):
        line_rows(study, "other")
    record = budgets_record()
    record["cells"][0]["end_error"] = []
    write(folder / "budgets.json", record)
    with pytest.raises(ValueError, match=r"no error of 'bsp' at density 0\.01"):
        mean_error(cell(result(folder, "budgets"), "quadratic", "bsp", 0.01))


def test_the_ends_of_the_step_sizes_are_counted_in_cells_and_lines(folder: Path) -> None:
    record = budgets_record()
    record["step_sizes"]["quadratic"] = [1.5, 0.1, 0.5]
    rows = [row for row in (*record["cells"], *record["lines"]) if row["problem"] == "quadratic"]
    rows[0]["step_size"], rows[-1]["step_size"] = 0.1, 1.5
    write(folder / "budgets.json", record)
    found = at_an_edge(folder)
    assert (found[0], found.count(True), len(found)) == (True, 2, 12)
    told = MACROS["BudgetStepSizes"](folder)
    assert re.sub(r"\\ensuremath\{([^{}]*)\}", r"\1", told) == "3 step sizes from 0.1 to 1.5"


def test_step_sizes_of_several_kinds_are_an_error(folder: Path) -> None:
    write(folder / "budgets.json", budgets_record() | {"step_sizes": {"quadratic": [0.1], "network": [0.2]}})
    with pytest.raises(ValueError, match=r"different step sizes: \[\(0.1,\), \(0.2,\)\]"):
        MACROS["BudgetStepSizes"](folder)
