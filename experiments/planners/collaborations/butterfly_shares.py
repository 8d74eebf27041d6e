"""Which share of a vector does each peer average, so that the slowest of all is done as early as can be?

In a butterfly all-reduce peer i averages the share w_i for all. It sends the rest of its own vector, 1 − w_i, and w_i
to each of the n − 1 others once it is averaged: 1 + (n − 2)w_i in all, and receives as much. With bandwidths b_i the
least of the largest time is max((n + m − 2)/Σ b_i, 1/min b_i) where m peers average and the others are clients
(statement `butterfly_time`). Where more is known of a peer than a bandwidth, see `links.py`.

Source: the setting is that of Diskin et al. 2021 (DeDLOC), which was not read; the split into whole numbers is that of
Hagenbach-Bischoff and D'Hondt, classical. The rest is ours.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count


def water_filling(bandwidths: Sequence[float]) -> list[float]:
    """w_i = max(0, (ξb_i − 1)/(n − 2)), with the ξ at which they sum to 1: the slowest is done as early as can be.

    Two peers send the whole vector whatever their shares are: theirs are in proportion to the bandwidths.

    Args:
        bandwidths: vectors per second, each way; a client, who averages nothing and is not counted, has 0.

    Raises:
        ValueError: a bandwidth is negative or infinite, or all are 0.
    """
    _require_bandwidths(bandwidths)
    extra = len(bandwidths) - 2
    if extra <= 0:
        return [own / sum_in_order(bandwidths) for own in bandwidths]
    fastest = sorted(bandwidths, reverse=True)
    sums = list(accumulate(fastest))
    # With one more, slower peer the level falls as long as that one is above 1 at it.
    level = min((extra + count) / total for count, total in enumerate(sums, start=1))
    return [max(0.0, (level * own - 1) / extra) for own in bandwidths]


def exchange_seconds(bandwidths: Sequence[float], shares: Sequence[float]) -> float:
    """max_i (1 + (n − 2)w_i)/b_i over all who are no clients; 0 where nobody is there to exchange with."""
    count = len(bandwidths)
    if count == 1:
        return 0.0
    return max((1 + (count - 2) * share) / own for own, share in zip(bandwidths, shares, strict=True) if own)


def least_seconds(bandwidths: Sequence[float]) -> float:
    """max((n + m − 2)/Σ b_i, 1/min b_i), the least that any shares take.

    Raises:
        ValueError: a bandwidth is negative or infinite, or all are 0.
    """
    _require_bandwidths(bandwidths)
    averaging = [own for own in bandwidths if own]
    if len(bandwidths) == 1:
        return 0.0
    return max((len(bandwidths) + len(averaging) - 2) / sum_in_order(averaging), 1 / min(averaging))


def hagenbach_bischoff(shares: Sequence[float], total: int) -> list[int]:
    """Whole parts near to shares: first ⌊w_i·total⌋, then one after the other to the largest w_i/(part_i + 1).

    No split has a smaller largest part_i/w_i. The smallest largest time is another, which `links.whole_parts` finds:
    of d values this takes up to (m − 1)(ξ − 1/max b_i) longer than their parts would (statement `hagenbach_time`).

    Args:
        shares: at least 0; only their ratios count.
        total: to be divided.

    Raises:
        ValueError: the total is negative, or a share is or is not finite, or all shares are 0.
    """
    require_count("total", total, least=0)
    if not any(shares) or not all(0 <= share < math.inf for share in shares):
        raise ValueError(f"shares must be finite, at least 0, and not all 0, got {list(shares)}")
    exact = [Fraction(share) for share in shares]
    whole = sum(exact, Fraction(0))
    parts = [math.floor(share * total / whole) for share in exact]
    heap = [(-share / (part + 1), place) for place, (share, part) in enumerate(zip(exact, parts, strict=True))]
    heapq.heapify(heap)
    for _ in range(total - sum(parts)):
        place = heap[0][1]
        parts[place] += 1
        heapq.heapreplace(heap, (-exact[place] / (parts[place] + 1), place))
    return parts


def _require_bandwidths(bandwidths: Sequence[float]) -> None:
    if not all(0 <= own < math.inf for own in bandwidths) or not any(bandwidths):
        raise ValueError(f"bandwidths must be finite, at least 0, and not all 0, got {list(bandwidths)}")
