"""The phase diagram shows the largest bound that each law keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.studies.phases import phases, rung
from tests.support.paper_data import write_results


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, 1), (1.99, 1), (2.0, 2), (2.99, 2), (3 - 1e-13, 3), (40, 3)])
def test_a_law_is_in_the_class_of_the_largest_bound_it_keeps(exponent: float, expected: int) -> None:
    assert rung(exponent) == expected


def test_the_phase_diagram_shows_laws_across_and_densities_upwards(data_folder: Path) -> None:
    left = phases(data_folder).axes[0]
    assert np.asarray(left.collections[0].get_array(), float).tolist() == [[3.0, 1.0], [3.0, 2.0]]
