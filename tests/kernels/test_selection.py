"""What every selector promises, on hard vectors and drawn ones, in every dtype; and what each promises beyond."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import pairwise, product
from statistics import NormalDist

import pytest
import torch
from hypothesis import given, note
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS, new_selector
from sparsync.kernels.band_search import count_band
from sparsync.kernels.magnitude import NonFiniteError, magnitude_bit_width, magnitude_bits, mantissa_bit_width
from sparsync.kernels.reference import gaussian_k_search
from sparsync.kernels.selection import SELECTORS, target_count
from sparsync.verify.contraction.strategies import vectors_with_count
from tests.support.hard_vectors import DTYPES, HARD_VECTORS

NAMES = (*SELECTORS, *ADAPTIVE_SELECTORS)
CASES = [pytest.param(name, dtype, id=f"{name}-{dtype}") for name in HARD_VECTORS for dtype in DTYPES]


def stream() -> torch.Generator:
    return torch.Generator().manual_seed(11)


def targets(dimension: int) -> list[int]:
    """Small, usual, odd, nearly all and all."""
    return sorted(
        {1, min(2, dimension), max(1, dimension // 100), max(1, dimension // 3), max(1, dimension - 1), dimension}
    )


def assert_is_a_selection_of(vector: Tensor, name: str, k: int) -> None:
    payload = new_selector(name)(vector, k, stream())
    rest = payload.remainder(vector)
    assert payload.values.dtype == vector.dtype
    assert payload.indices.dtype == torch.int32
    assert bool((payload.indices.diff() > 0).all())
    assert torch.equal(payload.values, vector[payload.indices.long()])
    rebuilt = payload.dense() + rest
    assert torch.equal(rebuilt.view(torch.uint8), (vector + 0.0).view(torch.uint8))
    assert not bool(((payload.dense() != 0) & (rest != 0)).any())


@pytest.mark.parametrize(("vector_name", "dtype"), CASES)
def test_sent_plus_kept_is_the_corrected_gradient_on_hard_vectors(vector_name: str, dtype: torch.dtype) -> None:
    vector = HARD_VECTORS[vector_name](dtype)
    for name, k in product(NAMES, targets(vector.numel())):
        assert_is_a_selection_of(vector, name, k)


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_sent_plus_kept_is_the_corrected_gradient(dtype: torch.dtype, data: st.DataObject) -> None:
    """Of every selector: to draw a vector takes longer than to select from it."""
    vector, k = data.draw(vectors_with_count(dtype))
    for name in NAMES:
        note(name)
        assert_is_a_selection_of(vector, name, k)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_input_is_refused(name: str, value: float) -> None:
    vector = torch.zeros(8)
    vector[5] = value
    with pytest.raises(NonFiniteError, match="entry 5 is not finite"):
        new_selector(name)(vector, 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [0, -1, 9])
def test_a_count_outside_one_to_d_is_refused(name: str, k: int) -> None:
    with pytest.raises(ValueError, match=f"got {k}"):
        new_selector(name)(torch.ones(8), k)


@pytest.mark.parametrize("name", NAMES)
def test_a_strided_view_selects_as_its_copy(name: str) -> None:
    strided = torch.randn(200, generator=stream())[::2]
    view, copy = (new_selector(name)(vector, 7, stream()) for vector in (strided, strided.clone()))
    assert torch.equal(view.indices, copy.indices)
    assert torch.equal(view.values, copy.values)


@pytest.mark.parametrize("name", NAMES)
def test_selecting_leaves_the_vector_alone(name: str) -> None:
    vector = torch.randn(200, generator=stream())
    before = vector.clone()
    new_selector(name)(vector, 7, stream()).values.zero_()
    assert torch.equal(vector, before)


@given(data=st.data())
@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k_is_the_head_of_a_stable_sort(dtype: torch.dtype, data: st.DataObject) -> None:
    vector, k = data.draw(vectors_with_count(dtype))
    descending = vector.double().abs().sort(descending=True, stable=True).indices
    assert SELECTORS["top_k"](vector, k).indices.tolist() == sorted(descending[:k].tolist())


def test_random_k_draws_every_subset_equally_often() -> None:
    """All 10 pairs of 5, 5,000 draws: chi-square with 9 degrees of freedom stays below 33.7 with chance 0.9999."""
    generator = stream()
    draws = [tuple(SELECTORS["random_k"](torch.ones(5), 2, generator).indices.tolist()) for _ in range(5000)]
    counts = [draws.count(pair) for pair in set(draws)]
    assert len(counts) == 10
    assert sum((count - 500) ** 2 / 500 for count in counts) < 33.7


def test_random_k_without_a_generator_draws_from_torchs_own() -> None:
    torch.manual_seed(5)
    first = SELECTORS["random_k"](torch.ones(100), 10).indices.tolist()
    second = SELECTORS["random_k"](torch.ones(100), 10).indices.tolist()
    torch.manual_seed(5)
    assert SELECTORS["random_k"](torch.ones(100), 10).indices.tolist() == first != second


def gaussian_k_by_inspection(vector: Tensor, k: int) -> list[int]:
    """The definition, read literally, over every threshold that changes a count and the roundest between them."""
    bits = [int(b) for b in magnitude_bits(vector).tolist()]
    low, high = count_band(k)
    if k == len(bits) or sum(b > 0 for b in bits) < low:
        return [i for i, b in enumerate(bits) if b > 0]
    ordered = sorted(bits)
    steps = sorted({0, *bits})
    valid = [
        (below, above) for below, above in pairwise(steps) if low <= len(bits) - bisect_left(ordered, above) <= high
    ]
    if not valid:
        return sorted(sorted(range(len(bits)), key=lambda i: (-bits[i], i))[:k])
    threshold = roundest(valid[0][0] + 1, valid[-1][1])
    return [i for i, b in enumerate(bits) if b >= threshold]


def roundest(low: int, high: int) -> int:
    """The integer of [low, high] with the most trailing zero bits, found from the top bit downwards."""
    for zeros in range(high.bit_length(), -1, -1):
        candidate = (high >> zeros) << zeros
        if candidate >= low:
            return candidate
    raise AssertionError((low, high))


@given(data=st.data())
@pytest.mark.parametrize("dtype", DTYPES)
def test_gaussian_k_is_its_definition(dtype: torch.dtype, data: st.DataObject) -> None:
    vector, k = data.draw(vectors_with_count(dtype))
    assert SELECTORS["gaussian_k"](vector, k).indices.tolist() == gaussian_k_by_inspection(vector, k)


@pytest.mark.parametrize(("vector_name", "dtype"), CASES)
def test_gaussian_k_is_its_definition_on_hard_vectors(vector_name: str, dtype: torch.dtype) -> None:
    vector = HARD_VECTORS[vector_name](dtype)
    for k in targets(vector.numel()):
        assert SELECTORS["gaussian_k"](vector, k).indices.tolist() == gaussian_k_by_inspection(vector, k)


@pytest.mark.parametrize(("vector_name", "dtype"), CASES)
def test_gaussian_k_keeps_its_count_in_the_band_or_all_that_is_not_zero(vector_name: str, dtype: torch.dtype) -> None:
    vector = HARD_VECTORS[vector_name](dtype)
    for k in targets(vector.numel()):
        low, high = count_band(k)
        count = SELECTORS["gaussian_k"](vector, k).count
        non_zero = int(vector.count_nonzero())
        assert low <= count <= high or count == non_zero < low or (k == vector.numel() and count == non_zero)


@given(data=st.data())
@pytest.mark.parametrize("dtype", DTYPES)
def test_where_the_search_starts_never_changes_the_threshold(dtype: torch.dtype, data: st.DataObject) -> None:
    vector, k = data.draw(vectors_with_count(dtype))
    start = data.draw(st.integers(0, 2 ** magnitude_bit_width(dtype) - 1))
    assert gaussian_k_search(vector, k, start).threshold == gaussian_k_search(vector, k).threshold


@given(data=st.data())
@pytest.mark.parametrize(
    ("dtype", "halvings"), [(torch.float16, 15), (torch.bfloat16, 15), (torch.float32, 31), (torch.float64, 63)]
)
def test_any_start_takes_at_most_the_bit_width_plus_the_gallop(
    dtype: torch.dtype, halvings: int, data: st.DataObject
) -> None:
    vector, k = data.draw(vectors_with_count(dtype))
    start = data.draw(st.integers(0, 2**halvings - 1))
    gallop = halvings - (mantissa_bit_width(dtype) - 3) + 1
    assert gaussian_k_search(vector, k, start).evaluation_count <= halvings + gallop


@pytest.mark.parametrize("density", [0.001, 0.01, 0.1])
def test_a_gaussian_vector_takes_few_counts(density: float) -> None:
    """A start at the quantile pays: fewer counts than half of the halvings from the root."""
    vector = torch.randn(100_000, generator=stream())
    k = round(density * vector.numel())
    from_root = gaussian_k_search(vector, k, start_level=magnitude_bit_width(vector.dtype))
    assert 2 * gaussian_k_search(vector, k).evaluation_count < from_root.evaluation_count


def released_by_listing(vector: Tensor, k: int) -> list[int]:
    """The released rule on plain Python floats: six reachable thresholds, strict comparison, last count returned."""
    numbers = [float(x) for x in vector.double()]
    mean = math.fsum(numbers) / len(numbers)
    deviation = math.sqrt(math.fsum((x - mean) * (x - mean) for x in numbers) / (len(numbers) - 1))
    selected: list[int] = []
    threshold = mean - NormalDist().inv_cdf(k / len(numbers) / 2) * deviation
    for _ in range(3):
        selected = [i for i, x in enumerate(numbers) if abs(x) > threshold]
        if len(selected) < 2 * k / 3:
            threshold *= 0.5
        elif len(selected) > 4 * k / 3:
            threshold *= 1.5
        else:
            break
    return selected


@pytest.mark.parametrize("vector_name", HARD_VECTORS)
@pytest.mark.parametrize("density", [0.003, 0.05, 0.5])
def test_released_rule_is_its_listing(vector_name: str, density: float) -> None:
    """In float64, where the threshold needs no rounding; float32 values, so that no sum of squares overflows."""
    vector = HARD_VECTORS[vector_name](torch.float32).double()
    k = max(1, round(density * vector.numel()))
    expected = released_by_listing(vector, k) if vector.numel() > 1 else []
    assert SELECTORS["gaussian_k_released"](vector, k).indices.tolist() == expected


@pytest.mark.parametrize(("small", "small_count", "expected_count"), [(0.13, 50, 2), (0.25, 2, 4)])
def test_released_rule_stops_at_both_ends_of_its_band(small: float, small_count: int, expected_count: int) -> None:
    """k = 3 accepts 2 and 4. Two ones and `small_count` small entries of 1,000: t starts near 0.16 and near 0.14."""
    vector = torch.zeros(1000, dtype=torch.float64)
    vector[:2] = torch.tensor([1.0, -1.0])
    vector[2 : 2 + small_count] = small * (1 - 2 * (torch.arange(small_count) % 2))
    assert SELECTORS["gaussian_k_released"](vector, 3).count == expected_count


@pytest.mark.parametrize(("dtype", "expected_count"), [(torch.float64, 9), (torch.bfloat16, 10)])
def test_released_rule_rounds_its_threshold_to_the_dtype(dtype: torch.dtype, expected_count: int) -> None:
    """k = d makes t the mean, 0.9996: nine ones lie above it, but none above the 1 that bfloat16 rounds it to."""
    vector = torch.tensor([1.0] * 9 + [1 - 2.0**-8], dtype=dtype)
    assert SELECTORS["gaussian_k_released"](vector, 10).count == expected_count


def test_released_rule_selects_nothing_from_one_entry() -> None:
    assert SELECTORS["gaussian_k_released"](torch.tensor([3.0]), 1).count == 0


def test_released_rule_never_recovers_from_a_negative_threshold() -> None:
    """N(−4, 1): mean + z·std is negative, every pass selects everything, and 1.5 times it stays negative."""
    vector = torch.randn(100_000, generator=stream()) - 4.0
    assert SELECTORS["gaussian_k_released"](vector, 100).count == vector.numel()


def test_released_rule_misses_its_band_on_a_uniform_vector_where_ours_does_not() -> None:
    vector = 2 * torch.rand(100_000, generator=stream()) - 1
    low, high = count_band(100)
    assert not low <= SELECTORS["gaussian_k_released"](vector, 100).count <= high
    assert low <= SELECTORS["gaussian_k"](vector, 100).count <= high


@pytest.mark.parametrize(
    ("density", "dimension", "expected"), [(0.001, 199_210, 199), (0.001, 10, 1), (1.0, 7, 7), (0.25, 7, 2), (1, 1, 1)]
)
def test_a_density_stands_for_its_share_of_the_entries_but_at_least_one(
    density: float, dimension: int, expected: int
) -> None:
    assert target_count(density, dimension) == expected


@pytest.mark.parametrize(("density", "dimension", "value"), [(0.0, 5, "0.0"), (1.5, 5, "1.5"), (0.5, 0, "0")])
def test_a_density_or_dimension_out_of_range_is_refused(density: float, dimension: int, value: str) -> None:
    with pytest.raises(ValueError, match=f"got {value}$"):
        target_count(density, dimension)
