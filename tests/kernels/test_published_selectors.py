"""What the threshold rules of other released programs do: their counts, worked by hand or known from a law."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels.reference import dgc_stride, sidco_indices
from sparsync.kernels.selection import SELECTORS
from sparsync.verify.contraction.strategies import vectors_with_count
from tests.support.hard_vectors import DTYPES


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def exponential_magnitudes(dimension: int) -> torch.Tensor:
    """The quantiles of an exponential law with alternating signs."""
    ranks = torch.arange(dimension, dtype=torch.float64)
    return -torch.log((ranks + 0.5) / dimension) * (1 - 2 * (ranks % 2))


@given(data=st.data())
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_sampled_threshold_sends_at_most_k(dtype: torch.dtype, data: st.DataObject) -> None:
    vector, k = data.draw(vectors_with_count(dtype))
    assert SELECTORS["dgc_released"](vector, k, stream()).count <= k


@given(dimension=st.integers(1, 10**9), data=st.data())
def test_the_sample_has_at_least_a_hundredth_of_the_entries_and_two_of_those_asked_for(
    dimension: int, data: st.DataObject
) -> None:
    """Unless that is more than there are: then it is the whole vector."""
    k = data.draw(st.integers(1, dimension))
    stride = dgc_stride(dimension, k)
    sample_count = dimension // stride
    assert stride >= 1
    assert stride == 1 or (100 * sample_count >= dimension and sample_count * k >= 2 * dimension)


@pytest.mark.parametrize(
    ("dimension", "k", "stride"), [(2, 1, 1), (2000, 20, 9), (50_000, 50, 25), (10**6, 1000, 97), (10**6, 10**5, 97)]
)
def test_entries_of_the_sample_lie_as_far_apart_as_in_the_released_program(dimension: int, k: int, stride: int) -> None:
    """As far as that program puts them when it runs."""
    assert dgc_stride(dimension, k) == stride


@pytest.mark.parametrize("law", ["normal", "uniform", "exponential"])
@pytest.mark.parametrize("density", [0.001, 0.01, 0.1])
def test_the_sampled_threshold_sends_between_four_fifths_of_k_and_k_of_usual_vectors(law: str, density: float) -> None:
    dimension = 50_000
    draws = {
        "normal": torch.randn(dimension, generator=stream(1)),
        "uniform": torch.rand(dimension, generator=stream(1)),
        "exponential": exponential_magnitudes(dimension)[torch.randperm(dimension, generator=stream(1))],
    }
    k = round(density * dimension)
    counts = [SELECTORS["dgc_released"](draws[law], k, stream(seed)).count for seed in range(20)]
    assert 4 * k / 5 <= min(counts)
    assert max(counts) <= k


def test_the_sampled_threshold_guarantees_no_count() -> None:
    """Half of k entries are large, and a sample that begins at 0 holds all of them: ten steps of 0.8 stay above 0.1."""
    dimension, k = 2000, 20
    stride = dgc_stride(dimension, k)
    vector = torch.full((dimension,), 0.1)
    vector[: 10 * stride : stride] = 1.0
    counts = {SELECTORS["dgc_released"](vector, k, stream(seed)).count for seed in range(200)}
    assert counts == {10, 20}


def test_the_sampled_threshold_may_leave_the_largest_behind() -> None:
    """Three entries reach the second largest of 1, 1, 5, and the first two are sent."""
    assert SELECTORS["dgc_released"](torch.tensor([1.0, 1.0, 5.0]), 2).indices.tolist() == [0, 1]


def test_of_far_too_many_the_sampled_threshold_sends_the_largest() -> None:
    """Equal magnitudes but for ten: the threshold lets all pass, and the k largest of them go, ties by index."""
    vector = torch.ones(2000)
    vector[100:110] = 7.0
    expected = [*range(10), *range(100, 110)]
    assert SELECTORS["dgc_released"](vector, 20, stream()).indices.tolist() == expected


def test_equal_magnitudes_make_the_threshold_of_grace_jump_over_the_range_ten_times() -> None:
    """1 lets all pass, 1.3 none, 0.91 all, …; the tenth threshold is 1.3⁶·0.7⁴ = 1.16, above every entry."""
    assert 1.3**6 * 0.7**4 > 1
    assert SELECTORS["dgc_grace"](torch.ones(1000), 10, stream()).count == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_of_grace_ends_in_its_range_on_a_normal_vector(seed: int) -> None:
    """Where ten steps reach the range: at density 0.1 a step changes the count by less than the range is wide."""
    vector = torch.randn(50_000, generator=stream(seed))
    assert 0.7 <= SELECTORS["dgc_grace"](vector, 5000, stream(seed)).count / 5000 <= 1.3


@pytest.mark.parametrize("seed", range(10))
def test_the_threshold_of_grace_moves_up_and_down_until_it_is_in_its_range(seed: int) -> None:
    """60, 40 and 900 equal entries, k = 100: whatever the sample says, at most one step lets the first 100 pass."""
    vector = torch.tensor([1.0] * 60 + [0.75] * 40 + [0.01] * 900)
    assert SELECTORS["dgc_grace"](vector, 100, stream(seed)).indices.tolist() == list(range(100))


def test_the_threshold_of_grace_is_the_samples_at_the_same_density() -> None:
    """Of 1 to 20,000, k = 1000: a tenth of 200 largest exceeds about 1000, give or take 300; no step mends another."""
    vector = torch.arange(1.0, 20_001)
    counts = [SELECTORS["dgc_grace"](vector, 1000, stream(seed)).count for seed in range(50)]
    assert sum(700 <= count <= 1300 for count in counts) >= 25


@pytest.mark.parametrize("stage_count", [1, 2, 3, 5])
@pytest.mark.parametrize("density", [0.002, 0.02, 0.2])
def test_the_exponential_fit_is_right_for_exponential_magnitudes(stage_count: int, density: float) -> None:
    """In any number of stages, up to what 20,000 quantiles miss of the law's mean: the excess is exponential again."""
    vector = exponential_magnitudes(20_000)
    k = round(density * 20_000)
    assert len(sidco_indices(vector, k, stage_count)) == pytest.approx(k, rel=0.03)


