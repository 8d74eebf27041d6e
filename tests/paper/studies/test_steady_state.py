"""The figure draws every stream and the gain of training, and the numbers are those of the last window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.studies.steady_state import CONDITIONS, MACROS, STREAMS, steady_state
from sparsync.experiments.studies.training import steady_state as study
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import rewrite, write_results, write_run


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SettledMixture", "5.00"),
        ("DriftLaw", "2.99"),
        ("EqualDriftLaw", "3.00"),
        ("SteadyUpdates", "10"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_the_steady_state_figure_draws_every_stream_of_the_smaller_density(data_folder: Path) -> None:
    left, right = steady_state(data_folder).axes
    for order, look in enumerate(STREAMS.values()):
        assert drawn_line(left, look.title) == ([1, 10], [12.0, 3.0 + order])
    # The laws at density 0.001.
    horizontal = [np.asarray(line.get_ydata(), float) for line in left.get_lines() if line.get_linewidth() < 1]
    assert [ends.tolist() for ends in horizontal] == [[2.99, 2.99], [5.97, 5.97]]
    # Gains 2, 3, 5, 7 at density 0.001, fewer than are smoothed over: one point, their mean, at the last update.
    updates, gains = drawn_line(right, "unit pixels, 0.001")
    assert (updates, gains) == ([4.0], [4.25])
    assert {line.get_label() for line in right.get_lines()} >= {look.title for look in CONDITIONS.values()}


def test_the_gain_of_training_is_the_mean_of_the_seeds(tmp_path: Path) -> None:
    """A mean of 4.25 of one seed and twice as much of the other."""
    folder = write_results(tmp_path / "data")
    write_run(folder, "plain", "top_k", 0.001, 1, delta=[0.004, 0.006, 0.01, 0.014])
    _, gains = drawn_line(steady_state(folder).axes[1], "unit pixels, 0.001")
    assert gains == [pytest.approx((4.25 + 8.5) / 2)]


def test_the_study_and_the_figure_know_the_same_streams() -> None:
    assert list(STREAMS) == list(study.STREAMS)


def test_an_unknown_stream_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "steady_state.json", runs=[{"stream": "laplace", "density": 0.001, "step": [1], "gain": [1.0]}])
    with pytest.raises(ValueError, match="unknown stream 'laplace'"):
        steady_state(folder)
