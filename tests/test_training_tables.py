"""The tables of the training runs: accuracies, differences to Top-k and counts, by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper.numbers import MACROS
from paper.training_tables import (
    CONDITIONS,
    METHODS,
    MOMENTUM_RULES,
    RULES,
    accuracy_table,
    count_table,
    momentum_table,
)
from sparsync.experiments.runs import RUNS
from tests.paper_data import rewrite, write_results, write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


def plain(text: str) -> str:
    """The text without mathematics mode."""
    return re.sub(r"\\ensuremath\{([^{}]*)\}", r"\1", text)


def lines_of(table: str, words: str) -> list[list[str]]:
    """The cells of every line that begins with these words, without the words."""
    rows = [plain(line).removesuffix(" \\\\").split(" & ") for line in table.splitlines()]
    return [cells for first, *cells in rows if first == words]


def test_the_accuracies_are_of_every_method_that_has_runs() -> None:
    assert {f"fnn3_{method}" for method in METHODS} == {name for name in RUNS if not name.endswith("_paper")}


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
    assert lines_of(table, RULES["gaussian_k"]) == [ours] * 4
    assert lines_of(table, RULES["gaussian_k_released"]) == [theirs] * 4
    assert [len(lines_of(table, words)) for words in RULES.values()] == [4] * len(RULES)
    assert [title in table for title in CONDITIONS] == [True] * 4


@pytest.mark.parametrize(
    ("setting", "density", "place"),
    [("plain", 0.001, 0), ("plain", 0.01, 1), ("standardised", 0.001, 2), ("paper", 0.001, 3)],
)
def test_each_group_of_lines_holds_its_own_condition(folder: Path, setting: str, density: float, place: int) -> None:
    for seed in (0, 1):
        rewrite(write_run(folder, setting, "dgc_grace", density, seed), sent_bytes=[5_000_000] * 4)
    sizes = [cells[-1] for cells in lines_of(count_table(folder), RULES["dgc_grace"])]
    assert [size == r"5.00\,MB" for size in sizes] == [other == place for other in range(4)]


def test_with_momentum_a_rule_has_mean_deviation_extremes_and_largest_count(folder: Path) -> None:
    """√((1.5² + 1.5²)/(2 − 1)) = 2.12."""
    table = momentum_table(folder)
    assert lines_of(table, RULES["gaussian_k"]) == [["-0.50", "2.12", "-2.00", "+1.00", "1.33"]]
    assert lines_of(table, RULES["gaussian_k_released"]) == [["-5.00", "7.07", "-10.00", "0.00", "9.00"]]
    assert [len(lines_of(table, RULES[rule])) for rule in MOMENTUM_RULES] == [1] * 5


def test_a_single_seed_has_neither_range_nor_deviation(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data", seeds=(0,))
    assert lines_of(accuracy_table(folder), "Top-$k$") == [["80.0"] * 4]
    assert lines_of(momentum_table(folder), RULES["gaussian_k"]) == [["+1.00", "undefined", "+1.00", "+1.00", "1.33"]]


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
