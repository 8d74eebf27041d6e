"""Mean and standard deviation with every rounding fixed, so that each implementation finds the same bits.

Each piece is cut into tiles of 4096 consecutive entries, and its last tile may be shorter. A tile's sum is a binary
tree over adjacent pairs in float64, missing entries being 0; so is its sum M of squared deviations from the tile's
mean. The tiles, one piece after the other, are combined by the rule of Chan, Golub, LeVeque 1979,

    δ = μ_b − μ_a,   μ = μ_a + δ·(n_b/n),   M = (M_a + M_b) + δ²·(n_a·(n_b/n)),   n = n_a + n_b,

in a binary tree over adjacent tiles, where an odd last one passes unchanged to the next level. No operation is fused
with another, and nothing depends on threads or block sizes. It decides the start of `gaussian_k_released`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

TILE_SIZE = 4096
# Tiles widened to float64 at a time: 8 MiB each for the tiles, their deviations and the first level of the tree.
_BATCH_TILE_COUNT = 256


@dataclass(frozen=True)
class Moments:
    """What the pieces of a vector have in common.

    Args:
        mean: Σu_i/d.
        standard_deviation: √(Σ(u_i − mean)²/(d − 1)), NaN if d = 1.
    """

    mean: float
    standard_deviation: float


@dataclass(frozen=True, eq=False)
class _Tiles:
    """Counts, means and sums of squared deviations of consecutive tiles, [tiles] float64 each."""

    counts: Tensor
    means: Tensor
    squares: Tensor


def moments(pieces: Sequence[Tensor]) -> Moments:
    """The mean and standard deviation of all entries of the pieces together, in float64.

    Args:
        pieces: vectors of any floating dtype, finite, with at least one entry together. Where one piece ends and the
            next begins changes the tiles, and so the last bits.

    Raises:
        ValueError: no entry.
    """
    batches = [batch for piece in pieces for batch in piece.split(TILE_SIZE * _BATCH_TILE_COUNT) if batch.numel() > 0]
    if not batches:
        raise ValueError("the moments of no entries are undefined")
    parts = [_tile_moments(batch) for batch in batches]
    tiles = _Tiles(*(torch.cat([getattr(part, name) for part in parts]) for name in ("counts", "means", "squares")))
    while tiles.counts.numel() > 1:
        tiles = _combine_neighbours(tiles)
    count, mean, squares = (float(total) for total in (tiles.counts, tiles.means, tiles.squares))
    return Moments(mean, math.sqrt(squares / (count - 1)) if count > 1 else math.nan)


def _tile_moments(batch: Tensor) -> _Tiles:
    """The tiles of one batch, on the CPU."""
    tile_count = -(-batch.numel() // TILE_SIZE)
    entries = torch.zeros(tile_count * TILE_SIZE, dtype=torch.float64, device=batch.device)
    entries[: batch.numel()] = batch
    counts = torch.full((tile_count,), float(TILE_SIZE), dtype=torch.float64, device=batch.device)
    counts[-1] = batch.numel() - (tile_count - 1) * TILE_SIZE
    tiles = entries.view(tile_count, TILE_SIZE)
    means = _pairwise_sum(tiles) / counts
    deviations = (tiles - means[:, None]).flatten()
    deviations[batch.numel() :] = 0.0
    squares = _pairwise_sum((deviations * deviations).view(tile_count, TILE_SIZE))
    return _Tiles(counts.cpu(), means.cpu(), squares.cpu())


def _pairwise_sum(tiles: Tensor) -> Tensor:
    """Row sums [tiles] of [tiles, 4096], adjacent pairs first."""
    while tiles.shape[1] > 1:
        tiles = tiles[:, 0::2] + tiles[:, 1::2]
    return tiles[:, 0]


def _combine_neighbours(tiles: _Tiles) -> _Tiles:
    """One level of the tree: tiles 0 and 1, 2 and 3, …; an odd last one as it is."""
    paired = tiles.counts.numel() // 2 * 2
    counts, means, squares = ((x[0:paired:2], x[1:paired:2]) for x in (tiles.counts, tiles.means, tiles.squares))
    total = counts[0] + counts[1]
    difference = means[1] - means[0]
    share = counts[1] / total
    mean = means[0] + difference * share
    square = (squares[0] + squares[1]) + (difference * difference) * (counts[0] * share)
    return _Tiles(
        torch.cat([total, tiles.counts[paired:]]),
        torch.cat([mean, tiles.means[paired:]]),
        torch.cat([square, tiles.squares[paired:]]),
    )
