"""What is noted of a gradient, or of a corrected one? Of every vector a few numbers, of some all that is drawn of them.

Used by `gradient_laws.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from sparsync.experiments.studies.selection.fitted_laws import best_law, fit_laws, sample_halves
from sparsync.experiments.studies.selection.rank_hypotheses import (
    Finding,
    Floats,
    examined,
    hypotheses,
    sampled_ranks,
)
from sparsync.kernels.selection import target_count


@dataclass(frozen=True)
class Bins:
    """Of a histogram, all of one width.

    Args:
        count: how many.
        low: where the first begins.
        high: where the last ends.
    """

    count: int
    low: float
    high: float

    def shares(self, values: np.ndarray[Any, Any], of_count: int) -> list[float]:
        """How many of the values are in each, over a number; what lies outside is in none."""
        counts: list[int] = np.histogram(values, self.count, (self.low, self.high))[0].tolist()
        return [count / of_count for count in counts]

    def edges(self) -> list[float]:
        """One more than there are bins."""
        return [self.low + (self.high - self.low) * place / self.count for place in range(self.count + 1)]


DENSITY = 0.001
"""Of the runs."""
DENSITIES = tuple(10 ** (-3.5 + 3.5 * index / 30) for index in range(30))
"""From 0.0003 to 0.76."""
HISTOGRAM, MAGNITUDE_HISTOGRAM = Bins(128, -8.0, 8.0), Bins(72, -6.0, 3.0)
"""In standard deviations; of the magnitudes, in decades of them."""


@dataclass(frozen=True)
class StepShape:
    """What is noted of a vector at every update.

    Args:
        step: updates done.
        gain: δ/κ of Top-k at the runs' density.
        deviation: standard deviation of the entries.
        largest: of the magnitudes.
        gaussian_count_ratio: entries above the threshold that a normal law of this deviation has, over k.
        findings: for each of `RUNGS`.
    """

    step: int
    gain: float
    deviation: float
    largest: float
    gaussian_count_ratio: float
    findings: tuple[Finding, ...]


def step_shape(step_count: int, vector: Tensor, magnitudes: np.ndarray[Any, Any]) -> StepShape:
    """Of a vector [d] and its magnitudes, descending.

    Raises:
        ValueError: the vector is zero.
    """
    dimension, count = vector.numel(), target_count(DENSITY, vector.numel())
    kept, whole = (float(np.square(part, dtype=np.float64).sum()) for part in (magnitudes[:count], magnitudes))
    if not whole > 0:
        raise ValueError(f"step {step_count}: the contraction of a zero vector is undefined")
    mean = float(vector.mean(dtype=torch.float64))
    deviation = math.sqrt(max(0.0, whole / dimension - mean**2))
    threshold = deviation * stats.norm.isf(count / dimension / 2)
    at_ranks: Floats = magnitudes[sampled_ranks(dimension) - 1].astype(np.float64)
    return StepShape(
        step=step_count,
        gain=kept / whole * dimension / count,
        deviation=deviation,
        largest=float(magnitudes[0]),
        gaussian_count_ratio=float(np.searchsorted(-magnitudes, -threshold)) / count,
        findings=tuple(examined(hypothesis, at_ranks) for hypothesis in hypotheses(dimension)),
    )


def observed(
    step_count: int, vector: Tensor, magnitudes: np.ndarray[Any, Any], deviation: float, stream: torch.Generator
) -> dict[str, Any]:
    """What is drawn of a vector [d] at an update.

    Args:
        step_count: updates done.
        vector: the gradient or corrected gradient.
        magnitudes: its, descending.
        deviation: its standard deviation.
        stream: draws the entries to be fitted.

    Returns:
        The share of zeros; `histogram` and `magnitude_histogram`, shares of the entries, in units of the deviation;
        `magnitude` at the `sampled_ranks`; `relative_error` of Top-k at each density; the fitted `laws`, and which is
        `best_law`, null if there were too few entries.
    """
    dimension, ranks = vector.numel(), sampled_ranks(vector.numel())
    scaled = vector.numpy() / np.float32(deviation)
    positive = np.abs(scaled[scaled != 0])
    laws = fit_laws(*sample_halves(vector, stream))
    return {
        "step": step_count,
        "deviation": deviation,
        "largest": float(magnitudes[0]),
        "zero_share": 1 - len(positive) / dimension,
        "histogram": HISTOGRAM.shares(scaled, dimension),
        "magnitude_histogram": MAGNITUDE_HISTOGRAM.shares(np.log10(positive), dimension),
        "magnitude": magnitudes[ranks - 1].astype(np.float64).tolist(),
        "relative_error": relative_errors(magnitudes, [target_count(kappa, dimension) for kappa in DENSITIES]),
        "laws": {name: asdict(law) for name, law in laws.items()},
        "best_law": best_law(laws),
    }


def relative_errors(magnitudes: np.ndarray[Any, Any], counts: Sequence[int]) -> list[float]:
    """‖u − Top_k(u)‖²/‖u‖² for each k, from the magnitudes [d], descending; summed in float64 from the smallest."""
    cumulative = np.cumsum(np.square(magnitudes[::-1], dtype=np.float64))
    left = [float(cumulative[-1 - count]) if count < len(cumulative) else 0.0 for count in counts]
    return [energy / float(cumulative[-1]) for energy in left]


def found_over(findings: Sequence[Finding]) -> dict[str, float]:
    """Shares of the updates at which a hypothesis is met, and the rises of v/w at them, as factors."""
    rises = sorted(finding.rise for finding in findings)
    return {
        "share": fmean([float(finding.is_met_within_chance) for finding in findings]),
        "strict_share": fmean([float(finding.is_met) for finding in findings]),
        "median_rise": rises[len(rises) // 2],
        "largest_rise": rises[-1],
    }
