"""The figure and the numbers of self-paced learning are those of the file, and say what they count."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from paper.results import result
from paper.studies.learning.self_paced import (
    MACROS,
    METHODS,
    against,
    cheapest_density,
    cost_ratio,
    descent_table,
    moved_share,
    recovery_errors,
    selections,
    self_paced,
    violations,
)
from tests.support.drawing import plain
from tests.support.paper_data import write
from tests.support.studies.self_paced_data import self_paced_record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "self_paced.json", self_paced_record())
    return tmp_path


def test_every_method_is_drawn_at_every_number_of_corrupted_batches(folder: Path) -> None:
    left, middle, right = self_paced(folder).axes
    for axes in (left, middle):
        lines = {line.get_label(): line for line in axes.get_lines()}
        drawn = lines[METHODS["self_paced"].title]
        assert np.asarray(drawn.get_xdata()).tolist() == [4, 9]
        assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([0.15, 0.15])
        assert {look.title for look in METHODS.values()} <= set(lines)
    residuals = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in right.get_lines()}
    assert residuals["$k/p=0.25$"] == [1.0, 0.1, 1e-7]
    assert {"damped as proved", "residual", "no memory", "$k/p=1$"} <= set(residuals)


def test_smoke_figures_say_so_and_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"self_paced\.json"):
        self_paced(tmp_path)
    write(tmp_path / "self_paced.json", self_paced_record("smoke"))
    assert "smoke" in self_paced(tmp_path).get_suptitle()


def test_methods_are_compared_seed_by_seed(folder: Path) -> None:
    """A half and a quarter where nine batches are corrupted; the same where four are."""
    four, nine = against(folder, "synthetic", "huber")
    assert (four.value, four.low, four.high) == (0, 0, 0)
    assert nine.value == pytest.approx(-1.5 * math.log(2))
    assert nine.holds_zero


def test_costs_are_ratios_to_sending_all_and_none_where_a_run_never_ended(folder: Path) -> None:
    """A half and the double cancel."""
    found = cost_ratio(folder, 0.25, "sent_bytes")
    assert found is not None
    assert found.value == pytest.approx(0)
    assert cheapest_density(folder) == 0.25
    record = self_paced_record()
    record["selection"][0]["step_count"] = None
    write(folder / "self_paced.json", record)
    assert cost_ratio(folder, 0.25, "step_count") is None
    record["selection"][0]["sent_bytes"] = None
    write(folder / "self_paced.json", record)
    assert cheapest_density(folder) is None
    assert MACROS["SelfPacedBytes"](folder) == MACROS["SelfPacedDensity"](folder) == "--"


def test_shares_and_violations_are_counted(folder: Path) -> None:
    assert moved_share(folder, "diabetes") == 30 / 200
    assert violations(folder) == 0
    record = self_paced_record()
    record["recovery"][0]["violation_count"] = 2
    write(folder / "self_paced.json", record)
    assert violations(folder) == 2


def test_the_table_has_a_row_for_each_size(folder: Path) -> None:
    table = descent_table(folder)
    assert table.count(r"\\") == 4
    assert r"5 & \ensuremath{0} & \ensuremath{10^{-9}} & \ensuremath{5} & " in table


def test_every_macro_can_be_written(folder: Path) -> None:
    written = {name: plain(macro(folder)) for name, macro in MACROS.items()}
    assert all(written.values())
    assert written["SelfPacedHuberTally"] == "less in none, more in none, inconclusive in 2"
    assert written["SelfPacedPlainRatio"] == "0.25 (0.25 to 0.25)"
    assert written["SelfPacedSlow"] == "2 of 2"
    assert written["SelfPacedUndampedSlow"] == "none of 2"
    assert written["SelfPacedViolations"] == "none"
    assert written["SelfPacedMovedShare"] == "15.0"
    assert written["SelfPacedPrintedRises"] in {"27", "28"}


def test_what_is_missing_is_named(folder: Path) -> None:
    study = result(folder, "self_paced")
    with pytest.raises(ValueError, match="no recovery from 5 corrupted batches of 'synthetic'"):
        recovery_errors(study, "synthetic", 5)
    with pytest.raises(ValueError, match=r"no selection of density 0\.5 with memory 'ef21'"):
        selections(study, 0.5)
