"""The figure draws shrinkage, and the slack is that of the slowest step."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.studies.quadratics import STUDY, smallest_slack, tight_rate
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import write, write_results


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("QuadraticSlack", "10.0"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(STUDY.macros[name](data_folder)) == text


def test_the_rate_figure_draws_shrinkage_not_factors(data_folder: Path) -> None:
    left = tight_rate(data_folder).axes[0]
    assert drawn_line(left, "tight worst case")[0] == [1, 50]
    assert drawn_line(left, "tight worst case")[1] == pytest.approx([0.01, 0.5])
    assert drawn_line(left, "Top-$k$, slowest step")[1] == pytest.approx([0.011, 0.55])


def test_the_slack_is_that_of_the_selectors_slowest_step(tmp_path: Path) -> None:
    """Shrinkages of 0.12, 0.11 and, by another selector, 0.05 where the rate says 0.1."""
    shrinkages = (("top_k", 0.12), ("top_k", 0.11), ("random_k", 0.05))
    cases = [{"selector": name, "tight_rate": 0.9, "largest_factor": 1 - share} for name, share in shrinkages]
    write(tmp_path / "quadratics.json", {"cases": cases})
    assert smallest_slack(tmp_path, "top_k") == pytest.approx(0.1)
