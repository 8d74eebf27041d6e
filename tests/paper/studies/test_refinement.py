"""The table of threshold rules: shares, counts and energies of the study, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.rules import RULES
from paper.studies.refinement import (
    MACROS,
    band_share,
    captured_shares,
    failure_map,
    relative_class,
    relative_counts,
    rule_table,
    studied_rules,
)
from sparsync.experiments.studies.selection import refinement
from tests.support.drawing import plain
from tests.support.paper_data import rewrite, write_results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


def test_the_table_has_every_rule_of_the_study_under_a_name_of_its_own(folder: Path) -> None:
    assert studied_rules(folder) == list(refinement.RULES)
    assert set(refinement.RULES) <= set(RULES)


def test_a_rule_without_a_name_has_a_line_under_that_in_the_file(folder: Path) -> None:
    fields = {"first_k": [[6, 6], [6, 12]]}
    rewrite(folder / "refinement.json", families={"one": {"selected_count": fields, "captured_share": fields}})
    assert "\nFirst-$k$ & " in rule_table(folder)


def test_shares_and_counts_are_those_of_all_laws_and_densities(folder: Path) -> None:
    """Both families hold counts 0, 6, 30 and 700 for k = 6."""
    assert band_share(folder, "gaussian_k_released") == 1 / 4
    assert band_share(folder, "gaussian_k") == 1
    assert relative_counts(folder, "gaussian_k_released") == [0, 0, 1, 1, 5, 5, 700 / 6, 700 / 6]
    assert captured_shares(folder, "gaussian_k") == [0.5, 0.5, *[1.0] * 6]


def test_the_range_has_both_its_ends(folder: Path) -> None:
    families = {"one": {"selected_count": {"gaussian_k": [[3, 4, 8, 9]]}}}
    rewrite(folder / "refinement.json", families=families, target_count=[6, 6, 6, 6])
    assert band_share(folder, "gaussian_k") == 1 / 2


def test_a_line_of_the_table_says_how_often_how_many_and_how_much(folder: Path) -> None:
    (line,) = [line for line in rule_table(folder).splitlines() if "released" in line and "shi2019" in line]
    plain = line.replace("\\ensuremath{", "").replace("}", "")
    assert [cell.strip() for cell in plain.removesuffix("\\\\").split("&")][1:] == [
        "25.0\\,\\%",
        "0.00",
        "3.00",
        "117",
        "0.50",
        "1.00",
    ]


def test_a_rule_that_the_study_lacks_is_an_error(folder: Path) -> None:
    rewrite(folder / "refinement.json", families={"one": {"selected_count": {}, "captured_share": {}}})
    with pytest.raises(KeyError, match="gaussian_k"):
        band_share(folder, "gaussian_k")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # One of four counts of each family.
        ("RefinementReleasedShare", "25.0"),
        ("RefinementOursShare", "100.0"),
        ("RefinementSmallestTarget", "6"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


@pytest.mark.parametrize(
    ("count", "target", "expected"),
    [
        (0, 6, 0),
        (1, 100, 1),
        (9, 100, 1),
        (1, 10, 2),
        (3, 6, 2),
        (4, 6, 3),
        (8, 6, 3),
        (9, 6, 4),
        (60, 6, 5),
        (600, 6, 6),
    ],
)
def test_counts_are_classed_by_their_ratio_and_the_band_includes_its_ends(
    count: int, target: int, expected: int
) -> None:
    assert relative_class(count, target) == expected


def test_the_failure_map_shows_laws_across_and_densities_upwards(folder: Path) -> None:
    left = failure_map(folder).axes[0]
    classes = np.asarray(left.collections[0].get_array(), float).tolist()
    # Rows are densities, columns are laws.
    assert classes == [[0.0, 4.0], [3.0, 6.0]]
