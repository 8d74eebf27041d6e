"""The tables, figures and numbers of the training runs: accuracies, differences to Top-k and counts, by hand."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from paper.results import training_results
from paper.rules import METHODS, RULES
from paper.studies.convergence import MACROS, STUDY, convergence, counts, momentum
from paper.studies.convergence_runs import (
    THOUSANDTH,
    bytes_per_update,
    condition_results,
    median_gain,
    moving_mean,
    trained_methods,
)
from paper.studies.convergence_tables import CONDITIONS, EXACT, accuracy_table, count_table, momentum_table
from sparsync.experiments.training.runs import RUNS
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import METHODS as TRAINED
from tests.support.paper_data import MOMENTUM_METHODS, rewrite, run_record, write, write_results, write_run
from tests.support.paths import ROOT

THRESHOLD_RULES = [method for method in TRAINED if method not in EXACT]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


def lines_of(table: str, words: str) -> list[list[str]]:
    """The cells of every line that begins with these words, without the words."""
    rows = [plain(line).removesuffix(" \\\\").split(" & ") for line in table.splitlines()]
    return [cells for first, *cells in rows if first == words]


def test_every_method_that_has_runs_has_a_name_and_a_line(folder: Path) -> None:
    methods = trained_methods(folder, THOUSANDTH)
    assert {f"fnn3_{method}" for method in methods} == {name for name in RUNS if not name.endswith("_paper")}
    assert set(methods) <= set(RULES)
    assert [len(lines_of(accuracy_table(folder), RULES[method].title)) for method in methods] == [1] * len(methods)


def test_a_method_without_a_name_has_lines_under_that_of_its_runs(folder: Path) -> None:
    for setting, density in (("plain", 0.001), ("plain", 0.01), ("standardised", 0.001), ("paper", 0.001)):
        for seed in (0, 1):
            run = run_record(setting, "top_k", density, seed)
            name = f"fnn3_first_k{'_paper' if setting == 'paper' else ''}"
            write(folder / "convergence" / f"{setting}-{name}-{density:g}-{seed}.json", run)
    assert lines_of(accuracy_table(folder), "First-$k$") == [["81.0 (80.0--82.0)"] * 4]
    assert len(lines_of(count_table(folder), "First-$k$")) == 4


def test_no_runs_at_all_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"plain-\*\.json is missing; `make reproduce` writes it"):
        accuracy_table(tmp_path)


def test_a_method_has_its_mean_and_range_in_every_condition(folder: Path) -> None:
    """A dense run has no density: the columns of 0.001 and 0.01 hold the same."""
    assert lines_of(accuracy_table(folder), "Top-$k$") == [["81.0 (80.0--82.0)"] * 4]
    assert lines_of(accuracy_table(folder), "dense") == [["91.0 (90.0--92.0)"] * 4]


def test_each_column_holds_its_own_condition(folder: Path) -> None:
    for setting, density, accuracy in (("plain", 0.001, 0.1), ("plain", 0.01, 0.2), ("standardised", 0.001, 0.3)):
        for seed in (0, 1):
            write_run(folder, setting, "random_k", density, seed, test_accuracy=accuracy)
    (cells,) = lines_of(accuracy_table(folder), "Rand-$k$")
    assert cells == ["10.0 (10.0--10.0)", "20.0 (20.0--20.0)", "30.0 (30.0--30.0)", "55.0 (50.0--60.0)"]


def test_a_rule_has_its_differences_and_counts_in_every_condition(folder: Path) -> None:
    """81 − 80 and 80 − 82; of the released rule's four updates one is in range, the means are 0, 1, 1.5 and 2 of k."""
    table = count_table(folder)
    ours = ["+1.00, -2.00", "-0.50", "100.0", "0.67", "0.83", "1.33", r"2.50\,kB"]
    theirs = ["-10.00, 0.00", "-5.00", "25.0", "0.00", "1.25", "9.00", r"2.50\,kB"]
    assert lines_of(table, RULES["gaussian_k"].title) == [ours] * 4
    assert lines_of(table, RULES["gaussian_k_released"].title) == [theirs] * 4
    assert [len(lines_of(table, RULES[rule].title)) for rule in THRESHOLD_RULES] == [4] * len(THRESHOLD_RULES)
    assert [title in table for title in CONDITIONS] == [True] * 4


