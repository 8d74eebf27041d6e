"""How late will error feedback be, by the law of the gradients alone? The threshold model with drift and noise.

A coordinate with drift m and noise σ is a random walk that is sent at a threshold common to all. In the diffusion limit
of `theory/feedback/late/coordinate_lag.py` its cycle lasts T = (b/m) tanh(mb/σ²) steps and its lag is
(σ²(y coth y − 1)/m² − 1)/2, y = mb/σ². The threshold is the one at which the mean of 1/T is the density. Walks in
whole steps overshoot: b is the threshold plus 0.583 σ (Chernoff 1965, Siegmund 1985). Used by `density_costs.py`. Ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath
import torch
from torch import Tensor

OVERSHOOT = float(-mpmath.zeta(0.5) / mpmath.sqrt(2 * mpmath.pi))
"""By how many standard deviations of a step a Gaussian walk passes a far threshold, on the average: −ζ(1/2)/√(2π)."""
FOLD_COUNT = 3
"""Parts of the gradients drawn: two for the weight m², the third for the lag, so that errors do not go together."""
_HALVINGS = 40
_SMALL = 1e-3
"""Below this y the series of y coth y is taken; its next term is y⁴·2/945, below the rounding of the quotient."""


@dataclass(frozen=True, eq=False)
class GradientLaw:
    """What is known of a worker's gradient at one place, in float64.

    Args:
        means: [3, d], the mean of each fold.
        variance: [d], σ², of one gradient.
        fold_size: gradients of each fold.
        is_whole: whether they are all that there are, so that the mean of all is exact.
    """

    means: Tensor
    variance: Tensor
    fold_size: int
    is_whole: bool = False

    @property
    def square_drift(self) -> Tensor:
        """m² [d] by all folds, without what noise adds to it; not below 0."""
        noise = 0.0 if self.is_whole else self.variance / (self.fold_size * FOLD_COUNT)
        return (self.means.mean(dim=0).square() - noise).clamp_min(0.0)

    @property
    def energy(self) -> float:
        """‖m‖², without what noise adds to it."""
        return sum(float(self.weights(fold).sum()) for fold in range(FOLD_COUNT)) / FOLD_COUNT

    def weights(self, fold: int) -> Tensor:
        """m² [d] by the two other folds; of either sign where it is not known."""
        if self.is_whole:
            return self.square_drift
        first, second = (self.means[other] for other in range(FOLD_COUNT) if other != fold)
        return first * second

    def fold_square(self, fold: int) -> Tensor:
        """m² [d] by one fold, without what noise adds to it; not below 0."""
        if self.is_whole:
            return self.square_drift
        return (self.means[fold].square() - self.variance / self.fold_size).clamp_min(0.0)


class Gathering:
    """Sums of gradients by fold, of which a law is made.

    Args:
        dimension: d.
        device: where the sums live.
    """

    def __init__(self, dimension: int, device: torch.device | str = "cpu") -> None:
        self._sums = torch.zeros(FOLD_COUNT, dimension, dtype=torch.float64, device=device)
        self._squares = torch.zeros(dimension, dtype=torch.float64, device=device)
        self._counts = [0] * FOLD_COUNT

    def add(self, gradient: Tensor, fold: int) -> None:
        """Take a gradient [d] into a fold, from 0."""
        current = gradient.double()
        self._sums[fold] += current
        self._squares += current.square()
        self._counts[fold] += 1

    def law(self, *, is_whole: bool = False) -> GradientLaw:
        """The law of what was taken.

        Args:
            is_whole: see `GradientLaw`.

        Raises:
            ValueError: the folds are not equally large, or have fewer than two gradients.
        """
        fold_size = self._counts[0]
        if set(self._counts) != {fold_size} or fold_size < 2:
            raise ValueError(f"folds need equally many gradients, at least two, got {self._counts}")
        count = FOLD_COUNT * fold_size
        mean = self._sums.sum(dim=0) / count
        variance = (self._squares - count * mean.square()).clamp_min(0.0) / (count - 1)
        return GradientLaw(self._sums / fold_size, variance, fold_size, is_whole)


def predicted_lag(law: GradientLaw, density: float, elapsed: float = math.inf) -> float:
    """Λ at a density: the mean lag of the coordinates weighted by m², none more than the steps that have passed.

    Args:
        law: of the gradient.
        density: κ.
        elapsed: steps since the residual was zero.

    Raises:
        ValueError: nothing of the gradient persists, so that no weight is known.
    """
    energy = law.energy
    if energy <= 0:
        raise ValueError(f"no part of the gradient persists: its energy is found to be {energy}")
    threshold = common_threshold(law.square_drift, law.variance, density)
    late = 0.0
    for fold in range(FOLD_COUNT):
        lags = coordinate_lags(law.fold_square(fold), law.variance, threshold).clamp_max(elapsed)
        late += float((law.weights(fold) * lags).sum())
    return late / FOLD_COUNT / energy


def common_threshold(square_drift: Tensor, variance: Tensor, density: float) -> float:
    """The threshold τ at which the mean of the coordinates' rates is the density, by halving."""
    low, high = 0.0, 1.0 / density * float((square_drift + variance).max().sqrt())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(send_rates(square_drift, variance, middle).mean()) > density:
            low = middle
        else:
            high = middle
    return high


def send_rates(square_drift: Tensor, variance: Tensor, threshold: float) -> Tensor:
    """1/T [d], at most 1; 0 where a coordinate never moves."""
    barrier, ratio = _walks(square_drift, variance, threshold)
    slowed = torch.where(ratio > _SMALL, torch.tanh(ratio) / ratio.clamp_min(_SMALL), 1 - ratio.square() / 3)
    cycles = barrier.square() / _positive(variance) * slowed
    return torch.where(square_drift + variance > 0, 1 / cycles.clamp_min(1.0), 0.0)


def coordinate_lags(square_drift: Tensor, variance: Tensor, threshold: float) -> Tensor:
    """Λ [d] of every coordinate, at least 0."""
    barrier, ratio = _walks(square_drift, variance, threshold)
    large = ratio.clamp_min(_SMALL)
    quotient = torch.where(
        ratio > _SMALL, (large / torch.tanh(large) - 1) / large.square(), 1 / 3 - ratio.square() / 45
    )
    lags = (barrier.square() / _positive(variance) * quotient - 1) / 2
    is_always_sent = send_rates(square_drift, variance, threshold) >= 1
    return torch.where(is_always_sent, 0.0, lags.clamp_min(0.0))


def _walks(square_drift: Tensor, variance: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """The barrier b [d], and y = mb/σ² [d]."""
    barrier = threshold + OVERSHOOT * variance.sqrt()
    return barrier, square_drift.sqrt() * barrier / _positive(variance)


def _positive(variance: Tensor) -> Tensor:
    """Without noise the limit of little noise is taken: a part in 10²⁴ of the largest variance, or of one."""
    return variance.clamp_min(1e-24 * max(float(variance.max()), 1e-6))