def test_one_stage_of_the_exponential_fit_by_hand() -> None:
    """Mean 2, k/d = 1/5: t = 2 ln 5 = 3.2. The second stage: above 2 ln 4 = 2.8 lie 3 and 5, so t = 3 + ln 1.25."""
    vector = torch.tensor([1.0, -1.0, 3.0, 0.0, -5.0])
    assert sidco_indices(vector, 1, 1).tolist() == [4]
    assert sidco_indices(vector, 1, 2).tolist() == [4]
    assert math.log(1.25) < 2
    assert sidco_indices(torch.tensor([1.0, -1.0, 3.0, 0.0, 3.2]), 1, 2).tolist() == [4]
    assert sidco_indices(torch.tensor([1.0, -1.0, 3.0, 0.0, 3.2]), 1, 1).tolist() == [2, 4]


def test_two_stages_of_the_exponential_fit_above_density_a_quarter_by_hand() -> None:
    """Mean 2.5, k/d = 1/2: the first stage aims at half, t = 2.5 ln 2 = 1.73; the second at 2 of it, t = 2 − ln 2."""
    assert sidco_indices(torch.tensor([1.0, -2.0, 3.0, -4.0]), 2, 2).tolist() == [1, 2, 3]
    assert sidco_indices(torch.tensor([1.0, -1.3, 3.0, -4.7]), 2, 2).tolist() == [2, 3]
    assert sidco_indices(torch.tensor([1.4, -2.0, 3.0, -4.0]), 2, 2).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("density", [0.001, 0.01])
def test_two_stages_of_the_exponential_fit_send_nothing_of_a_uniform_vector(density: float) -> None:
    vector = torch.rand(100_000, generator=stream())
    assert SELECTORS["sidco_released"](vector, round(density * 100_000)).count == 0


def test_the_exponential_fit_has_two_stages_below_density_a_tenth() -> None:
    vector = torch.randn(1000, generator=stream())
    for k, stage_count in ((99, 2), (100, 1)):
        found = SELECTORS["sidco_released"](vector, k).indices.tolist()
        assert found == sidco_indices(vector, k, stage_count).tolist()
        assert found != sidco_indices(vector, k, 3 - stage_count).tolist()


def test_the_exponential_fit_does_not_depend_on_the_scale() -> None:
    vector = torch.randn(5000, generator=stream())
    assert sidco_indices(vector, 500, 1).tolist() == sidco_indices(1024 * vector, 500, 1).tolist()