@pytest.mark.parametrize(
    ("setting", "density", "place"),
    [("plain", 0.001, 0), ("plain", 0.01, 1), ("standardised", 0.001, 2), ("paper", 0.001, 3)],
)
def test_each_group_of_lines_holds_its_own_condition(folder: Path, setting: str, density: float, place: int) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, setting, "dgc_grace", density, seed), sent_bytes=[5_000_000] * 4)
    sizes = [cells[-1] for cells in lines_of(count_table(folder), RULES["dgc_grace"].title)]
    assert [size == r"5.00\,MB" for size in sizes] == [other == place for other in range(4)]


def test_with_momentum_a_rule_has_mean_deviation_extremes_and_largest_count(folder: Path) -> None:
    """√((1.5² + 1.5²)/(2 − 1)) = 2.12."""
    table = momentum_table(folder)
    assert lines_of(table, RULES["gaussian_k"].title) == [["-0.50", "2.12", "-2.00", "+1.00", "1.33"]]
    assert lines_of(table, RULES["gaussian_k_released"].title) == [["-5.00", "7.07", "-10.00", "0.00", "9.00"]]
    assert [len(lines_of(table, RULES[rule].title)) for rule in MOMENTUM_METHODS] == [0] + [1] * 5


def test_a_single_seed_has_neither_range_nor_deviation(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data", seeds=(0,))
    assert lines_of(accuracy_table(folder), "Top-$k$") == [["80.0"] * 4]
    assert lines_of(momentum_table(folder), RULES["gaussian_k"].title) == [
        ["+1.00", "undefined", "+1.00", "+1.00", "1.33"]
    ]


def test_the_text_reports_extremes_over_all_conditions(folder: Path) -> None:
    """(0 + 1)/2 in three conditions, (10 − 12)/2 in the fourth; a count of 3 for k = 6 and one of 15 there."""
    changed = {"smallest_selected_count": [3, 6, 6, 6], "largest_selected_count": [6, 6, 6, 15]}
    for seed, accuracy in ((0, 0.9), (1, 0.7)):
        rewrite(write_run(folder, "standardised", "dgc_released", 0.001, seed), test_accuracy=accuracy, **changed)
    words = ("LeastDifference", "LargestDifference", "SmallestCount", "LargestCount")
    assert [plain(MACROS[f"TrainedDgc{word}"](folder)) for word in words] == ["-1.00", "+0.50", "0.50", "2.50"]


def test_the_median_is_of_the_means_of_all_conditions(folder: Path) -> None:
    """Two seeds of four updates in four conditions: three times k in three of them, k in the fourth."""
    for setting, density in (("plain", 0.001), ("paper", 0.001), ("plain", 0.01)):
        for seed in (0, 1):
            rewrite(
                write_run(folder, setting, "sidco_released", density, seed), selected_count=[3000 * density * 6] * 4
            )
    assert plain(MACROS["TrainedSidcoMedianCount"](folder)) == "3.00"


@pytest.mark.parametrize(("largest", "late"), [([99, 30, 12, 6], "2.00"), ([6, 6, 6, 99], "16.50")])
def test_the_later_half_of_the_updates_is_looked_at_alone(folder: Path, largest: list[int], late: str) -> None:
    for method, word in (("dgc_grace", "Grace"), ("oktopk_released", "Carried")):
        for seed in (0, 1):
            rewrite(write_run(folder, "paper", method, 0.001, seed), largest_selected_count=largest)
        assert plain(MACROS[f"Trained{word}LateLargestCount"](folder)) == late
        assert plain(MACROS[f"Trained{word}LargestCount"](folder)) == "16.50"


RULE_LINES = [
    ("gaussian_k", "Gaussian-$k$, ours"),
    ("gaussian_k_released", "Gaussian-$k$, released"),
    ("dgc_released", "DGC, released"),
    ("dgc_grace", "DGC in GRACE"),
    ("sidco_released", "SIDCo, two stages"),
    ("sidco_adaptive", "SIDCo, adapted"),
    ("oktopk_released", "Ok-Topk, local"),
]
SETTINGS = [
    ("plain", 0.001, "unit pixels, density $0.001$"),
    ("plain", 0.01, "unit pixels, density $0.01$"),
    ("standardised", 0.001, "standardised pixels, density $0.001$"),
    ("paper", 0.001, "released settings, density $0.001$ after warm-up"),
]


@pytest.mark.parametrize(("rule", "words"), RULE_LINES)
def test_a_line_has_the_name_of_its_rule(rule: str, words: str, folder: Path) -> None:
    for setting, density, _ in (*SETTINGS, ("momentum", 0.001, "")):
        for seed in (0, 1):
            rewrite(write_run(folder, setting, rule, density, seed), test_accuracy=0.995)
    assert lines_of(accuracy_table(folder), words) == [["99.5 (99.5--99.5)"] * 4]
    assert [cells[0] for cells in lines_of(count_table(folder), words)] == ["+19.50, +17.50"] * 4
    assert [cells[0] for cells in lines_of(momentum_table(folder), words)] == ["+18.50"]


@pytest.mark.parametrize(("setting", "density", "title"), SETTINGS)
def test_a_group_of_lines_has_the_title_of_its_setting(setting: str, density: float, title: str, folder: Path) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, setting, "dgc_grace", density, seed), sent_bytes=[5_000_000] * 4)
    group = count_table(folder).split(f"\\emph{{{title}}}")[1].split("\\emph")[0]
    assert [cells[-1] for cells in lines_of(group, "DGC in GRACE")] == [r"5.00\,MB"]


