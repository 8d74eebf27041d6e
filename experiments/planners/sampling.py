"""How to draw a fixed number of things of which some are wanted more often than others.

Things of one weight make a class, and what is done is done by class: with few weights, a drawing looks at few numbers,
however many things there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import mul

Share = float | Fraction


def inclusion_scale(weights: Sequence[float], sizes: Sequence[int], count: int) -> float:
    """c with which the inclusion probabilities min(1, c·wᵢ) of all things have the sum `count`.

    Args:
        weights: of a thing, by class.
        sizes: things, by class.
        count: things that are to be drawn; c is infinite if there are no more than that.

    Raises:
        ValueError: a weight is not positive, or the count is negative.
    """
    total = math.fsum(map(mul, weights, sizes))
    if count < 0 or (weights and not (min(weights) > 0 and total < math.inf)):
        raise ValueError(f"need positive weights and a count of at least 0, got {list(weights)} and {count}")
    if count >= sum(sizes):
        return math.inf
    if count * max(weights) <= total:
        return count / total
    # Some are certain: of what is left, one of the largest weight has more than its share.
    classes = sorted(zip(weights, sizes, strict=True), reverse=True)
    for rank, (weight, size) in enumerate(classes):
        # A share that rounding alone makes whole leaves something to those after it.
        if size >= count or weight * count < total:
            break
        count -= size
        total = math.fsum(other * others for other, others in classes[rank + 1 :])
    return count / total


def inclusion_probabilities(weights: Sequence[float], count: int) -> list[float]:
    """min(1, c·wᵢ) of things of these weights, with c such that the sum is `count`; 1 if there are no more than that.

    Raises:
        ValueError: see `inclusion_scale`.
    """
    scale = inclusion_scale(weights, [1] * len(weights), count)
    return [min(1.0, scale * weight) for weight in weights]


def systematic_counts(probabilities: Iterable[Share], sizes: Sequence[int], count: int, start: Share) -> list[int]:
    """How many of the points start, start + 1, … lie in each class's part of the line, of length size times πᵢ.

    With a start uniform on [0, 1) the mean is the length exactly, and no number is one or more away from it. Their sum
    is `count`, which must be the sum of the lengths; where these are rounded, no class gives more than it has. Classes
    after the last point are left out.

    Source: Madow 1949, with classes in the place of units.
    """
    counts: list[int] = []
    end: Share = 0
    drawn, room = 0, sum(sizes)
    for probability, size in zip(probabilities, sizes, strict=False):
        if drawn == count:
            break
        left, room = count - drawn, room - size
        end += probability * size
        counts.append(max(0, left - room, min(size, left, math.ceil(end - start) - drawn)))
        drawn += counts[-1]
    return counts
