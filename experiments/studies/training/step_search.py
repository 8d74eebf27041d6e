"""Which step size of a grid ends with the least loss? A search that asks for few runs, and says when it is done.

It walks in strides, of two places by default, until the best place has a worse one on either side, and then looks at
its two neighbours. Where the loss falls and then rises along the grid, that is the best place of all. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping

STRIDE = 2


def wanted(losses: Mapping[int, float], *, start: int, place_count: int, stride: int = STRIDE) -> list[int]:
    """The places to try next, ascending; none where the search is done.

    Args:
        losses: what was found so far, by place from 0; infinite where a run diverged.
        start: where the search begins.
        place_count: of the grid.
        stride: of the walk, at least 1: the least asks for fewest runs where the search begins near the best place.

    Raises:
        ValueError: `start` is no place of the grid, or `stride` below 1.
    """
    if stride < 1:
        raise ValueError(f"stride must be at least 1, got {stride}")
    if not 0 <= start < place_count:
        raise ValueError(f"start must lie in [0, {place_count}), got {start}")
    if not losses:
        return sorted({max(0, start - stride), start, min(place_count - 1, start + stride)})
    best = best_place(losses)
    walks = []
    if best == min(losses) and best > 0:
        walks.append(max(0, best - stride))
    if best == max(losses) and best < place_count - 1:
        walks.append(min(place_count - 1, best + stride))
    neighbours = [place for place in (best - 1, best + 1) if 0 <= place < place_count and place not in losses]
    return walks or neighbours


def best_place(losses: Mapping[int, float]) -> int:
    """The place of least loss; of equal ones the first."""
    return min(losses, key=lambda place: (losses[place], place))
