"""The text gives ranges over the runs that are there, of one seed or more, and says `not run` of the others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.results import Result
from paper.studies.gradient_laws.figures import gradient_histograms, measured_contraction, rank_curves, windowed
from paper.studies.gradient_laws.runs import NOT_RUN, inflation
from paper.studies.gradient_laws.study import MACROS, feedback_table, law_cell, laws_table, span
from tests.support.drawing import plain
from tests.support.studies.gradient_laws_data import RUNS, repeat, repeats_of, run, study


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return study(tmp_path, RUNS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LawsDensity", "0.001"),
        ("LawsWorkers", "4"),
        ("LawsSeeds", "one seed"),
        ("LawsFloor", "4"),
        ("LawsFlattened", "no model, as one seed has no interval"),
        ("LawsInflation", "3.0 to 7.0"),
        ("LawsLargestInflation", "1.5"),
        ("LawsInflationAsExpected", "1 of 2"),
        ("LawsNormalBest", "1 of 5"),
        ("LawsBoundsKept", "25"),
        ("LawsDriftGain", "3.0"),
        ("LawsNoiseGain", "6.0"),
        ("LawsSecondMetDense", "100"),
        ("LawsThirdMetDense", "50 to 100"),
        ("LawsThirdMetFeedback", "25 to 100"),
        ("LawsThirdStrictFeedback", "12 to 50"),
        ("LawsThirdRise", "1.75"),
        ("LawsThirdWorst", "ResNet-20"),
        ("LawsBestDistanceDense", "0.04 to 0.20"),
        ("LawsNormalDistanceFeedback", "0.20"),
        ("LawsGainFeedback", "30.0 to 70.0"),
        ("LawsCountDense", "3.00"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LawsSeeds", "3 seeds"),
        # The factors of three seeds are 7, 14 and 28 times as wide; ResNet-20 begins at 3.
        ("LawsInflation", "6.0 to 14.0"),
        ("LawsInflationAsExpected", "1 of 2"),
        ("LawsNormalBest", "1 of 15"),
        ("LawsGainFeedback", "70.0 to 163.3"),
        ("LawsThirdMetFeedback", "25 to 100"),
    ],
)
def test_further_seeds_enter_means_ranges_and_counts(name: str, text: str, tmp_path: Path) -> None:
    folder = study(tmp_path, RUNS, repeats_of(RUNS, (1, 2), spread=2.0))
    assert plain(MACROS[name](folder)) == text


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("LawsNormalBest", {"best": "norm"}, "2 of 6"),
        ("LawsBoundsKept", {"share": 0.125}, "12"),
        ("LawsThirdMetFeedback", {"share": 0.125}, "12 to 100"),
        ("LawsThirdRise", {"share": 0.125}, "1.88"),
        ("LawsThirdWorst", {"share": 0.125}, "GPT"),
    ],
)
def test_what_one_run_of_a_further_seed_did_is_not_lost(
    name: str, change: dict[str, Any], text: str, tmp_path: Path
) -> None:
    folder = study(tmp_path, RUNS[:2] + RUNS[4:], [*repeats_of(RUNS[:2], (1,)), repeat("gpt", "top_k", 1, **change)])
    assert plain(MACROS[name](folder)) == text


def test_a_model_is_flattened_where_the_whole_interval_is_above_the_bound(tmp_path: Path) -> None:
    """Factors of 7 and 3 without a spread; with one the interval of two seeds is wide."""
    assert plain(MACROS["LawsFlattened"](study(tmp_path, RUNS, repeats_of(RUNS, (1,))))) == "1 of 2 models"
    wide = study(tmp_path, RUNS, repeats_of(RUNS, (1,), spread=2.0))
    assert plain(MACROS["LawsFlattened"](wide)) == "0 of 2 models"


def test_models_on_fewer_seeds_are_told(tmp_path: Path) -> None:
    folder = study(tmp_path, RUNS, repeats_of(RUNS[:2], (1, 2)))
    assert plain(MACROS["LawsSeeds"](folder)) == "1 to 3 seeds"


def test_a_repeat_that_diverged_early_has_no_law_and_is_counted_with_none(tmp_path: Path) -> None:
    lost = repeat("gpt", "dense", 1) | {"observations": [], "diverged_at_step": 3}
    folder = study(tmp_path, RUNS, [lost])
    assert plain(MACROS["LawsNormalBest"](folder)) == "1 of 6"
    assert plain(MACROS["LawsNormalDistanceDense"](folder)) == "0.20"


def test_where_nothing_was_run_every_number_of_runs_says_so(tmp_path: Path) -> None:
    folder = study(tmp_path, [])
    said = {name: plain(macro(folder)) for name, macro in MACROS.items()}
    set_beforehand = {
        *("LawsDensity", "LawsWorkers", "LawsFloor", "LawsLow", "LawsHigh"),
        *("LawsDriftGain", "LawsNoiseGain"),
    }
    assert {name for name, text in said.items() if text == NOT_RUN} == set(MACROS) - set_beforehand
    assert measured_contraction(folder).axes[0].texts[0].get_text() == NOT_RUN


def cells_of(table: str) -> dict[str, list[str]]:
    """By model, the cells behind it."""
    rows = [line.removesuffix(r" \\").split(" & ") for line in table.splitlines() if line.endswith(r"\\")][2:]
    assert [row[0] for row in rows] == ["FNN-3", "LeNet-5", "ResNet-20", "VGG-16", "LSTM", "GPT"]
    return {row[0]: [plain(cell) for cell in row[1:]] for row in rows}


def test_the_table_has_a_row_for_every_model_run_or_not(data_folder: Path) -> None:
    cells = cells_of(laws_table(data_folder))
    assert set(cells["VGG-16"]) == {NOT_RUN}
    laws = ["normal 0.20, 0.20", "Student 0.04, 0.20"]
    assert cells["FNN-3"] == ["3000", "400", *laws, "50/50", "50/50"]
    # The run with feedback is missing.
    assert cells["GPT"][2:] == ["Student 0.04, 0.20", NOT_RUN, "50/50", NOT_RUN]


def test_one_seed_has_no_interval(data_folder: Path) -> None:
    cells = cells_of(feedback_table(data_folder))
    assert set(cells["VGG-16"]) == {NOT_RUN}
    assert cells["FNN-3"] == ["1", *(f"{value} (one seed)" for value in ("7.00", "1.50", "10.0", "70.0"))]
    assert cells["GPT"] == [NOT_RUN, NOT_RUN, NOT_RUN, "10.0 (one seed)", NOT_RUN]


def test_intervals_are_of_ratios_paired_over_seeds(tmp_path: Path) -> None:
    """Deviations 1 and 10 without, 7 and 70 with feedback: the factor is 7 on both seeds."""
    further = [repeat("fnn3", "dense", 1, deviation=10.0), repeat("fnn3", "top_k", 1, deviation=70.0)]
    cells = cells_of(feedback_table(study(tmp_path, RUNS, further)))
    assert cells["FNN-3"][:3] == ["2", "7.00 (7.00 to 7.00)", "1.50 (1.50 to 1.50)"]
    # Gains of 10 and 100: Student's t of one degree of freedom is 12.706, and the error of the mean 45.
    assert cells["FNN-3"][3] == f"55.0 ({55 - 12.7062 * 45:.1f} to {55 + 12.7062 * 45:.1f})"
    assert cells["ResNet-20"][1] == "3.00 (one seed)"


def test_a_run_that_diverged_says_after_how_many_updates(data_folder: Path) -> None:
    study(data_folder, [run("vgg16", "dense"), run("vgg16", "top_k") | {"diverged_at_step": 37}])
    (row,) = [line for line in laws_table(data_folder).splitlines() if line.startswith("VGG-16")]
    assert plain(row.split(" & ")[2]) == "37"


def test_a_factor_needs_both_runs(data_folder: Path) -> None:
    found = inflation(data_folder, "fnn3")
    assert found is not None
    assert found.value == pytest.approx(math.log(7))
    assert found.count == 1
    assert inflation(data_folder, "gpt") is None


def test_a_factor_is_of_the_seeds_that_were_run_both_ways(tmp_path: Path) -> None:
    folder = study(tmp_path, RUNS, [repeat("fnn3", "dense", 1), repeat("fnn3", "top_k", 2, deviation=7.0)])
    found = inflation(folder, "fnn3")
    assert found is not None
    assert found.count == 1


def test_too_few_entries_have_no_law() -> None:
    assert law_cell(Result(Path("x"), run("fnn3", "dense", best=None))) == "too few entries"


@pytest.mark.parametrize(("values", "text"), [([], NOT_RUN), ([1.04, 1.0], "1.0"), ([2.0, 1.0, 3.0], "1.0 to 3.0")])
def test_a_span_has_two_ends_where_they_read_differently(values: list[float], text: str) -> None:
    assert span(values, lambda value: f"{value:.1f}") == text


def test_densities_integrate_to_the_shares_of_the_bins(data_folder: Path) -> None:
    panels = gradient_histograms(data_folder).axes
    titles = [f"{kind}, {when}" for when in ("early", "late") for kind in ("without feedback", "with feedback")]
    assert [axes.get_title() for axes in panels] == titles
    drawn = panels[0].lines[0]
    assert np.asarray(drawn.get_xdata()).tolist() == [-0.5, 0.25, 0.75]
    # An empty bin has no place on a logarithmic axis.
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([0.25, 1.0, np.nan], nan_ok=True)
    # Three models without feedback, two with it, and the normal law.
    assert [len(axes.lines) for axes in panels] == [4, 3, 4, 3]


def test_curves_begin_at_the_largest_square(data_folder: Path) -> None:
    drawn = rank_curves(data_folder).axes[0].lines[0]
    assert np.asarray(drawn.get_xdata()).tolist() == pytest.approx([0, 0.5, 2999 / 3000])
    assert np.asarray(drawn.get_ydata()).tolist() == [1.0, 0.25, 0.0]


def test_gains_stand_over_the_densities_of_whole_counts(data_folder: Path) -> None:
    dense, top_k, course = measured_contraction(data_folder).axes
    drawn = dense.lines[0]
    assert np.asarray(drawn.get_xdata()).tolist() == [0.001, 0.1]
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([100.0, 6.0])
    # Two models, two rungs, the Gaussian law, and the two laws of the steady state.
    assert len(top_k.lines) == 7
    assert np.asarray(course.lines[-1].get_xdata()).tolist() == pytest.approx([0.2, 0.4])
    assert [text.get_text() for text in course.texts] == ["persistent", "noise"]


def test_windows_grow_and_leave_no_step_out() -> None:
    steps = list(range(1, 14))
    ends, means = windowed(steps, [float(step) for step in steps])
    assert ends == [1, 2, 3, 4, 5, 7, 9, 12, 13]
    assert means == [1, 2, 3, 4, 5, 6.5, 8.5, 11, 13]
