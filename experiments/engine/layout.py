"""What do all sides know of the model? Its layers, the blocks in which they are sent, how it is added and sketched.

Worker and server hold equal layouts, and so their sketches of the same vector are the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.payload import SparsePayload
from sparsync.verify.monitors.trace import Arithmetic, Mass

GRID = 2.0**-20
"""Created changes are multiples of this in grid mode."""
WEIGHT_GRID = 2.0**-10
"""Weights are multiples of this in grid mode."""
SKETCH_COUNT = 2
LARGEST_SKETCH_WEIGHT = 1023


def split_layers(layer_sizes: Sequence[int], largest_block: int | None) -> tuple[int, ...]:
    """Sizes of blocks: each layer is cut into as few as have at most so many entries, nearly equal; None cuts nothing.

    Raises:
        ValueError: `largest_block` is no int of at least 1.
    """
    if largest_block is None:
        return tuple(layer_sizes)
    require_count("largest_block", largest_block, least=1)
    sizes: list[int] = []
    for size in layer_sizes:
        count = max(1, -(-size // largest_block))
        sizes += (size * (piece + 1) // count - size * piece // count for piece in range(count))
    return tuple(sizes)


class Shipment:
    """The vector of a message: all entries of some blocks, or selected ones.

    Args:
        places: [m] int64 positions in the model, or None if `values` is all of it.
        values: [m].
        payload: what a selector took, its positions within the blocks; None if all is sent.
    """

    def __init__(self, places: Tensor | None, values: Tensor, payload: SparsePayload | None = None) -> None:
        self.places, self.values, self.payload = places, values, payload

    def add_to(self, target: Tensor, weight: float) -> None:
        """target += weight · message; each product is rounded first, so that dense and sparse give the same bits."""
        scaled = self.values * weight
        if self.places is None:
            target.add_(scaled)
        else:
            target.index_add_(0, self.places, scaled)


class Layout:
    """The model's blocks and arithmetic.

    Args:
        layer_sizes: entries of each layer, in order.
        dtype: of the model.
        is_on_grid: all created changes are multiples of 2⁻²⁰ and weights of 2⁻¹⁰, so that sums are exact.
        largest_block: entries that a block has at most, see `split_layers`; None: a block is a layer.

    Raises:
        ValueError: grid mode with a model that is not float64.
    """

    def __init__(
        self,
        layer_sizes: Sequence[int],
        dtype: torch.dtype,
        *,
        is_on_grid: bool = False,
        largest_block: int | None = None,
    ) -> None:
        if is_on_grid and dtype != torch.float64:
            raise ValueError(f"grid mode needs a float64 model, got {dtype}")
        self.layer_sizes, self.dtype, self.is_on_grid = tuple(layer_sizes), dtype, is_on_grid
        self.block_sizes = split_layers(self.layer_sizes, largest_block)
        self._edges = [0]
        for size in self.block_sizes:
            self._edges.append(self._edges[-1] + size)
        self.dimension = self._edges[-1]
        self._known_places: dict[tuple[int, ...], Tensor] = {}
        drawn = torch.randint(
            0, (LARGEST_SKETCH_WEIGHT + 1) // 2, (SKETCH_COUNT, self.dimension), generator=random_stream(0, "sketch")
        )
        signs = torch.randint(0, 2, drawn.shape, generator=random_stream(0, "signs")) * 2 - 1
        self._combinations = ((2 * drawn + 1) * signs).double()

    @property
    def block_bytes(self) -> tuple[int, ...]:
        """Dense size of each block."""
        return tuple(size * self.dtype.itemsize for size in self.block_sizes)

    @property
    def arithmetic(self) -> Arithmetic:
        """In what vectors are added; exact on the grid."""
        return Arithmetic("exact" if self.is_on_grid else str(self.dtype).removeprefix("torch."), self.dimension)

    def places(self, blocks: Sequence[int] | None) -> Tensor | None:
        """Positions [m] int64 of the entries of some blocks; None, which is all, for None."""
        if blocks is None:
            return None
        key = tuple(blocks)
        if key not in self._known_places:
            ranges = [torch.arange(self._edges[block], self._edges[block + 1]) for block in key]
            self._known_places[key] = torch.cat(ranges) if ranges else torch.empty(0, dtype=torch.int64)
        return self._known_places[key]

    def parts(self, vector: Tensor) -> tuple[Tensor, ...]:
        """The blocks of a vector [d], views of it."""
        return torch.split(vector, list(self.block_sizes))

    def layers(self, vector: Tensor) -> tuple[Tensor, ...]:
        """The layers of a vector [d], views of it."""
        return torch.split(vector, list(self.layer_sizes))

    def rounded(self, vector: Tensor) -> Tensor:
        """To the grid, if there is one."""
        return (vector / GRID).round() * GRID if self.is_on_grid else vector

    def sketch(self, *vectors: Tensor) -> Mass:
        """The sketch of the sum of vectors [d].

        Raises:
            OverflowError: on the grid, and too large to be exact.
        """
        sums, size = torch.zeros(SKETCH_COUNT, dtype=torch.float64), 0.0
        for vector in vectors:
            wide = vector.double()
            sums += self._combinations @ wide
            size += LARGEST_SKETCH_WEIGHT * float(wide.abs().sum())
        return self._mass(sums, size)

    def sketch_of(self, shipment: Shipment) -> Mass:
        """The sketch of what a message holds.

        Raises:
            OverflowError: see `sketch`.
        """
        wide, places = shipment.values.double(), shipment.places
        combinations = self._combinations if places is None else self._combinations[:, places]
        return self._mass(combinations @ wide, LARGEST_SKETCH_WEIGHT * float(wide.abs().sum()))

    def _mass(self, sums: Tensor, size: float) -> Mass:
        if self.is_on_grid and size >= 2.0**53 * GRID * WEIGHT_GRID:
            raise OverflowError(f"a sketch of size {size:.3g} is too large to be exact on the grid")
        return Mass(tuple(sums.tolist()), size)
