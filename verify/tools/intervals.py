"""How sure is a number? Means over seeds, and paired differences, with 95 % intervals of Student's t.

Runs of one seed share parameters, batches and draws, so the difference of two methods is taken seed by seed. One seed
says nothing of its own spread: the interval is then the whole line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Args:
        value: the mean, or an exact number.
        low: the interval's lower end; equal to the value where nothing is random.
        high: its upper end.
        count: of the seeds, or of the things counted; 0 says nothing of either.
    """

    value: float
    low: float
    high: float
    count: int = 0

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"an estimate lies within its interval, got {self.low} ≤ {self.value} ≤ {self.high}")

    @property
    def holds_zero(self) -> bool:
        """True iff zero lies within the interval: the sign is not known."""
        return self.low <= 0 <= self.high


def exact(value: float, *, count: int = 0) -> Estimate:
    """A number that is counted or computed, not sampled."""
    return Estimate(float(value), float(value), float(value), count)


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent values with its interval.

    Raises:
        ValueError: there are none, or one is not finite.
    """
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"a mean needs finite values, got {list(values)}")
    middle = math.fsum(values) / len(values)
    if len(values) == 1:
        return Estimate(middle, -math.inf, math.inf, 1)
    error = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values))
    reach = float(special.stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * error
    return Estimate(middle, middle - reach, middle + reach, len(values))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of first − second, pair by pair, with its interval.

    Raises:
        ValueError: the two are not equally long; or see `mean`.
    """
    if len(first) != len(second):
        raise ValueError(f"pairs need equally many values, got {len(first)} and {len(second)}")
    return mean([a - b for a, b in zip(first, second, strict=True)])


def compared(difference: Estimate, *, more: str = "more", less: str = "less", unknown: str = "inconclusive") -> str:
    """The word for a difference: more or less where the interval says so, else that it is inconclusive."""
    return unknown if difference.holds_zero else more if difference.value > 0 else less
