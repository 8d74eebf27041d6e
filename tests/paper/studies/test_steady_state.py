"""The figure draws every stream and the gain of training, and the numbers are those of the last window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.studies.steady_state import MACROS, STREAMS, TRAINED, steady_state
from sparsync.experiments.studies.training import steady_state as study
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import rewrite, write_results


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
    # Of two seeds, 10 and 10 up to the first evaluation, 6 and 7 from there to the second.
    assert drawn_line(right, "FNN-3, 0.001") == ([300, 600], [10.0, 6.5])
    assert {line.get_label() for line in right.get_lines()} >= {look.title for look in TRAINED.values()}


def test_a_training_run_that_there_is_not_is_not_drawn(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    (folder / "convergence_gpt.json").unlink()
    labels = [line.get_label() for line in steady_state(folder).axes[1].get_lines()]
    assert "FNN-3, 0.001" in labels
    assert "GPT, AdamW, 0.001" not in labels


def test_the_study_and_the_figure_know_the_same_streams() -> None:
    assert list(STREAMS) == list(study.STREAMS)


def test_an_unknown_stream_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "steady_state.json", runs=[{"stream": "laplace", "density": 0.001, "step": [1], "gain": [1.0]}])
    with pytest.raises(ValueError, match="unknown stream 'laplace'"):
        steady_state(folder)
