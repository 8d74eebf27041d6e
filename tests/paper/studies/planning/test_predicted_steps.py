"""Predicted steps are judged on what was not fitted, beside what the rounds themselves leave open."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from paper.results import result
from paper.studies.planning.predicted_steps import STUDY, WANTED, by_network, errors_of, predicted_steps, round_spreads

RECORD = Path("paper/data")


def test_no_point_is_judged_that_was_fitted() -> None:
    fitted = result(RECORD, "links")["model"]
    assert not set(errors_of(RECORD)) & set(fitted["fitted_on"])
    assert sum(map(len, by_network(RECORD).values())) == len(errors_of(RECORD))


def test_predictions_of_every_network_are_within_what_was_wanted_in_the_mean() -> None:
    means = {model: fmean(sizes) for model, sizes in by_network(RECORD).items()}
    assert set(means) == {"fnn3", "resnet20", "gpt"}
    assert max(means.values()) < WANTED


def test_macros_count_what_is_within_and_what_is_not() -> None:
    said = {name: macro(RECORD).replace(r"\ensuremath{", "").replace("}", "") for name, macro in STUDY.macros.items()}
    within, whole = map(int, said["StepsWithin"].split(" of "))
    hooks, far = map(int, said["StepsHooks"].split(" of "))
    assert whole == len(errors_of(RECORD)) == within + far
    assert hooks <= far
    assert float(said["StepsSpread"]) == pytest.approx(100 * fmean(round_spreads(RECORD)), abs=0.05)


def test_the_figure_has_a_dot_for_every_point() -> None:
    axes = predicted_steps(RECORD).axes[0]
    drawn = [line for line in axes.lines if "," in str(line.get_label())]
    assert sum(np.asarray(line.get_xdata()).size for line in drawn) == len(errors_of(RECORD))
