"""Magnitude bits order as magnitudes do, and bad input is refused before anything is selected."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels.magnitude import check_selection_input, magnitude_bit_width, magnitude_bits, mantissa_bit_width

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(first=FINITE, second=FINITE)
def test_float64_bits_order_as_magnitudes_do(first: float, second: float) -> None:
    bits = magnitude_bits(torch.tensor([first, second], dtype=torch.float64))
    assert bool(bits[0] < bits[1]) == (abs(first) < abs(second))
    assert bool(bits[0] == bits[1]) == (abs(first) == abs(second))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sixteen_bit_magnitudes_order_as_their_bits_over_every_finite_value(dtype: torch.dtype) -> None:
    every = torch.arange(2**15, dtype=torch.int16).view(dtype)
    finite = every[every.isfinite()]
    assert bool((finite.double().diff() > 0).all())
    assert torch.equal(magnitude_bits(finite), torch.arange(finite.numel(), dtype=torch.int16))
    assert torch.equal(magnitude_bits(-finite), magnitude_bits(finite))


@pytest.mark.parametrize("dtype", DTYPES)
def test_largest_finite_magnitude_is_below_two_to_the_bit_width(dtype: torch.dtype) -> None:
    largest = magnitude_bits(torch.tensor([torch.finfo(dtype).max], dtype=dtype)).item()
    assert 2 ** (magnitude_bit_width(dtype) - 1) < largest < 2 ** magnitude_bit_width(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_octave_holds_two_to_the_mantissa_width_magnitudes(dtype: torch.dtype) -> None:
    one, two = magnitude_bits(torch.tensor([1.0, 2.0], dtype=dtype)).tolist()
    assert two - one == 2 ** mantissa_bit_width(dtype)


@pytest.mark.parametrize(
    ("vector", "k", "message"),
    [
        ([0.0, 1.0], 1, "a vector, got list"),
        (torch.ones(2).to_sparse(), 1, "a dense vector, got torch.sparse_coo"),
        (torch.zeros(2, 2), 1, r"shape \(2, 2\)"),
        (torch.zeros(3, dtype=torch.int32), 1, "int32"),
        (torch.zeros(3), 0, "got 0"),
        (torch.zeros(3), 4, "d = 3, got 4"),
        (torch.zeros(3), True, "got True"),
        (torch.zeros(3), 1.0, "got 1.0"),
        (torch.zeros(0), 1, "d = 0, got 1"),
        (torch.tensor([0.0, float("nan")]), 1, "entry 1 is not finite: nan"),
        (torch.tensor([-float("inf"), 0.0]), 1, "entry 0 is not finite: -inf"),
    ],
)
def test_bad_input_is_refused_with_the_offending_value(vector: Any, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_selection_input(vector, k)


def test_a_vector_too_long_for_int32_indices_is_refused_without_reading_it() -> None:
    long = torch.empty(1).expand(2**31)
    with pytest.raises(ValueError, match="2147483648 does not fit"):
        check_selection_input(long, 1)
