"""The selectors that keep nothing, by name. A new one is a function in `reference.py` and a line here.

Those that remember are in `experiments/training/adaptive.py`.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from sparsync.kernels import reference
from sparsync.kernels.chunks import chunked_top_k
from sparsync.kernels.payload import SparsePayload


class Selector(Protocol):
    """A rule that chooses which entries of a corrected gradient are sent."""

    def __call__(self, corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
        """Select from `corrected` [d], with target count k; a random rule draws from `generator`."""
        ...


SELECTORS: dict[str, Selector] = {
    "keep_all": reference.keep_all,
    "top_k": reference.top_k,
    "chunked_top_k": chunked_top_k,
    "random_k": reference.random_k,
    "gaussian_k": reference.gaussian_k,
    "gaussian_k_released": reference.gaussian_k_released,
    "dgc_released": reference.dgc_released,
    "dgc_grace": reference.dgc_grace,
    "sidco_released": reference.sidco_released,
}


def target_count(density: float, dimension: int) -> int:
    """The k of a density k/d: density·d rounded to the nearest count, but at least 1.

    Raises:
        ValueError: density outside (0, 1], or dimension below 1.
    """
    if not 0 < density <= 1:
        raise ValueError(f"density must lie in (0, 1], got {density}")
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}")
    return max(1, round(density * dimension))
