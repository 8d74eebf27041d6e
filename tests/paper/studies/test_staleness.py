"""The figures, the table and the numbers about staleness are what the study's file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from paper.results import result
from paper.studies.staleness import MACROS, RATES, delay_limits, stale_theory, staleness, staleness_table
from paper.studies.staleness_runs import (
    OPTIMISER_NAMES,
    best_multiple,
    multiple_difference,
    multiples,
    setting_of,
    sweep,
)
from sparsync.experiments.studies.staleness.smooth_problems import PROBLEMS
from sparsync.experiments.studies.staleness.stale_descent import OPTIMISERS
from tests.support.paper_data import write
from tests.support.studies.staleness_data import staleness_record


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    write(tmp_path / "staleness.json", staleness_record())
    return tmp_path


def rewritten(folder: Path, **changes: Any) -> Path:
    write(folder / "staleness.json", staleness_record() | changes)
    return folder


def plain(text: str) -> str:
    return text.replace(r"\ensuremath{", "").replace("}", "")


def heights(axes: Axes, fillstyle: str) -> list[float]:
    points = [line for line in axes.get_lines() if line.get_linestyle() == "None" and line.get_fillstyle() == fillstyle]
    return [float(np.asarray(line.get_ydata(), float)[0]) for line in points]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("StaleTarget", "78"),
        ("StalePatience", "3"),
        ("StaleSeeds", "2"),
        ("StaleSgd", "1.40 (1.40 to 1.40)"),
        ("StaleAdam", "2.50 (2.50 to 2.50)"),
        ("StaleAdamBest", "1.75"),
        ("StaleDeepLateBest", "1.80"),
        ("StaleMomentum", "1.50 (1.50 to 1.50)"),
        ("StaleOneWorker", "1.10 (1.10 to 1.10)"),
        ("StaleEightWorkers", "1.80 (1.80 to 1.80)"),
        ("StaleDepthDifference", "+0.80 (0.80 to 0.80)"),
        ("StaleWorkersDifference", "+0.70 (0.70 to 0.70)"),
        ("StaleRmspropDifference", "+0.10 (0.10 to 0.10)"),
        # Of 1, 0 and −¼ everywhere; of 1, −¾ and −1.
        ("StaleCoherenceFour", "0.00"),
        ("StaleCoherenceSixteen", "-0.75"),
        ("StaleMomentumCoherence", "-0.50"),
        ("StaleNegativeFour", "33"),
        ("StaleNegativeSixteen", "67"),
        ("StaleRateLeast", "0.06"),
        ("StaleRateMost", "0.50"),
        ("StaleRateCoherence", "0.50"),
        ("StaleLimitError", "2.0"),
        # 1.47/0.98 and 1.47/0.989.
        ("StaleUniformGain", "1.50"),
        ("StaleUniformMomentumGain", "1.49"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_multiples_are_paired_over_the_seeds(data_folder: Path) -> None:
    """Of SGD at s = 4, 99/90 and 187/110 have the mean 1.4; of a smaller best step the file keeps the mean alone."""
    settings = staleness_record()["settings"]
    for setting in settings:
        if (setting["optimiser"], setting["hidden_count"], setting["worker_count"]) == ("sgd", 2, 4):
            setting["runs"][1]["steps"] = [99, 187]
    rewritten(data_folder, settings=settings)
    middle = setting_of(data_folder, ("optimiser", "sgd"))
    assert multiples(middle, 4) == pytest.approx([1.1, 1.7])
    assert best_multiple(middle, 4) == middle["runs"][1]["best_relative"] == pytest.approx(1.2)
    # 1.4 ± 12.706 · 0.3, and 0.1 as far.
    assert plain(MACROS["StaleSgd"](data_folder)) == "1.40 (-2.41 to 5.21)"
    assert plain(MACROS["StaleRmspropDifference"](data_folder)) == "+0.10 (-3.71 to 3.91; inconclusive)"
    assert multiples(setting_of(data_folder, ("optimiser", "adam")), 8) is None


def test_a_best_step_that_is_the_kept_one_has_its_multiple(data_folder: Path) -> None:
    settings = staleness_record()["settings"]
    for setting in settings:
        for run in setting["runs"][1:3]:
            run["best_step_size"] = setting["step_size"]
    rewritten(data_folder, settings=settings)
    assert plain(MACROS["StaleDeepLateBest"](data_folder)) == "2.60"


def test_a_target_that_was_missed_is_said_so(data_folder: Path) -> None:
    """Adam at s = 8 in the record of these tests."""
    assert best_multiple(setting_of(data_folder, ("optimiser", "adam")), 8) is None
    settings = staleness_record()["settings"]
    for setting in settings:
        for run in setting["runs"][1:]:
            run["steps"] = None
    assert MACROS["StaleSgd"](rewritten(data_folder, settings=settings)) == "not reached"
    assert multiple_difference(data_folder, ("worker_count", 8), ("worker_count", 1)) is None
    assert MACROS["StaleDepthDifference"](data_folder) == "none to give, as a target was missed"


@pytest.mark.parametrize("name", MACROS)
def test_every_macro_has_a_value(name: str, data_folder: Path) -> None:
    assert MACROS[name](data_folder)


def test_a_sweep_changes_one_thing_in_a_fixed_order(data_folder: Path) -> None:
    study = result(data_folder, "staleness")
    assert [setting["hidden_count"] for setting in sweep(study, "hidden_count")] == [0, 1, 2, 3, 4]
    assert [setting["worker_count"] for setting in sweep(study, "worker_count")] == [1, 4, 8]
    assert [setting["optimiser"] for setting in sweep(study, "optimiser")] == list(OPTIMISERS)


def test_the_table_has_a_row_for_every_setting_of_every_sweep(data_folder: Path) -> None:
    rows = [plain(row).split(" & ") for row in staleness_table(data_folder).splitlines() if " & " in row]
    assert [row[0] for row in rows[1:]] == [
        "no hidden layer",
        "1 hidden layer",
        *(f"{count} hidden layers" for count in (2, 3, 4)),
        *("SGD", "momentum", "Adam", "Adagrad", "RMSProp"),
        *("1 worker", "4 workers", "8 workers"),
    ]
    by_name = {row[0]: [cell.removesuffix(r" \\") for cell in row[1:]] for row in rows}
    assert by_name["4 hidden layers"] == ["0.2", "100", "1.80", "2.60", "4.20", "1.80"]
    assert by_name["Adam"] == ["0.2", "100", "2.50", "--", "--", "--"]


def test_what_was_not_reached_stands_above_all_that_was(data_folder: Path) -> None:
    depths, optimisers, workers = staleness(data_folder).axes
    assert heights(depths, "full") == pytest.approx(
        [1, 1, 1, 1.2, 1.4, 1.8, 1.4, 1.8, 2.6, 1.6, 2.2, 3.4, 1.8, 2.6, 4.2]
    )
    assert heights(depths, "none") == pytest.approx([1, 1, 1.1, 1.2, 1.2, 1.4, 1.3, 1.6, 1.4, 1.8])
    # The third optimiser is Adam.
    assert heights(optimisers, "full")[6:9] == pytest.approx([2.5, 4.45, 4.45])
    assert depths.get_ylim()[1] > 4.45
    assert len(heights(workers, "full")) == 9


def test_coherence_is_drawn_with_its_median_by_depth_and_staleness(data_folder: Path) -> None:
    left = stale_theory(data_folder).axes[0]
    assert heights(left, "full") == [0, -0.5, -0.75] * 5


def test_the_rate_is_drawn_as_a_share_of_the_bound(data_folder: Path) -> None:
    middle = stale_theory(data_folder).axes[1]
    drawn = {line.get_label(): np.asarray(line.get_ydata(), float).tolist() for line in middle.get_lines()}
    assert drawn["regression"] == [0.125] * 3


def test_limits_without_delay_are_not_drawn_on_a_logarithmic_axis(data_folder: Path) -> None:
    (right,) = delay_limits(data_folder).axes
    assert all(np.asarray(line.get_xdata(), float).tolist() == [1, 2] for line in right.get_lines())


def test_limits_are_drawn_as_stated_and_as_measured_for_either_delay(data_folder: Path) -> None:
    """Without momentum first: a line, dots and diamonds."""
    lines = delay_limits(data_folder).axes[0].get_lines()
    drawn = [(line.get_marker(), float(np.asarray(line.get_ydata(), float)[0])) for line in lines[:3]]
    assert drawn == [("None", 1.0), ("o", 0.98), ("D", 1.47)]


def test_every_problem_and_optimiser_of_the_study_has_a_name() -> None:
    assert list(RATES) == list(PROBLEMS)
    assert list(OPTIMISER_NAMES) == list(OPTIMISERS)


def test_gaps_in_the_file_are_named(data_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"staleness\.json: no rate on 'quadratic'"):
        stale_theory(rewritten(data_folder, rates=[]))
    with pytest.raises(ValueError, match="no setting as the middle but for 'optimiser'"):
        MACROS["StaleAdam"](rewritten(data_folder, settings=[]))
    kept = [setting for setting in staleness_record()["settings"] if setting["hidden_count"] < 4]
    with pytest.raises(ValueError, match="no setting with hidden_count 4"):
        MACROS["StaleDeepLateBest"](rewritten(data_folder, settings=kept))
    (data_folder / "staleness.json").unlink()
    with pytest.raises(FileNotFoundError, match="make reproduce"):
        staleness(data_folder)
