"""What is noted of a vector is what a hand computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sparsync.experiments.studies.selection.contraction import tail_ratios
from sparsync.experiments.studies.selection.rank_hypotheses import Finding
from sparsync.experiments.studies.selection.vector_shapes import (
    DENSITIES,
    HISTOGRAM,
    Bins,
    found_over,
    observed,
    relative_errors,
    step_shape,
)


def descending(vector: torch.Tensor) -> np.ndarray[Any, Any]:
    return np.sort(np.abs(vector.numpy()))[::-1]


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
