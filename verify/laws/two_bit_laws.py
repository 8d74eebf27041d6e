"""What evidence is there for the mean loss of two levels, besides the derivations?

The means and errors are integrated numerically from the density alone, and the code is run on long samples. Ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile

SEED = 19820301
DENSITIES = (Fraction(1), Fraction(1, 2), Fraction(1, 100))
SAMPLE_COUNT, BATCH_COUNT = 2**20, 64
"""Selected values of a sample, and the batches whose losses give its standard error."""
LARGEST_DEVIATION = 6.0
"""In standard errors of the batches' mean."""
DIGITS = 25
QUADRATURE_ROOM = mpmath.mpf(10) ** -12
"""Relative room for quadrature and the rounding of a float, 10^(−16)."""


@dataclass(frozen=True)
class Selected:
    """A law restated.

    Args:
        density: of the magnitudes, up to a factor.
        level: of κ.
        end: the largest magnitude, or one above which nothing is seen in 25 digits.
        draw: a generator, κ and a number to that many selected magnitudes.
    """

    density: Callable[[mpmath.mpf], mpmath.mpf]
    level: Callable[[mpmath.mpf], mpmath.mpf]
    end: Callable[[mpmath.mpf], mpmath.mpf]
    draw: Callable[[np.random.Generator, float, int], NDArray[np.float64]]


def _gaussian_tail(generator: np.random.Generator, density: float, count: int) -> NDArray[np.float64]:
    """By rejection: magnitudes below the level are drawn again."""
    level = float(mpmath.sqrt(2) * mpmath.erfinv(1 - density)) if density < 1 else 0.0
    found: list[NDArray[np.float64]] = []
    while sum(map(len, found)) < count:
        drawn = np.abs(generator.standard_normal(SAMPLE_COUNT))
        found.append(drawn[drawn > level])
    return np.concatenate(found)[:count]


SELECTED: dict[str, Selected] = {
    "two_bit_uniform": Selected(
        lambda _x: mpmath.mpf(1),
        lambda share: 1 - share,
        lambda _level: mpmath.mpf(1),
        lambda generator, share, count: 1 - share * generator.random(count),
    ),
    "two_bit_laplace": Selected(
        lambda x: mpmath.exp(-x),
        lambda share: -mpmath.log(share),
        lambda level: level + 80,
        lambda generator, share, count: -np.log(share) + generator.exponential(size=count),
    ),
    "two_bit_gaussian": Selected(
        lambda x: mpmath.exp(-x * x / 2),
        lambda share: mpmath.sqrt(2) * mpmath.erfinv(1 - share) if share < 1 else mpmath.mpf(0),
        lambda level: level + 14,
        _gaussian_tail,
    ),
}
"""By label."""


def integrated_loss(label: str, density: Fraction) -> mpmath.mpf:
    """The loss of two levels, every mean and error an integral of the density."""
    law, share = SELECTED[label], mpmath.mpf(density.numerator) / density.denominator
    start = law.level(share)
    end = law.end(start)

    def integral(function: Callable[[mpmath.mpf], mpmath.mpf], first: mpmath.mpf, last: mpmath.mpf) -> mpmath.mpf:
        cuts = [first, *(stop for stop in (first + 1, first + 5, first + 20) if stop < last), last]
        return mpmath.quad(lambda x: function(x) * law.density(x), cuts)

    def mean(first: mpmath.mpf, last: mpmath.mpf) -> mpmath.mpf:
        return integral(lambda x: x, first, last) / integral(lambda _x: mpmath.mpf(1), first, last)

    middle = mean(start, end)
    low, high = mean(start, middle), mean(middle, end)
    cut = (low + high) / 2
    error = integral(lambda x: (x - low) ** 2, start, cut) + integral(lambda x: (x - high) ** 2, cut, end)
    return error / integral(lambda x: x * x, start, end)


def quadrature_check(_profile: Profile, *, label: str) -> Outcome:
    """`numeric`: the integrated loss is the stated one."""
    errors = []
    with mpmath.workdps(DIGITS):
        for density in DENSITIES:
            expected = integrated_loss(label, density)
            stated = STATEMENTS[label].evaluate(kappa=density)
            errors.append(float(abs(stated - expected) / (expected * QUADRATURE_ROOM)))
    return Outcome(
        earned=max(errors) <= 1, detail={"densities_count": len(errors), "largest_error_over_room": max(errors)}
    )


def two_level_losses(magnitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The loss of each row, coded on its own."""
    mean = magnitudes.mean(axis=1, keepdims=True)
    upper = magnitudes > mean
    high = (magnitudes * upper).sum(axis=1, keepdims=True) / upper.sum(axis=1, keepdims=True)
    low = (magnitudes * ~upper).sum(axis=1, keepdims=True) / (~upper).sum(axis=1, keepdims=True)
    error = np.minimum((magnitudes - low) ** 2, (magnitudes - high) ** 2)
    return np.asarray(error.sum(axis=1) / (magnitudes**2).sum(axis=1))


def sample_check(_profile: Profile, *, label: str) -> Outcome:
    """`simulated`: the mean loss of long batches deviates by less than LARGEST_DEVIATION standard errors.

    A batch has 2^14 values: levels that are means of them move its loss by less than one part in 2^13, beside a
    standard error that is at least as large.
    """
    deviations = []
    for place, density in enumerate(DENSITIES):
        generator = np.random.default_rng((SEED, place))
        batches = SELECTED[label].draw(generator, float(density), SAMPLE_COUNT).reshape(BATCH_COUNT, -1)
        losses = two_level_losses(batches)
        stated = STATEMENTS[label].evaluate(kappa=density)
        deviations.append(float((losses.mean() - stated) / losses.std() * np.sqrt(BATCH_COUNT)))
    return Outcome(
        earned=max(map(abs, deviations)) < LARGEST_DEVIATION,
        detail={
            "densities_count": len(deviations),
            "largest_deviation_in_standard_errors": max(map(abs, deviations)),
        },
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    label: {"numeric": partial(quadrature_check, label=label), "simulated": partial(sample_check, label=label)}
    for label in SELECTED
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    label: (Unneeded("kappa <= 1", "a share of the entries is at most one; beyond, nothing is selected to be rounded"),)
    for label in SELECTED
}
"""Why the conditions are there."""
