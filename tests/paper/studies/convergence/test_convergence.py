"""The tables, figures and numbers of the training runs: accuracies, differences to Top-k and counts, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.patches import Rectangle

from paper.results import training_results
from paper.rules import RULES
from paper.studies.convergence.figures import momentum
from paper.studies.convergence.runs import (
    THOUSANDTH,
    bytes_per_update,
    condition_results,
    median_gain,
    paired_differences,
    trained_methods,
)
from paper.studies.convergence.study import MACROS
from paper.studies.convergence.tables import CONDITIONS, EXACT, accuracy_table, count_table, momentum_table
from sparsync.experiments.training.runs import RUNS
from tests.support.drawing import plain, table_lines
from tests.support.paper_data import METHODS as TRAINED
from tests.support.paper_data import MOMENTUM_METHODS, rewrite, run_record, write, write_results, write_run
from tests.support.paths import ROOT

THRESHOLD_RULES = [method for method in TRAINED if method not in EXACT]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


def test_every_method_that_has_runs_has_a_name_and_a_line(folder: Path) -> None:
    methods = trained_methods(folder, THOUSANDTH)
    assert {f"fnn3_{method}" for method in methods} == {name for name in RUNS if not name.endswith("_paper")}
    assert set(methods) <= set(RULES)
    assert [len(table_lines(accuracy_table(folder), RULES[method].title)) for method in methods] == [1] * len(methods)


def test_a_method_without_a_name_has_lines_under_that_of_its_runs(folder: Path) -> None:
    for setting, density in (("plain", 0.001), ("plain", 0.01), ("standardised", 0.001), ("paper", 0.001)):
        for seed in (0, 1):
            run = run_record(setting, "top_k", density, seed)
            name = f"fnn3_first_k{'_paper' if setting == 'paper' else ''}"
            write(folder / "convergence" / f"{setting}-{name}-{density:g}-{seed}.json", run)
    assert table_lines(accuracy_table(folder), "First-$k$") == [["2", *["81.0 (80.0--82.0)"] * 4]]
    assert len(table_lines(count_table(folder), "First-$k$")) == 4


def test_no_runs_at_all_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"plain-\*\.json is missing; `make reproduce` writes it"):
        accuracy_table(tmp_path)


def test_a_method_has_its_mean_and_range_in_every_condition(folder: Path) -> None:
    """A dense run has no density: the columns of 0.001 and 0.01 hold the same."""
    assert table_lines(accuracy_table(folder), "Top-$k$") == [["2", *["81.0 (80.0--82.0)"] * 4]]
    assert table_lines(accuracy_table(folder), "dense") == [["2", *["91.0 (90.0--92.0)"] * 4]]


def test_each_column_holds_its_own_condition(folder: Path) -> None:
    for setting, density, accuracy in (("plain", 0.001, 0.1), ("plain", 0.01, 0.2), ("standardised", 0.001, 0.3)):
        for seed in (0, 1):
            write_run(folder, setting, "random_k", density, seed, test_accuracy=accuracy)
    (cells,) = table_lines(accuracy_table(folder), "Rand-$k$")
    assert cells == ["2", "10.0 (10.0--10.0)", "20.0 (20.0--20.0)", "30.0 (30.0--30.0)", "55.0 (50.0--60.0)"]


def test_a_rule_has_its_differences_and_counts_in_every_condition(folder: Path) -> None:
    """81 − 80 and 80 − 82: −1/2 ± 12.706 · 3/2; the released rule is in range once; means 0, 1, 1.5, 2."""
    table = count_table(folder)
    ours = ["-0.50 (-19.56 to 18.56)", "100.0", "0.67", "0.83", "1.33", r"2.50\,kB"]
    theirs = ["-5.00 (-68.53 to 58.53)", "25.0", "0.00", "1.25", "9.00", r"2.50\,kB"]
    assert table_lines(table, RULES["gaussian_k"].title) == [ours] * 4
    assert table_lines(table, RULES["gaussian_k_released"].title) == [theirs] * 4
    assert [len(table_lines(table, RULES[rule].title)) for rule in THRESHOLD_RULES] == [4] * len(THRESHOLD_RULES)
    assert [title in table for title in CONDITIONS] == [True] * 4


@pytest.mark.parametrize(
    ("setting", "density", "place"),
    [("plain", 0.001, 0), ("plain", 0.01, 1), ("standardised", 0.001, 2), ("paper", 0.001, 3)],
)
def test_each_group_of_lines_holds_its_own_condition(folder: Path, setting: str, density: float, place: int) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, setting, "dgc_grace", density, seed), sent_bytes=[5_000_000] * 4)
    sizes = [cells[-1] for cells in table_lines(count_table(folder), RULES["dgc_grace"].title)]
    assert [size == r"5.00\,MB" for size in sizes] == [other == place for other in range(4)]


def test_with_momentum_a_rule_has_seeds_accuracy_difference_and_largest_count(folder: Path) -> None:
    """−1/2 ± 12.706 · 3/2 and −5 ± 12.706 · 5, Student's t having one degree of freedom."""
    table = momentum_table(folder)
    ours = ["2", "80.5 (80.0--81.0)", "-0.50 (-19.56 to 18.56)", "1.33"]
    theirs = ["2", "76.0 (70.0--82.0)", "-5.00 (-68.53 to 58.53)", "9.00"]
    assert table_lines(table, RULES["gaussian_k"].title) == [ours]
    assert table_lines(table, RULES["gaussian_k_released"].title) == [theirs]
    assert table_lines(table, RULES["top_k"].title) == [["2", "81.0 (80.0--82.0)", "", ""]]
    assert [len(table_lines(table, RULES[rule].title)) for rule in MOMENTUM_METHODS] == [1] * 6