def test_the_heads_say_what_is_below() -> None:
    folder = ROOT / "paper/data"
    accuracies, counts, momentum = (
        [plain(line) for line in table(folder).splitlines()] for table in (accuracy_table, count_table, momentum_table)
    )
    assert accuracies[2] == r" & unit pixels & unit pixels & standardised pixels & released settings \\"
    assert accuracies[3] == r"density & 0.001 & 0.01 & 0.001 & 0.001 \\"
    assert counts[2] == r"& \multicolumn{2}{c}{difference (points)} & in range & \multicolumn{3}{c}{count$/k$} & \\"
    assert counts[4] == r"rule & \multicolumn{1}{c}{seeds} & mean & (\%) & min & median & max & bytes \\"
    assert momentum[2] == r"rule & mean & standard deviation & smallest & largest & largest count$/k$ \\"


def test_differences_with_momentum_are_to_top_k_with_momentum(folder: Path) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, "momentum", "top_k", 0.001, seed), test_accuracy=0.5)
    assert lines_of(momentum_table(folder), "Gaussian-$k$, ours")[0][0] == "+30.50"


def changed_macros(folder: Path, setting: str, method: str, density: float, **changes: Any) -> set[str]:
    """Which macros of training notice that the runs of a method in a setting are others."""
    before = {name: macro(folder) for name, macro in MACROS.items()}
    for seed in (0, 1):
        rewrite(write_run(folder, setting, method, density, seed), **changes)
    return {name for name, macro in MACROS.items() if macro(folder) != before[name]}


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("gaussian_k", {"ReleasedSettingsOursDifference"}),
        ("gaussian_k_released", {"ReleasedSettingsTheirsDifference"}),
        ("dgc_released", {"TrainedDgcLargestDifference"}),
        ("dgc_grace", {"TrainedGraceLargestDifference"}),
        ("sidco_released", {"TrainedSidcoLargestDifference"}),
        ("sidco_adaptive", {"TrainedAdaptedLargestDifference"}),
        ("oktopk_released", {"TrainedCarriedLargestDifference"}),
    ],
)
def test_a_macro_is_of_the_rule_that_it_names(method: str, names: set[str], folder: Path) -> None:
    assert changed_macros(folder, "paper", method, 0.001, test_accuracy=0.99) == names


