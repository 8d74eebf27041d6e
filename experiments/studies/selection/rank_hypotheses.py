"""Does a vector meet the hypothesis of a rung of the ladder? At some of its ranks, with room for what chance does.

A rung asks that v_i/w_i is non-increasing in the rank i: v are the sorted squares, w_i = (d−i+1)^a − (d−i)^a, and a − 1
is 2/p of π^p/(1 − t); a = 2 is exponent two, a = 3 three. That of d independent draws, from a law that meets it, is met
nearly. With n = d + 1 − i and exponential E_m, log(v_i/v_j) is at least (a − 1) Σ_m E_m/m over n_j ≤ m < n_i (Rényi
1953, as π^p/(1 − t) does not rise), whose mean is (a − 1)(ψ(n_i) − ψ(n_j)) and whose variance is below
(a − 1)²(1/(n_j − 1/2) − 1/(n_i − 1/2)). So a sum of exponentials falls z of the latter's roots below its mean with a
chance of exp(−z²/2) at most: a larger rise is no accident. The draws of the uniform law come nearest to it. Ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from sparsync.theory.contraction.ladder import STATEMENTS

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64]

RUNGS = ("square_convex", "bell_shaped")
"""The rungs with a hypothesis: exponents two and three. The discrete ones have the same weights but for O(1/n)."""
LINEAR_COUNT, TOP_COUNT = 160, 40
ALLOWED_DEVIATIONS = 6.0
"""z: with 200 ranks all 19,900 pairs together exceed it with a chance of 0.0003 at most."""
_ROUNDING = 2.0**-44
"""Four logarithms below 2⁶, each rounded by 2⁻⁴⁷ at most."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """What a rung asks at some ranks.

    Args:
        label: of its statement.
        log_weights: [r], log w at each rank.
        allowance: [r, r], what log(v/w) may rise from the rank of the row to a later one of the column by chance.
    """

    label: str
    log_weights: Floats
    allowance: Floats


@dataclass(frozen=True)
class Finding:
    """Whether a vector meets a hypothesis.

    Args:
        is_met: v/w rises nowhere.
        is_met_within_chance: or no more than it may for independent draws of a law that meets it.
        rise: the largest factor by which v/w rises from one rank to a later one; 1 where it rises nowhere.
    """

    is_met: bool
    is_met_within_chance: bool
    rise: float


def sampled_ranks(dimension: int) -> Ranks:
    """Some 200 ranks from 1, ascending: most of them equally far apart, some closer together at the top."""
    spaced = 1 + np.arange(LINEAR_COUNT) * dimension // LINEAR_COUNT
    top = np.geomspace(1, dimension / LINEAR_COUNT, TOP_COUNT)
    return np.unique(np.concatenate([spaced, np.clip(top.round(), 1, dimension)]).astype(np.int64))


@cache
def hypotheses(dimension: int) -> tuple[Hypothesis, ...]:
    """What the rungs ask at the `sampled_ranks` of a vector [d]."""
    remaining = (dimension + 1 - sampled_ranks(dimension)).astype(np.float64)
    return tuple(_hypothesis(label, remaining) for label in RUNGS)


def examined(hypothesis: Hypothesis, magnitudes: Floats) -> Finding:
    """Whether a vector meets a hypothesis.

    Args:
        hypothesis: of its dimension.
        magnitudes: [r], at the `sampled_ranks`, descending.

    Raises:
        ValueError: another number of magnitudes, or they rise or are negative.
    """
    if magnitudes.shape != hypothesis.log_weights.shape or magnitudes[-1] < 0 or (np.diff(magnitudes) > 0).any():
        raise ValueError(f"{hypothesis.label}: magnitudes must be descending, got {magnitudes}")
    # An entry of zero is followed by none that is larger: nothing rises there.
    count = int((magnitudes > 0).sum())
    if count < 2:
        return Finding(is_met=True, is_met_within_chance=True, rise=1.0)
    quotients = 2 * np.log(magnitudes[:count].astype(np.float64)) - hypothesis.log_weights[:count]
    rises = np.triu(quotients[np.newaxis, :] - quotients[:, np.newaxis], k=1)
    largest = float(rises.max())
    return Finding(
        is_met=largest <= _ROUNDING,
        is_met_within_chance=bool((rises - hypothesis.allowance[:count, :count] <= _ROUNDING).all()),
        rise=float(np.exp(max(0.0, largest))),
    )


def _hypothesis(label: str, remaining: Floats) -> Hypothesis:
    power = float(STATEMENTS[label].given("power"))
    log_weights = np.log(remaining**power - (remaining - 1) ** power)
    # The weights' own logarithms fall by a little more than the mean of the draws' does.
    lag = _later_less(log_weights) - (power - 1) * _later_less(digamma(remaining))
    variance = np.maximum(0.0, -_later_less(1 / (remaining - 0.5)))
    allowance = lag + ALLOWED_DEVIATIONS * (power - 1) * np.sqrt(variance)
    return Hypothesis(label, log_weights, np.triu(allowance, k=1))


def _later_less(values: Floats) -> Floats:
    """[r, r]: the value of the row less that of the column."""
    return values[:, np.newaxis] - values[np.newaxis, :]