def test_a_dense_run_with_momentum_has_a_line_once_there_is_one(folder: Path) -> None:
    for seed in (0, 1):
        write_run(folder, "momentum", "dense", 0.001, seed)
    assert table_lines(momentum_table(folder), "dense") == [["2", "91.0 (90.0--92.0)", "+10.00 (10.00 to 10.00)", ""]]


def test_a_single_seed_has_neither_range_nor_interval(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data", seeds=(0,))
    assert table_lines(accuracy_table(folder), "Top-$k$") == [["1", *["80.0"] * 4]]
    assert table_lines(momentum_table(folder), RULES["gaussian_k"].title) == [["1", "81.0", "+1.00 (one seed)", "1.33"]]
    assert plain(MACROS["ThousandthOursDifference"](folder)) == "+1.00 points (one seed)"
    outcome = plain(MACROS["TrainedOursOutcome"](folder))
    assert outcome.startswith("lower in none, higher in none, inconclusive in none, one seed in 4 of 4 settings")
    assert not [patch for patch in momentum(folder).axes[0].patches if isinstance(patch, Rectangle)]
    assert MACROS["TrainedSurelyNearRules"](folder) == "none"


def test_rules_may_have_fewer_seeds_and_pairs_are_of_those_that_both_have(folder: Path) -> None:
    """Of the seeds 0 and 1 of Top-k, DGC in GRACE has 1 and one more."""
    for setting, density in (("plain", 0.001), ("plain", 0.01), ("standardised", 0.001), ("paper", 0.001)):
        write_run(folder, setting, "dgc_grace", density, 0).unlink()
        write_run(folder, setting, "dgc_grace", density, 3, test_accuracy=0.2)
    results, references = (condition_results(folder, THOUSANDTH, method) for method in ("dgc_grace", "top_k"))
    assert paired_differences(results, references) == {1: 0.0}
    assert table_lines(count_table(folder), "DGC in GRACE")[0][0] == "0.00 (one seed)"
    write_run(folder, "plain", "sidco_released", 0.001, 0).unlink()
    assert table_lines(accuracy_table(folder), "SIDCo, two stages")[0][0] == "1, 2"
    assert plain(MACROS["OtherSeeds"](folder)) == "1 to 2"


def test_the_text_reports_counts_and_outcomes_over_all_conditions(folder: Path) -> None:
    """(0 + 1)/2 in three conditions, 10 and 9 in the fourth, 9.5 ± 6.35; a count of 3 for k = 6 and one of 15 there."""
    changed = {"smallest_selected_count": [3, 6, 6, 6], "largest_selected_count": [6, 6, 6, 15]}
    for seed, accuracy in ((0, 0.9), (1, 0.91)):
        rewrite(write_run(folder, "standardised", "dgc_released", 0.001, seed), test_accuracy=accuracy, **changed)
    words = ("Outcome", "SmallestCount", "LargestCount")
    outcome = "lower in none, higher in 1, inconclusive in 3 of 4 settings (+0.50 to +9.50 points)"
    assert [plain(MACROS[f"TrainedDgc{word}"](folder)) for word in words] == [outcome, "0.50", "2.50"]


def test_a_rule_is_near_top_k_if_it_is_in_every_condition(folder: Path) -> None:
    """Means of 1/2, 0, −1/2, −1.5 and worse; equal differences of 0 leave the interval no width."""
    near = "Gaussian-$k$, ours; DGC, released; DGC in GRACE; SIDCo, adapted"
    assert MACROS["TrainedNearRules"](folder) == near
    assert MACROS["TrainedSurelyNearRules"](folder) == "DGC in GRACE"
    for seed in (0, 1):
        write_run(folder, "paper", "dgc_grace", 0.001, seed, test_accuracy=0.9)
    assert MACROS["TrainedNearRules"](folder) == near.replace("; DGC in GRACE", "")
    assert MACROS["TrainedSurelyNearRules"](folder) == "none"


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
    assert table_lines(accuracy_table(folder), words) == [["2", *["99.5 (99.5--99.5)"] * 4]]
    assert [cells[0] for cells in table_lines(count_table(folder), words)] == ["+18.50 (5.79 to 31.21)"] * 4
    assert [cells[2] for cells in table_lines(momentum_table(folder), words)] == ["+18.50 (5.79 to 31.21)"]


@pytest.mark.parametrize(("setting", "density", "title"), SETTINGS)
def test_a_group_of_lines_has_the_title_of_its_setting(setting: str, density: float, title: str, folder: Path) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, setting, "dgc_grace", density, seed), sent_bytes=[5_000_000] * 4)
    group = count_table(folder).split(f"\\emph{{{title}}}")[1].split("\\emph")[0]
    assert [cells[-1] for cells in table_lines(group, "DGC in GRACE")] == [r"5.00\,MB"]