@pytest.mark.parametrize(
    ("setting", "density", "word"),
    [("plain", 0.001, "Thousandth"), ("plain", 0.01, "Hundredth"), ("standardised", 0.001, "Standardised")],
)
def test_a_macro_is_of_the_setting_that_it_names(setting: str, density: float, word: str, folder: Path) -> None:
    found = changed_macros(folder, setting, "gaussian_k_released", density, selected_count=[7.0] * 4)
    assert found == {f"{word}TheirsMedianCount"}
    found = changed_macros(folder, setting, "gaussian_k_released", density, largest_selected_count=[7000] * 4)
    extremes = {"ThousandthTheirsLargestCount"} & {f"{word}TheirsLargestCount"}
    assert found == {f"{word}TheirsMedianCount"} | extremes | {
        name for name in ("StandardisedTheirsBandShare",) if name.startswith(word)
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Workers", "4"),
        ("Seeds", "2"),
        ("StepSize", "0.1"),
        ("Dimension", "6000"),
        ("ThousandthTarget", "6"),
        ("HundredthTarget", "60"),
        # 81 − 80 and 80 − 82.
        ("StandardisedOursDifference", "-0.50"),
        # Counts from 4 to 8 at k = 6; the released rule's are in range at the second of four updates.
        ("ThousandthOursBandShare", "100.0"),
        ("StandardisedTheirsBandShare", "25.0"),
        # The means 0, 1, 2, 1.5 of both seeds.
        ("ThousandthTheirsMedianCount", "1.25"),
        ("ThousandthTheirsLargestCount", "9.00"),
        # δ of 0.002, 0.003, 0.005, 0.007 at κ = 0.001, and at κ = 0.01.
        ("ThousandthTopkGain", "4.0"),
        ("HundredthTopkGain", "0.4"),
        # 1000, 2000, 3000 and 4000 bytes.
        ("ThousandthTopkBytes", r"2.50\,kB"),
        ("ReleasedSettingsTopkBytes", r"2.50\,kB"),
        ("TestCount", "2000"),
        ("ReleasedWeightDecay", "0.0001"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


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
    """Differences of 1 and −2 have the mean −1/2 and the deviation 3/√2."""
    (band,) = (patch for patch in momentum(folder).axes[0].patches if isinstance(patch, Rectangle))
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((-0.5 - 4.5**0.5, -0.5 + 4.5**0.5))


def test_the_band_of_counts_reaches_the_largest_worker_of_any_seed(tmp_path: Path) -> None:
    """At the first update the workers of one seed send nothing, and one of the other seed seven times k."""
    folder = write_results(tmp_path / "data")
    write_run(folder, "plain", "gaussian_k_released", 0.001, 1, largest_selected_count=[6 * 7] * 4)
    band = counts(folder).axes[0].collections[0].get_paths()[0].vertices
    heights = [float(height) for update, height in np.asarray(band) if update == 1]
    assert (min(heights), max(heights)) == (0, 7)


def test_runs_with_other_seeds_are_not_paired(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    write_run(folder, "momentum", "gaussian_k", 0.001, 1).unlink()
    with pytest.raises(ValueError, match=r"seeds \[0\], not \[0, 1\]"):
        momentum(folder)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), st.integers(1, 40))
def test_a_moving_mean_is_the_mean_of_each_window(values: list[int], width: int) -> None:
    means = moving_mean(values, width)
    size = min(width, len(values))
    assert len(means) == len(values) - size + 1
    assert means == [sum(values[start : start + size]) / size for start in range(len(means))]


def test_seeds_are_ordered_as_numbers(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data", seeds=(10, 0, 2))
    assert [result["seed"] for result in training_results(folder, "plain", "fnn3_top_k", 0.001)] == [0, 2, 10]


def test_gains_and_bytes_are_those_of_all_seeds(tmp_path: Path) -> None:
    """Two seeds of four updates: the second has gains of 7 throughout, and sends twice as much."""
    (tmp_path / "convergence").mkdir()
    for seed, changes in enumerate(({}, {"delta": [0.007] * 4, "sent_bytes": [5000] * 4})):
        write_run(tmp_path, "plain", "top_k", 0.001, seed, **changes)
    results = condition_results(tmp_path, THOUSANDTH, "top_k")
    assert bytes_per_update(results) == (2500 + 5000) / 2
    # Of 2, 3, 5, 7 and four times 7.
    assert median_gain(results) == pytest.approx(7)
