"""What a worker sends: the selected entries of its corrected gradient, with their positions.

A payload may hold any number m of entries, none included; nothing downstream may assume m = k.
It follows `SELECTORS[name](corrected, k)` and precedes the collective.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SparsePayload:
    """The m entries that a selector kept of a vector of length d.

    Args:
        values: [m], the kept entries, in the dtype of the vector they came from.
        indices: [m] int32, their positions, unique and ascending.
        dimension: d, the length of that vector.

    Raises:
        ValueError: the two tensors are not vectors of one length, `indices` is not int32, the devices
            differ, or m > d. The order and range of `indices` are the selector's promise; reading them here
            would stall a GPU on every step.
    """

    values: Tensor
    indices: Tensor
    dimension: int

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.shape != self.indices.shape:
            raise ValueError(
                "values and indices must be vectors of one length, got shapes "
                f"{tuple(self.values.shape)} and {tuple(self.indices.shape)}"
            )
        if self.indices.dtype != torch.int32:
            raise ValueError(f"indices must be int32, got {self.indices.dtype}")
        if self.values.device != self.indices.device:
            raise ValueError(f"values are on {self.values.device}, indices on {self.indices.device}")
        if self.count > self.dimension:
            raise ValueError(f"{self.count} entries do not fit a vector of length {self.dimension}")

    @property
    def count(self) -> int:
        """The number m of entries."""
        return self.values.numel()

    @property
    def size_bytes(self) -> int:
        """Bytes of the values and indices together; headers and padding are the collective's."""
        return self.count * (self.values.element_size() + self.indices.element_size())

    def dense(self) -> Tensor:
        """The vector [d] that is zero except at the kept positions."""
        vector = torch.zeros(self.dimension, dtype=self.values.dtype, device=self.values.device)
        vector[self.indices.long()] = self.values
        return vector

    def remainder(self, corrected: Tensor) -> Tensor:
        """What stays behind, [d]: `corrected` with the kept positions zeroed, so sent + kept = `corrected`.

        Raises:
            ValueError: `corrected` is not a vector of length d.
        """
        if corrected.shape != (self.dimension,):
            raise ValueError(f"expected a vector of length {self.dimension}, got shape {tuple(corrected.shape)}")
        rest = corrected.clone()
        rest[self.indices.long()] = 0
        return rest