def test_the_heads_say_what_is_below() -> None:
    folder = ROOT / "paper/data"
    accuracies, counts, momentum = (
        [plain(line) for line in table(folder).splitlines()] for table in (accuracy_table, count_table, momentum_table)
    )
    assert accuracies[2] == r" &  & unit pixels & unit pixels & standardised pixels & released settings \\"
    assert accuracies[3] == r"density & seeds & 0.001 & 0.01 & 0.001 & 0.001 \\"
    assert counts[2] == r"& difference & in range & \multicolumn{3}{c}{count$/k$} & \\"
    assert counts[4] == r"rule & (points) & (\%) & min & median & max & bytes \\"
    assert momentum[2] == r" & seeds & accuracy (\%) & difference (points) & largest count$/k$ \\"


def test_differences_with_momentum_are_to_top_k_with_momentum(folder: Path) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, "momentum", "top_k", 0.001, seed), test_accuracy=0.5)
    assert table_lines(momentum_table(folder), "Gaussian-$k$, ours")[0][2] == "+30.50 (24.15 to 36.85)"


def changed_macros(folder: Path, setting: str, method: str, density: float, **changes: Any) -> set[str]:
    """Which macros of training notice that the runs of a method in a setting are others."""
    before = {name: macro(folder) for name, macro in MACROS.items()}
    for seed in (0, 1):
        rewrite(write_run(folder, setting, method, density, seed), **changes)
    return {name for name, macro in MACROS.items() if macro(folder) != before[name]}


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("gaussian_k", {"ReleasedSettingsOursDifference", "TrainedOursOutcome"}),
        ("gaussian_k_released", {"ReleasedSettingsTheirsDifference", "TrainedTheirsOutcome"}),
        ("dgc_released", {"TrainedDgcOutcome"}),
        ("dgc_grace", {"TrainedGraceOutcome"}),
        ("sidco_released", {"TrainedSidcoOutcome"}),
        ("sidco_adaptive", {"TrainedAdaptedOutcome"}),
        ("oktopk_released", {"TrainedCarriedOutcome"}),
    ],
)
def test_a_macro_is_of_the_rule_that_it_names(method: str, names: set[str], folder: Path) -> None:
    found = changed_macros(folder, "paper", method, 0.001, test_accuracy=0.99)
    assert found - {"TrainedNearRules", "TrainedSurelyNearRules"} == names


@pytest.mark.parametrize(
    ("setting", "density", "word"),
    [("plain", 0.001, "Thousandth"), ("plain", 0.01, "Hundredth"), ("standardised", 0.001, "Standardised")],
)
def test_a_macro_is_of_the_setting_that_it_names(setting: str, density: float, word: str, folder: Path) -> None:
    found = changed_macros(folder, setting, "gaussian_k_released", density, selected_count=[7.0] * 4)
    assert found == {f"{word}TheirsMedianCount"}
    found = changed_macros(folder, setting, "gaussian_k_released", density, largest_selected_count=[7000] * 4)
    extremes = {"ThousandthTheirsLargestCount"} & {f"{word}TheirsLargestCount"} | {"TrainedTheirsBandShare"}
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
        ("StandardisedOursDifference", "-0.50 points (-19.56 to 18.56; inconclusive)"),
        ("HundredthDenseDifference", "+10.00 points (10.00 to 10.00)"),
        ("MomentumTheirsDifference", "-5.00 points (-68.53 to 58.53; inconclusive)"),
        (
            "TrainedDenseOutcome",
            "lower in none, higher in 4, inconclusive in none of 4 settings (+10.00 to +10.00 points)",
        ),
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
