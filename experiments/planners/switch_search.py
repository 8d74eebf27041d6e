"""When to switch from synchronous to asynchronous? A bisection of the switch fraction, for jobs that are run often.

It knows a job only by the accuracy of its runs, and averages over several. Source: Li, Mangoubi, Xu, Guo 2021; that a
fraction is accepted if it is within a tolerance of BSP, over repeated runs, is recalled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sparsync.experiments.engine.addition import sum_in_order


class Bracket(NamedTuple):
    """Where the least good switch fraction lies.

    Args:
        rejected: the largest fraction that was not good enough; 0 if none was tried.
        accepted: the smallest that was; 1 at worst.
        run_count: runs that this took.
    """

    rejected: float
    accepted: float
    run_count: int


def switch_fraction(
    accuracy: Callable[[float], float], *, tolerance: float = 0.01, repeats: int = 5, halvings: int = 5
) -> Bracket:
    """The bracket, of width at most 2^−halvings where accuracy grows with the fraction.

    Args:
        accuracy: of one run that switches at this fraction; may differ from call to call.
        tolerance: how far a mean accuracy may lie below that of fraction 1.
        repeats: runs that are averaged for each fraction.
        halvings: fractions tried besides 1.

    Raises:
        ValueError: a negative tolerance, no repeat, or a negative number of halvings.
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be at least 0, got {tolerance}")
    if repeats < 1 or halvings < 0:
        raise ValueError(f"repeats must be at least 1 and halvings at least 0, got {repeats} and {halvings}")

    def mean(fraction: float) -> float:
        return sum_in_order(accuracy(fraction) for _ in range(repeats)) / repeats

    least = mean(1.0) - tolerance
    rejected, accepted = 0.0, 1.0
    for _ in range(halvings):
        middle = (rejected + accepted) / 2
        if mean(middle) >= least:
            accepted = middle
        else:
            rejected = middle
    return Bracket(rejected, accepted, repeats * (halvings + 1))
