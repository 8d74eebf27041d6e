"""The threshold of `gaussian_k`: the roundest integer t whose count N(t) = #{i : a_i ≥ t} lies in a band.

The a_i are magnitude bits (`magnitude.py`). N is non-increasing, so the thresholds t ≥ 1 with
lo ≤ N(t) ≤ hi form an integer interval V. Two different multiples of 2^z with odd quotients have an even
quotient between them, so exactly one element t* of a non-empty V has the most trailing zero bits.

**Any start ends at t*.** A dyadic interval (c·2^s, (c+1)·2^s) *brackets* V when its left end counts more
than hi (or is 0) and its right end counts fewer than lo (or is 2^b); then V lies inside it. Its midpoint has
more trailing zeros than any other element inside. So either the midpoint is in V, and is t*; or it counts
too many or too few, and one of its halves, dyadic again, brackets V. If no midpoint is in V, V is empty.

**Cost.** From a bracket of level s at most s midpoints are counted, and level b always brackets: at most b
counts (31 in float32, 15 in 16-bit types, 63 in float64), plus the gallop that finds a bracket, which counts
two ends at its first level s₀ and at most one new end per further level. A doubling leaves an old end as the
new midpoint, already counted, so that both together take at most max(b, 2b − s₀ − 1): `band_search_passes`
in `theory/selectors/count_band.py`, where the bound is proved and seen to be attained. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ThresholdSearch:
    """What a search found and what it cost.

    Args:
        threshold: t*, or None when no threshold's count lies in the band (ties).
        evaluation_count: how many distinct thresholds were counted, each one pass over the vector.
    """

    threshold: int | None
    evaluation_count: int


def count_band(k: int) -> tuple[int, int]:
    """The counts that `gaussian_k` may return for a target k: (⌈2k/3⌉, ⌊4k/3⌋)."""
    return -(-2 * k // 3), 4 * k // 3


def search_threshold(
    count: Callable[[int], int],
    band: tuple[int, int],
    *,
    bit_width: int,
    start: int,
    start_level: int,
) -> ThresholdSearch:
    """Find the threshold with the most trailing zero bits among those whose count lies in the band.

    Args:
        count: t -> N(t), non-increasing, called for 1 ≤ t < 2^bit_width at most once each.
        band: (lo, hi) with 1 ≤ lo ≤ hi.
        bit_width: b; every magnitude is below 2^b.
        start: where the gallop begins, 0 ≤ start < 2^b. It changes the cost, never the result.
        start_level: s₀, the first bracket tried has 2^s₀ thresholds; 0 ≤ s₀ ≤ b.

    Raises:
        ValueError: band, start or start_level out of range.
    """
    lowest, highest = band
    if not 1 <= lowest <= highest:
        raise ValueError(f"the band must satisfy 1 <= lo <= hi, got {band}")
    if not 0 <= start < 2**bit_width:
        raise ValueError(f"start must lie in [0, 2**{bit_width}), got {start}")
    if not 0 <= start_level <= bit_width:
        raise ValueError(f"start_level must lie in [0, {bit_width}], got {start_level}")
    counts = {0: highest + 1, 2**bit_width: 0}

    def counted(threshold: int) -> int:
        if threshold not in counts:
            counts[threshold] = count(threshold)
        return counts[threshold]

    left, level = _gallop(counted, band, start, start_level)
    threshold = _bisect(counted, band, left, level)
    return ThresholdSearch(threshold, evaluation_count=len(counts) - 2)


def _gallop(counted: Callable[[int], int], band: tuple[int, int], start: int, level: int) -> tuple[int, int]:
    """Widen the dyadic interval around `start` until it brackets the band; its left end and level."""
    lowest, highest = band
    left = start >> level << level
    while counted(left) <= highest or counted(left + (1 << level)) >= lowest:
        level += 1
        left = left >> level << level
    return left, level


def _bisect(counted: Callable[[int], int], band: tuple[int, int], left: int, level: int) -> int | None:
    """Halve a bracketing dyadic interval until its midpoint's count lies in the band."""
    lowest, highest = band
    while level > 0:
        level -= 1
        middle = left + (1 << level)
        if counted(middle) > highest:
            left = middle
        elif counted(middle) >= lowest:
            return middle
    return None
