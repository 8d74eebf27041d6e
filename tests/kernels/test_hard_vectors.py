import pytest
import torch

from tests.support.hard_vectors import DIMENSION, DTYPES, HARD_VECTORS, SHORT_DIMENSION

by_name_and_dtype = [
    pytest.param(name, dtype, id=f"{name}-{dtype}".replace("torch.", "")) for name in HARD_VECTORS for dtype in DTYPES
]
by_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@pytest.mark.parametrize(("name", "dtype"), by_name_and_dtype)
def test_every_hard_vector_is_finite_flat_and_of_its_dtype(name: str, dtype: torch.dtype) -> None:
    vector = HARD_VECTORS[name](dtype)
    assert vector.dtype == dtype
    assert vector.dim() == 1
    assert vector.numel() in (1, SHORT_DIMENSION, DIMENSION)
    assert bool(torch.isfinite(vector).all())


@pytest.mark.parametrize(("name", "dtype"), by_name_and_dtype)
def test_hard_vectors_repeat_in_bits_and_share_no_memory(name: str, dtype: torch.dtype) -> None:
    first, second = HARD_VECTORS[name](dtype), HARD_VECTORS[name](dtype)
    assert torch.equal(first, second)
    assert torch.equal(torch.signbit(first), torch.signbit(second))
    assert first.data_ptr() != second.data_ptr()


def test_hard_vectors_leave_the_global_generator_alone() -> None:
    before = torch.random.get_rng_state()
    vectors = [make(torch.float32) for make in HARD_VECTORS.values()]
    assert len(vectors) == len(HARD_VECTORS)
    assert torch.equal(before, torch.random.get_rng_state())


@by_dtype
def test_subnormals_are_subnormal_and_not_flushed(dtype: torch.dtype) -> None:
    vector = HARD_VECTORS["subnormal"](dtype).double()
    assert 0 < float(vector.abs().max()) < torch.finfo(dtype).smallest_normal


@by_dtype
def test_huge_vectors_reach_the_maximum_and_overflow_when_summed(dtype: torch.dtype) -> None:
    vector = HARD_VECTORS["huge"](dtype)
    assert float(vector.abs().max()) == torch.finfo(dtype).max
    assert not bool(torch.isfinite(vector.abs().sum()))


@by_dtype
def test_alternating_signs_hold_a_negative_zero(dtype: torch.dtype) -> None:
    vector = HARD_VECTORS["alternating_signs"](dtype)
    assert torch.signbit(vector[:4]).tolist() == [False, True, False, True]
    assert vector[:2].tolist() == [0.0, 0.0]


@by_dtype
def test_shifted_means_are_shifted_both_ways(dtype: torch.dtype) -> None:
    # The mean of 1009 standard normal draws lies within 0.2 of zero (six standard deviations).
    assert abs(float(HARD_VECTORS["shifted_mean"](dtype).double().mean()) - 4.0) < 0.2
    assert abs(float(HARD_VECTORS["negative_shifted_mean"](dtype).double().mean()) + 4.0) < 0.2


@by_dtype
def test_ties_and_zeros_are_plenty(dtype: torch.dtype) -> None:
    assert HARD_VECTORS["ties"](dtype).abs().unique().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert int(HARD_VECTORS["mostly_zeros"](dtype).count_nonzero()) == 5
    assert int(HARD_VECTORS["all_zeros"](dtype).count_nonzero()) == 0
    assert HARD_VECTORS["constant"](dtype).unique().numel() == 1


@by_dtype
def test_one_spike_holds_nearly_all_the_energy(dtype: torch.dtype) -> None:
    magnitudes = HARD_VECTORS["one_spike"](dtype).double().abs().sort(descending=True).values
    assert float(magnitudes[0]) == 1000.0
    assert float(magnitudes[1]) < 0.01
