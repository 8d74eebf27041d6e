"""The study looks at the vectors that Top-k selects from, and what it notes of them is what a hand computes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.selection import gradient_laws
from sparsync.experiments.studies.selection.contraction import tail_ratios
from sparsync.experiments.studies.selection.gradient_laws import (
    DENSITIES,
    DENSITY,
    HISTOGRAM,
    KINDS,
    SIZES,
    Bins,
    Case,
    found_over,
    observed,
    observed_steps,
    relative_errors,
    rounded,
    run_case,
    step_shape,
)
from sparsync.experiments.studies.selection.rank_hypotheses import Finding
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.models import IMAGE_MODELS, TEXT_MODELS, VECTOR_MODELS
from sparsync.verify.tools.pool import Pool

(SMALL,) = SIZES["smoke"]
SMALL = replace(SMALL, model="fnn2", steps=2)
DIMENSION = 25_450


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(gradient_laws.SIZES, "smoke", (SMALL,))
        return gradient_laws.run_gradient_laws("smoke", Pool())


def descending(vector: torch.Tensor) -> np.ndarray[Any, Any]:
    return np.sort(np.abs(vector.numpy()))[::-1]


def test_both_kinds_of_run_begin_alike_and_feedback_makes_them_differ(study: dict[str, Any]) -> None:
    dense, top_k = study["runs"]
    assert [run["kind"] for run in study["runs"]] == list(KINDS)
    first, last = ([run["observations"][place] for run in (dense, top_k)] for place in (0, -1))
    assert first[0] == first[1]
    assert last[1]["deviation"] > last[0]["deviation"]


def test_the_record_is_small_json(study: dict[str, Any]) -> None:
    text = json.dumps(study, allow_nan=False)
    runs_of_the_record = len(SIZES["record"]) * len(KINDS)
    # Of eight observations here are two, and of a series of 200 points as many.
    assert len(text) / len(KINDS) * 5 * runs_of_the_record < 3e6


def test_gains_are_those_that_training_itself_measures() -> None:
    """Of the first worker, at every update; the run is trained again."""
    measured: list[TrainingResult] = []

    def keep(*arguments: Any, **settings: Any) -> TrainingResult:
        measured.append(simulate(*arguments, **settings))
        return measured[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradient_laws, "simulate", keep)
        found = run_case(Case(SMALL, "top_k"))
    count = round(DENSITY * DIMENSION)
    # Six digits are kept.
    expected = [facts.deltas[0] * DIMENSION / count for facts in measured[0].steps]
    assert found["series"]["gain"] == pytest.approx(expected, rel=1e-5)
    assert found["late_gain"] == pytest.approx(expected[-1], rel=1e-5)


def test_a_profile_without_the_study_has_no_runs() -> None:
    assert gradient_laws.case_count("quick") == 0
    assert gradient_laws.run_gradient_laws("quick", Pool())["runs"] == []


def test_the_record_has_the_six_models_each_with_and_without_feedback() -> None:
    names = [setup.model for setup in SIZES["record"]]
    assert names == ["fnn3", "lenet5", "resnet20", "vgg16", "lstm", "gpt"]
    assert set(names) <= {*VECTOR_MODELS, *IMAGE_MODELS, *TEXT_MODELS}
    assert gradient_laws.case_count("record") == 12


def test_a_vector_is_noted_as_a_hand_does_it() -> None:
    vector = torch.zeros(4000)
    vector[:4], vector[4:8] = torch.tensor([4.0, -3.0, 2.0, 1.0]), 0.5
    shape = step_shape(7, vector, descending(vector))
    energy, mean = 16 + 9 + 4 + 1 + 4 * 0.25, (4 - 3 + 2 + 1 + 4 * 0.5) / 4000
    deviation = math.sqrt(energy / 4000 - mean**2)
    assert (shape.step, shape.largest) == (7, 4.0)
    assert shape.gain == pytest.approx((16 + 9 + 4 + 1) / energy * 1000)
    assert shape.deviation == pytest.approx(deviation)
    # Eight entries lie beyond 3.29 deviations, 0.29; k is four.
    assert 3.29 * deviation < 0.5
    assert shape.gaussian_count_ratio == 2


def test_a_normal_vector_has_as_many_entries_beyond_its_threshold_as_asked() -> None:
    vector = (
        5
        + 0 * torch.randn(1, generator=torch.Generator().manual_seed(0)).item()
        - 5
        + torch.randn(400_000, generator=torch.Generator().manual_seed(1))
    )
    # 400 are asked for: six deviations are 120.
    assert step_shape(1, vector, descending(vector)).gaussian_count_ratio == pytest.approx(1, abs=0.3)


def test_a_zero_vector_has_no_contraction() -> None:
    with pytest.raises(ValueError, match=r"step 3: .* zero vector"):
        step_shape(3, torch.zeros(1000), np.zeros(1000, dtype=np.float32))


def test_relative_errors_are_those_of_the_study_of_contraction() -> None:
    vector = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    counts = [1, 10, 999, 1000]
    assert relative_errors(descending(vector), counts) == pytest.approx(tail_ratios(vector, counts), rel=1e-12)


def test_an_observation_counts_zeros_apart_and_every_other_entry_once() -> None:
    vector = torch.randn(20_000, generator=torch.Generator().manual_seed(0))
    vector[::4] = 0
    deviation = float(vector.std())
    found = observed(1, vector, descending(vector), deviation, torch.Generator().manual_seed(0))
    assert found["zero_share"] == pytest.approx(0.25)
    # Nothing lies beyond eight deviations, nor below a millionth of one but for a chance of one in a hundred.
    assert sum(found["histogram"]) == pytest.approx(1)
    assert sum(found["magnitude_histogram"]) == pytest.approx(0.75, abs=1e-4)
    assert len(found["relative_error"]) == len(DENSITIES)
    assert found["best_law"] in found["laws"]


def test_bins_hold_what_lies_between_their_edges() -> None:
    bins = Bins(4, -2.0, 2.0)
    assert bins.edges() == [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert bins.shares(np.array([-3.0, -1.5, 0.5, 0.75, 5.0]), 10) == [0.1, 0.0, 0.2, 0.0]
    assert len(HISTOGRAM.edges()) == HISTOGRAM.count + 1


def test_shares_count_updates_and_rises_are_ordered() -> None:
    findings = [
        Finding(True, True, 1.0),
        Finding(False, True, 1.5),
        Finding(False, False, 4.0),
        Finding(False, True, 2.0),
    ]
    assert found_over(findings) == {"share": 0.75, "strict_share": 0.25, "median_rise": 2.0, "largest_rise": 4.0}


@pytest.mark.parametrize("steps", [1, 5, 100, 4000])
def test_observations_are_ever_farther_apart_from_the_first_to_the_last(steps: int) -> None:
    found = observed_steps(steps)
    assert (found[0], found[-1], len(found) <= 8) == (1, steps, True)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert gaps == sorted(gaps)


def test_six_digits_are_kept_and_whole_numbers_are_left_alone() -> None:
    assert rounded({"a": [1 / 3, 123456789, None], "b": "x"}) == {"a": [0.333333, 123456789, None], "b": "x"}
