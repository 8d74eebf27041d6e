"""What the paper prints of the study of densities is what a hand computes; what was not run says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.studies.density_costs import MACROS, NOT_RUN, NOTHING, density_costs
from tests.support.drawing import plain
from tests.support.paper_data import PROVENANCE, write, write_results
from tests.support.studies.density_costs_data import density_costs_record


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LagSeeds", "2"),
        ("LagAgreements", "0 of 2"),
        ("LagFnnSteps", "-1.5"),
        ("LagFnnSaidSteps", "150.0"),
        ("LagFnnSaidLoss", "+0.010"),
        ("LagGptLoss", NOT_RUN),
        ("LagGptSaidLoss", NOT_RUN),
        ("LagResnetSteps", NOT_RUN),
        ("LagStepFnnPlainDense", "0.4"),
        # Of two densities, each 0.02 lower on every seed; and each said to be 0.01 higher.
        ("LagWonThousandth", "1 of 1"),
        ("LagLostThousandth", "0 of 1"),
        ("LagWonDenser", "1 of 1"),
        ("LagLostDenser", "0 of 1"),
        ("LagNothing", "0 of 2"),
        ("LagWrong", "2 of 2"),
        ("LagLongest", "-1.5"),
        ("LagStepFnnHeavyThousandth", "0.1"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_differences_are_paired_by_seed(data_folder: Path) -> None:
    assert plain(MACROS["LagFnnLoss"](data_folder)).startswith("-0.020")
    assert plain(MACROS["LagGainDense"](data_folder)).startswith("-0.090")
    assert plain(MACROS["LagPlainHeavyHundredth"](data_folder)).startswith("+0.090")


def test_a_run_that_diverged_leaves_no_number(tmp_path: Path) -> None:
    record = density_costs_record()
    for row in record["networks"][0]["densities"]:
        row["measured"] = [None, -0.02]
        row["measured_lag"]["point"] = [None, None]
    folder = write_results(tmp_path / "data")
    write(folder / "density_costs.json", record | {"provenance": PROVENANCE})
    assert MACROS["LagFnnLoss"](folder) == NOTHING
    assert MACROS["LagFnnSteps"](folder) == NOTHING
    assert plain(MACROS["LagAgreements"](folder)) == plain(MACROS["LagWrong"](folder)) == "0 of 2"
    assert MACROS["LagLongest"](folder) == NOTHING


def test_the_figure_has_a_curve_for_each_network_that_was_run(data_folder: Path) -> None:
    panels = density_costs(data_folder).axes
    assert len(panels) == 3
    assert panels[0].get_legend_handles_labels()[1] == ["FNN-3"]
    assert [np.asarray(line.get_ydata()).tolist() for line in panels[2].lines] == [[0.4] * 3, pytest.approx([1.0] * 3)]
