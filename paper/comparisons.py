"""How does a comparison of runs read in text and tables? A difference or ratio, its interval, and what follows.

Runs are paired over seeds, see `verify/tools/intervals.py`. A phrase is chosen by the numbers, so that a sentence is
true whatever they are: it says `inconclusive` where the interval holds zero (of a ratio: one), and `one seed` where
there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from paper import latex
from sparsync.verify.tools.intervals import Estimate, compared, mean

UNKNOWN, ONE_SEED = "inconclusive", "one seed"
_LARGEST_LOGARITHM = 700.0
"""Beyond this the exponential is more than a double holds."""
_LARGE = 10_000


def ratio(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The logarithm of first over second, pair by pair: its mean is that of the geometric mean of the ratios.

    Raises:
        ValueError: the two are not equally long, or a value is not positive.
    """
    if min(*first, *second) <= 0:
        raise ValueError(f"a ratio needs positive values, got {list(first)} and {list(second)}")
    return mean([math.log(one / other) for one, other in zip(first, second, strict=True)])


def difference_phrase(difference: Estimate, *, unit: str = "", digits: int = 2) -> str:
    """`+0.02 points (−0.42 to 0.45; inconclusive)`."""
    words = f" {unit}" if unit else ""
    return f"{latex.signed(difference.value, digits)}{words} ({_interval(difference, digits, says_unknown=True)})"


def difference_cell(difference: Estimate, *, digits: int = 2) -> str:
    """`+0.02 (−0.42 to 0.45)`, for a table, whose reader sees whether zero lies between."""
    return f"{latex.signed(difference.value, digits)} ({_interval(difference, digits, says_unknown=False)})"


def mean_phrase(value: Estimate, *, digits: int = 2) -> str:
    """`1.42 (1.20 to 1.64)`."""
    return f"{latex.decimal(value.value, digits)} ({_interval(value, digits, says_unknown=False)})"


def ratio_phrase(logarithm: Estimate) -> str:
    """`0.97 (0.90 to 1.05; inconclusive)`, of what `ratio` gives."""
    value = _factor(logarithm.value)
    if logarithm.count == 1:
        return f"{value} ({ONE_SEED})"
    note = f"; {UNKNOWN}" if logarithm.holds_zero else ""
    return f"{value} ({_factor(logarithm.low)} to {_factor(logarithm.high)}{note})"


def tally(differences: Sequence[Estimate], *, more: str = "more", less: str = "less") -> str:
    """`less in 1, more in none, inconclusive in 3`: what the intervals say, place by place; `one seed` where it is."""
    said = [_word(difference, more, less) for difference in differences]
    words = (less, more, UNKNOWN, *[ONE_SEED] * (ONE_SEED in said))
    return ", ".join(f"{word} in {said.count(word) or 'none'}" for word in words)


def _word(difference: Estimate, more: str, less: str) -> str:
    return ONE_SEED if difference.count == 1 else compared(difference, more=more, less=less, unknown=UNKNOWN)


def _interval(value: Estimate, digits: int, *, says_unknown: bool) -> str:
    if value.count == 1:
        return ONE_SEED
    note = f"; {UNKNOWN}" if says_unknown and value.holds_zero else ""
    return f"{latex.decimal(value.low, digits)} to {latex.decimal(value.high, digits)}{note}"


def _factor(logarithm: float) -> str:
    value = math.exp(min(logarithm, _LARGEST_LOGARITHM))
    return latex.scientific(value) if value >= _LARGE else latex.decimal(value, 2)
