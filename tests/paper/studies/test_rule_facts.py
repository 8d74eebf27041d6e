"""The table of threshold rules: shares, counts and energies of the study, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.studies.rule_facts import RULES, band_share, captured_shares, relative_counts, rule_table
from sparsync.experiments.studies.selection import refinement
from tests.support.paper_data import rewrite, write_results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path)


def test_the_table_has_every_rule_of_the_study() -> None:
    assert set(RULES) == set(refinement.RULES)


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
        rule_table(folder)
