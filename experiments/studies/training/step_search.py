"""Which step size of a grid ends with the least loss? A search that asks for few runs, and says when it is done.

It walks in strides of two places until the best place has a worse one on either side, and then looks at its two
neighbours. Where the loss falls and then rises along the grid, that is the best place of all. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping

STRIDE = 2


def wanted(losses: Mapping[int, float], *, start: int, place_count: int) -> list[int]:
    """The places to try next, ascending; none where the search is done.

    Args:
        losses: what was found so far, by place from 0; infinite where a run diverged.
        start: where the search begins.
        place_count: of the grid.

    Raises:
        ValueError: `start` is no place of the grid.
    """
    if not 0 <= start < place_count:
        raise ValueError(f"start must lie in [0, {place_count}), got {start}")
    if not losses:
        return sorted({max(0, start - STRIDE), start, min(place_count - 1, start + STRIDE)})
    best = best_place(losses)
    walks = []
    if best == min(losses) and best > 0:
        walks.append(max(0, best - STRIDE))
    if best == max(losses) and best < place_count - 1:
        walks.append(min(place_count - 1, best + STRIDE))
    neighbours = [place for place in (best - 1, best + 1) if 0 <= place < place_count and place not in losses]
    return walks or neighbours


def best_place(losses: Mapping[int, float]) -> int:
    """The place of least loss; of equal ones the first."""
    return min(losses, key=lambda place: (losses[place], place))
