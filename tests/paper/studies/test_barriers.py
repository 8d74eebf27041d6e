"""The figure of leads and planned barriers shows what the files say, and the text's numbers are those of the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from paper.results import result
from paper.studies.barriers import MACROS, dssp_leads, planned_barriers, printed_shares, span_exponent, timing_rows
from paper.style import paper_style
from tests.support.drawing import drawn_lines, macro_number
from tests.support.paper_data import rewrite
from tests.support.studies.barrier_data import write_barrier_results


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_barrier_results(tmp_path_factory.mktemp("paper") / "data")


def test_leads_are_drawn_by_ratio_at_the_last_horizon(data_folder: Path) -> None:
    with paper_style():
        (left,) = dssp_leads(data_folder).axes
    assert drawn_lines(left, "printed") == [[[1.0, 1.0], [1.5, 40.0], [4.0, 398.0]]]
    assert drawn_lines(left, "capped") == [[[1.0, 1.0], [1.5, 14.0], [4.0, 13.0]]]
    assert [text.get_text() for text in left.texts] == ["100 steps", "400 steps", "$s_U=15$"]


def test_seconds_and_spreads_are_drawn_as_measured(data_folder: Path) -> None:
    with paper_style():
        left, right = planned_barriers(data_folder).axes
    (sweep,), (scan,) = drawn_lines(left, "sweep"), drawn_lines(left, "scan")
    assert sweep == pytest.approx(np.array([[10, 5e-4], [100, 5e-3]]))
    assert scan == pytest.approx(np.array([[10, 2.5e-2]]))
    spreads, bounds = right.get_lines()[-2:]
    assert spreads.get_ydata() == pytest.approx([4 ** (-1 / 3), 16 ** (-1 / 3), 1 / 4])
    # No bound is drawn where the statement says nothing.
    assert np.asarray(bounds.get_xdata()).tolist() == [16, 64]
    assert bounds.get_ydata() == pytest.approx([2 * 16 ** (-1 / 3), 1 / 2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LeadRatios", 3),
        ("LeadCapped", 15),
        ("LeadPrintedSmallestShare", 80),
        ("LeadPrintedLargestShare", 99.5),
        ("LeadPrintedLargest", 398),
        ("LeadNearRatio", 1.5),
        ("LeadNearFree", 50),
        ("LeadExponentialFirstPrinted", 8),
        ("LeadParetoLastFree", 68),
        ("ZiplineSolved", 299),
        ("ZiplineInstances", 300),
        ("ZiplineUnguardedTied", 41),
        ("ZiplineWorkers", 100),
        ("ZiplineScannedWorkers", 10),
        ("ZiplineMilliseconds", 5),
        ("ZiplinePrintedWorkerExponent", 2),
        ("ZiplineScanRatio", 50),
        ("ZiplineShareFour", 0.5),
        ("ZiplineExponentTwo", -1),
        ("ZiplineExponentThree", -0.5),
    ],
)
def test_numbers_about_planned_barriers_and_leads_are_those_of_the_files(
    name: str, value: float, data_folder: Path
) -> None:
    assert macro_number(MACROS[name](data_folder)) == value


def test_shares_leave_out_equal_speeds(data_folder: Path) -> None:
    assert printed_shares(data_folder) == {1.5: 0.8, 4.0: 0.995}


def test_the_exponent_of_four_workers_is_a_third(data_folder: Path) -> None:
    assert span_exponent(data_folder, 4) == pytest.approx(-1 / 3)


@pytest.mark.parametrize("draw", [dssp_leads, planned_barriers])
def test_smoke_results_say_so(draw: Callable[[Path], Figure], tmp_path: Path) -> None:
    with paper_style():
        figure = draw(write_barrier_results(tmp_path, profile="smoke"))
    assert "smoke" in figure.get_suptitle()


def test_what_a_file_lacks_is_named(tmp_path: Path) -> None:
    folder = write_barrier_results(tmp_path)
    rewrite(folder / "planned_barriers.json", timings=[])
    with pytest.raises(ValueError, match=r"planned_barriers\.json: no timing of the planner 'scan'"):
        timing_rows(result(folder, "planned_barriers"), "scan")
    (folder / "dssp_leads.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"dssp_leads\.json is missing"):
        dssp_leads(folder)
