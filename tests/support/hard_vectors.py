"""Which vectors break selectors? A fixed list of hard ones for every dtype; tests run over the whole dict.

Deterministic: each random vector draws from its own generator, and is drawn in float64 before it is rounded to the
dtype. No vector holds NaN or infinity; those are invalid input and tested as such. Ours.
"""

from collections.abc import Callable

import torch
from torch import Tensor

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
"""The dtypes every hard vector exists in."""

SEED = 20191119
"""Seed of every generator here."""

DIMENSION = 1009
"""Length of the long vectors: a prime, so that no block size divides it."""
SHORT_DIMENSION = 37


def gaussian(dtype: torch.dtype) -> Tensor:
    """Standard normal coordinates, the law that Gaussian-k assumes: [DIMENSION]."""
    return _normal(DIMENSION).to(dtype)


def uniform(dtype: torch.dtype) -> Tensor:
    """Uniform coordinates on [−1, 1), the extremal bell shape: [DIMENSION]."""
    return (2.0 * torch.rand(DIMENSION, generator=_generator(), dtype=torch.float64) - 1.0).to(dtype)


def ties(dtype: torch.dtype) -> Tensor:
    """Magnitudes 0, 1, 2 and 3 only, both signs, in random order: large tied blocks at every cut. [DIMENSION]."""
    return torch.randint(-3, 4, (DIMENSION,), generator=_generator()).to(dtype)


def constant(dtype: torch.dtype) -> Tensor:
    """Every coordinate 1.5: zero standard deviation, all tied. [SHORT_DIMENSION]."""
    return torch.full((SHORT_DIMENSION,), 1.5, dtype=dtype)


def all_zeros(dtype: torch.dtype) -> Tensor:
    """Every coordinate +0: nothing to select by magnitude. [SHORT_DIMENSION]."""
    return torch.zeros(SHORT_DIMENSION, dtype=dtype)


def mostly_zeros(dtype: torch.dtype) -> Tensor:
    """Five non-zero coordinates: fewer than k for most densities. [DIMENSION]."""
    vector = torch.zeros(DIMENSION, dtype=dtype)
    vector[torch.tensor([0, 17, 500, 501, DIMENSION - 1])] = torch.tensor([1.0, -2.0, 0.5, 0.5, 3.0], dtype=dtype)
    return vector


def one_spike(dtype: torch.dtype) -> Tensor:
    """Tiny noise and one coordinate about 10⁶ times larger: the standard deviation describes nobody. [DIMENSION]."""
    vector = 1e-3 * _normal(DIMENSION)
    vector[123] = -1000.0
    return vector.to(dtype)


def heavy_tail(dtype: torch.dtype) -> Tensor:
    """Cauchy coordinates, clipped to the dtype's finite range: no second moment. [DIMENSION]."""
    angle = torch.pi * (torch.rand(DIMENSION, generator=_generator(), dtype=torch.float64) - 0.5)
    largest = torch.finfo(dtype).max
    return torch.tan(angle).clamp(-largest, largest).to(dtype)


def shifted_mean(dtype: torch.dtype) -> Tensor:
    """Normal coordinates around +4: a two-sided quantile around zero is wrong. [DIMENSION]."""
    return (_normal(DIMENSION) + 4.0).to(dtype)


def negative_shifted_mean(dtype: torch.dtype) -> Tensor:
    """Normal coordinates around −4: mean plus z standard deviations is a negative threshold. [DIMENSION]."""
    return (_normal(DIMENSION) - 4.0).to(dtype)


def bimodal(dtype: torch.dtype) -> Tensor:
    """±1 with normal noise of standard deviation 0.1: no mass near zero. [DIMENSION]."""
    signs = 1.0 - 2.0 * (torch.arange(DIMENSION, dtype=torch.float64) % 2)
    return (signs + 0.1 * _normal(DIMENSION)).to(dtype)


def alternating_signs(dtype: torch.dtype) -> Tensor:
    """Growing magnitudes with alternating signs, starting +0, −0: [SHORT_DIMENSION]."""
    ranks = torch.arange(SHORT_DIMENSION)
    magnitudes = (ranks // 2).to(dtype)
    return torch.where(ranks % 2 == 0, magnitudes, -magnitudes)


def subnormal(dtype: torch.dtype) -> Tensor:
    """Multiples of the smallest subnormal, all below the smallest normal number: squares vanish. [SHORT_DIMENSION]."""
    step = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    multiples = torch.arange(SHORT_DIMENSION, dtype=torch.float64) % 5 - 2.0
    return (multiples * step).to(dtype)


def huge(dtype: torch.dtype) -> Tensor:
    """Finite coordinates between half the dtype's maximum and the maximum: squares and sums overflow. [DIMENSION]."""
    largest = torch.finfo(dtype).max
    share = 0.5 + 0.5 * torch.rand(DIMENSION, generator=_generator(), dtype=torch.float64)
    signs = 1.0 - 2.0 * (torch.arange(DIMENSION, dtype=torch.float64) % 2)
    vector = (signs * share * largest).to(dtype)
    vector[0] = largest
    return vector


def single_element(dtype: torch.dtype) -> Tensor:
    """One coordinate, −2: no standard deviation exists. [1]."""
    return torch.tensor([-2.0], dtype=dtype)


HARD_VECTORS: dict[str, Callable[[torch.dtype], Tensor]] = {
    "gaussian": gaussian,
    "uniform": uniform,
    "ties": ties,
    "constant": constant,
    "all_zeros": all_zeros,
    "mostly_zeros": mostly_zeros,
    "one_spike": one_spike,
    "heavy_tail": heavy_tail,
    "shifted_mean": shifted_mean,
    "negative_shifted_mean": negative_shifted_mean,
    "bimodal": bimodal,
    "alternating_signs": alternating_signs,
    "subnormal": subnormal,
    "huge": huge,
    "single_element": single_element,
}
"""Every hard vector by name; a value takes a dtype of `DTYPES` and returns a fresh 1-D tensor on the CPU."""


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)


def _normal(dimension: int) -> Tensor:
    return torch.randn(dimension, generator=_generator(), dtype=torch.float64)
