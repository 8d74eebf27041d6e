"""How to draw a fixed number of things of which some are wanted more often than others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate


def inclusion_probabilities(weights: Sequence[float], count: int) -> list[float]:
    """min(1, c·wᵢ), with c such that the sum is `count`; 1 for all if there are no more than that.

    Raises:
        ValueError: a weight is not positive, or the count is negative.
    """
    if count < 0 or any(not 0 < weight < math.inf for weight in weights):
        raise ValueError(f"need positive weights and a count of at least 0, got {list(weights)} and {count}")
    if count >= len(weights):
        return [1.0] * len(weights)
    largest = sorted(weights, reverse=True)
    certain = 0
    while certain < count - 1 and largest[certain] * (count - certain) >= math.fsum(largest[certain:]):
        certain += 1
    scale = (count - certain) / math.fsum(largest[certain:])
    return [min(1.0, scale * weight) for weight in weights]


def systematic_sample(probabilities: Sequence[float], start: float) -> list[int]:
    """Those i in whose share of the line, of length πᵢ, one of the points start, start + 1, … lies.

    With a start uniform on [0, 1) each is drawn with its probability exactly, and Σπ, an integer, are drawn.

    Source: Madow 1949.
    """
    ends = list(accumulate(probabilities))
    if ends:
        ends[-1] = round(ends[-1])
    drawn: list[int] = []
    for place, end in enumerate(ends):
        if start + len(drawn) < end:
            drawn.append(place)
    return drawn
