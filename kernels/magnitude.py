"""Magnitudes as integers: the bits of |u_i| without the sign, which order exactly as |u_i| does.

IEEE 754 formats store exponent before mantissa, so for finite values |a| < |b| iff bits(|a|) < bits(|b|).
Counting and bisecting on these integers is exact in every dtype, subnormals included.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sparsync.kernels.given_numbers import shown

# For each dtype: the integer dtype of the same width, and the number of mantissa bits.
_FORMATS = {
    torch.float16: (torch.int16, 10),
    torch.bfloat16: (torch.int16, 7),
    torch.float32: (torch.int32, 23),
    torch.float64: (torch.int64, 52),
}
_LARGEST_DIMENSION = 2**31 - 1


class NonFiniteError(ValueError):
    """An entry is NaN or infinite: nothing is wrong with the call but the numbers."""


def check_selection_input(corrected: Tensor, k: int) -> None:
    """Check what every selector is given.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64, all entries finite, d < 2³¹ (indices are int32).
        k: target count, 1 ≤ k ≤ d.

    Raises:
        NonFiniteError: an entry is not finite.
        ValueError: another of these does not hold.
    """
    if not isinstance(corrected, Tensor):
        raise ValueError(f"expected a vector, got {type(corrected).__name__}")
    if corrected.layout != torch.strided:
        raise ValueError(f"expected a dense vector, got {corrected.layout}")
    if corrected.ndim != 1:
        raise ValueError(f"expected a vector, got shape {tuple(corrected.shape)}")
    if corrected.dtype not in _FORMATS:
        raise ValueError(f"expected float16, bfloat16, float32 or float64, got {corrected.dtype}")
    dimension = corrected.numel()
    if dimension > _LARGEST_DIMENSION:
        raise ValueError(f"d = {dimension} does not fit int32 indices")
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= dimension:
        raise ValueError(f"k must be an int with 1 <= k <= d = {dimension}, got {shown(k)}")
    if not is_finite(corrected):
        first = int((~corrected.isfinite()).nonzero()[0])
        raise NonFiniteError(f"entry {first} is not finite: {corrected[first].item()}")


def is_finite(vector: Tensor) -> bool:
    """Whether no entry of a vector [d], d ≥ 1, is NaN or infinite; `amax` passes NaN on, and reads the vector once."""
    return bool(vector.abs().amax().isfinite())


def magnitude_bits(vector: Tensor) -> Tensor:
    """The bits of |u_i| read as integers, [d], in the integer dtype of the same width; order-preserving."""
    integer_dtype, _ = _FORMATS[vector.dtype]
    # Of a negated view memory holds the opposite.
    return vector.resolve_neg().view(integer_dtype) & torch.iinfo(integer_dtype).max


def magnitude_bit_width(dtype: torch.dtype) -> int:
    """The number b of bits in a magnitude, so that every magnitude is below 2^b: 15, 31 or 63."""
    return torch.iinfo(_FORMATS[dtype][0]).bits - 1


def mantissa_bit_width(dtype: torch.dtype) -> int:
    """The number of stored mantissa bits: 2 to this power consecutive magnitudes make an octave."""
    return _FORMATS[dtype][1]
