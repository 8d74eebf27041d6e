"""Which inputs do the property tests draw? hypothesis strategies for tensors, counts and exact members of a class.

Kept apart from every assertion, and tested themselves: members are members, and the extremal vector can be drawn.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import torch
from hypothesis import strategies as st
from torch import Tensor

from sparsync.verify.contraction.weights import Weights

RATIO_DENOMINATOR = 64
"""Ratios v_i/w_i are drawn as multiples of 1/RATIO_DENOMINATOR in [0, 1]; the statements are scale-free."""

TIED_VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0)
"""A pool small enough that ties and signed zeros are common."""

_FLOAT_WIDTHS: dict[torch.dtype, Literal[16, 32, 64]] = {
    torch.float64: 64,
    torch.float32: 32,
    # Every bfloat16 value is a float32 value; the draw is rounded to nearest by torch.
    torch.bfloat16: 32,
    torch.float16: 16,
}


def finite_tensors(dtype: torch.dtype, *, min_size: int = 1, max_size: int = 64) -> st.SearchStrategy[Tensor]:
    """Finite 1-D tensors on the CPU: arbitrary floats, tied values, mostly zeros, or subnormals.

    Raises:
        ValueError: dtype is not one of float64, float32, bfloat16, float16.
    """
    if dtype not in _FLOAT_WIDTHS:
        raise ValueError(f"dtype must be one of {list(_FLOAT_WIDTHS)}, got {dtype}")
    zeros = st.one_of(st.just(0.0), st.just(0.0), _floats(dtype))
    elements = (_floats(dtype), st.sampled_from(TIED_VALUES), zeros, _subnormals(dtype))
    lists = st.one_of(*(st.lists(element, min_size=min_size, max_size=max_size) for element in elements))
    return lists.map(lambda values: torch.tensor(values, dtype=torch.float64).to(dtype))


def vectors_with_count(dtype: torch.dtype, *, max_size: int = 64) -> st.SearchStrategy[tuple[Tensor, int]]:
    """Pairs (vector [d], k) with 1 ≤ k ≤ d."""
    return finite_tensors(dtype, max_size=max_size).flatmap(
        lambda vector: st.tuples(st.just(vector), st.integers(1, vector.numel()))
    )


def star_shaped(
    weights: Weights, *, max_dimension: int, min_dimension: int = 1
) -> st.SearchStrategy[tuple[tuple[Fraction, ...], int]]:
    """Pairs (v, k): v_i = r_i w_i with r non-increasing in [0, 1], exact, so that v is in the class.

    Args:
        weights: the class, from `verify/contraction/weights.py`.
        max_dimension: largest d.
        min_dimension: smallest d.
    """
    return st.integers(min_dimension, max_dimension).flatmap(
        lambda dimension: st.tuples(
            _decreasing_ratios(dimension).map(_scaled_by(weights(dimension))), st.integers(1, dimension)
        )
    )


def _floats(dtype: torch.dtype) -> st.SearchStrategy[float]:
    largest = torch.finfo(dtype).max
    return st.floats(min_value=-largest, max_value=largest, width=_FLOAT_WIDTHS[dtype], allow_subnormal=True)


def _subnormals(dtype: torch.dtype) -> st.SearchStrategy[float]:
    """Up to twice the smallest normal number; among arbitrary floats one in thousands is as small."""
    kind = torch.finfo(dtype)
    steps = round(2 / kind.eps)
    return st.integers(-steps, steps).map(lambda count: count * (kind.smallest_normal * kind.eps))


def _decreasing_ratios(dimension: int) -> st.SearchStrategy[list[int]]:
    """Ratios times RATIO_DENOMINATOR: arbitrary, one value throughout (extremal), or few distinct values."""
    arbitrary = st.lists(st.integers(0, RATIO_DENOMINATOR), min_size=dimension, max_size=dimension)
    extremal = st.integers(1, RATIO_DENOMINATOR).map(lambda ratio: [ratio] * dimension)
    top = st.sampled_from((RATIO_DENOMINATOR - 1, RATIO_DENOMINATOR))
    stepped = st.lists(top, min_size=dimension, max_size=dimension)
    return st.one_of(arbitrary, extremal, stepped).map(lambda ratios: sorted(ratios, reverse=True))


def _scaled_by(weights: tuple[int, ...]) -> Callable[[list[int]], tuple[Fraction, ...]]:
    def scale(ratios: list[int]) -> tuple[Fraction, ...]:
        return tuple(Fraction(ratio * w, RATIO_DENOMINATOR) for ratio, w in zip(ratios, weights, strict=True))

    return scale
