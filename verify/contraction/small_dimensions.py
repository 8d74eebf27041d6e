"""What evidence is there for `small_dimension_failure`, besides its derivation?

The probability is computed again without inclusion and exclusion: the coordinates are split in two groups, and the
share of the energy in the first is integrated over. Samples test the rest. Ours.
"""

from fractions import Fraction

import mpmath
import numpy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile

SEED = 19900701
"""Seed of every sample here."""
STANDARD_ERRORS = 5.0
"""A frequency leaves its probability by more with probability below 6·10^(−7), in the normal approximation."""
VECTORS_PER_EXAMPLE = 2000
"""Gaussian vectors per hypothesis example of a profile, so that larger profiles draw more."""
LARGEST_VECTOR_COUNT = 10**6
"""But not more than this; with a tenth of it a probability of one half is known to a 64th."""
FAILURE_CASES = ((2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2))
"""Pairs (d, q) of the domain; two coordinates may hold a large share each at d = 4 and d = 5 where q = 2."""
QUADRATURE_DIGITS = 20
"""Working precision of the quadrature."""


def share_probability(dimension: int, level: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P(every share v_i/Σv is below y), and the error that the quadrature reports.

    d = 2: the angle φ of the vector has sin²φ and cos²φ below y for the share (4/π) arcsin √y − 1 of the circle. More
    coordinates: the first two hold the share s of the energy with density (d − 2)(1 − s)^(d/2−2)/2, and are split by
    an angle that is independent of the rest.

    Raises:
        ValueError: dimension is below 1, or y is not positive.
    """
    if dimension < 1 or level <= 0:
        raise ValueError(f"needs dimension ≥ 1 and y > 0, got {dimension} and {level}")
    if level >= 1 or level * dimension <= 1:
        return mpmath.mpf(int(level >= 1)), mpmath.mpf(0)
    if dimension == 2:
        return 4 / mpmath.pi * mpmath.asin(mpmath.sqrt(level)) - 1, mpmath.mpf(0)
    errors = [mpmath.mpf(0)]

    def integrand(rest: mpmath.mpf) -> mpmath.mpf:
        """At 1 − s = rest²."""
        pair, _ = share_probability(2, _relative(level, 1 - rest**2))
        others, error = share_probability(dimension - 2, _relative(level, rest**2))
        errors.append(error)
        return (dimension - 2) * rest ** (dimension - 3) * pair * others

    # The shares of the pair and of the others are limited where s = jy, j ≤ 2, and 1 − s = jy, j ≤ d − 2.
    kinks = {1 - level, 1 - 2 * level, *(count * level for count in range(1, dimension - 1))}
    stops = sorted(mpmath.sqrt(kink) for kink in kinks if 0 < kink < 1)
    value, error = mpmath.quad(integrand, [0, *stops, 1], error=True)
    return value, error + max(errors)


def _relative(level: mpmath.mpf, part: mpmath.mpf) -> mpmath.mpf:
    """The share of `part` that is the share y of the whole; a part that rounds to nothing holds no share above it."""
    return level / part if part else mpmath.inf


def failure_quadrature(_profile: Profile) -> Outcome:
    """`numeric`: integrated over the split of the energy, to the errors reported and the rounding of a float."""
    with mpmath.workdps(QUADRATURE_DIGITS):
        rows = [_failure_error(*case) for case in FAILURE_CASES]
    return Outcome(
        earned=all(error <= tolerance for error, tolerance in rows),
        detail={"cases_count": len(rows), "largest_error": max(error for error, _ in rows)},
    )


def _failure_error(dimension: int, power: int) -> tuple[float, float]:
    level = 1 - mpmath.mpf(dimension - 1) ** power / mpmath.mpf(dimension) ** power
    value, error = share_probability(dimension, level)
    stated = STATEMENTS["small_dimension_failure"].evaluate(d=dimension, q=power)
    # The stated probability is rounded once to a float below 1: 2^(−54).
    return float(abs(value - stated)), float(error + mpmath.mpf(2) ** -54)


def failure_frequency(generator: numpy.random.Generator, count: int, *, dimension: int, power: int) -> float:
    """Share of Gaussian vectors whose ratio at k = 1 exceeds (1 − 1/d)^power."""
    squares = generator.standard_normal((count, dimension)) ** 2
    ratios = 1 - squares.max(axis=1) / squares.sum(axis=1)
    return float(numpy.mean(ratios > (1 - 1 / dimension) ** power))


def failure_simulation(profile: Profile) -> Outcome:
    """`simulated`: frequencies within STANDARD_ERRORS of the stated probability, for every case."""
    count = min(VECTORS_PER_EXAMPLE * profile.examples_count, LARGEST_VECTOR_COUNT)
    generator = numpy.random.default_rng(SEED)
    rows = [_frequency_row(generator, count, dimension=dimension, power=power) for dimension, power in FAILURE_CASES]
    return Outcome(
        earned=all(abs(row["frequency"] - row["stated"]) <= row["allowance"] for row in rows),
        detail={"samples_count": count, "rows": rows},
    )


def _frequency_row(generator: numpy.random.Generator, count: int, *, dimension: int, power: int) -> dict[str, float]:
    stated = STATEMENTS["small_dimension_failure"].evaluate(d=dimension, q=power)
    frequency = failure_frequency(generator, count, dimension=dimension, power=power)
    allowance = STANDARD_ERRORS * (stated * (1 - stated) / count) ** 0.5
    return {"dimension": dimension, "power": power, "stated": stated, "frequency": frequency, "allowance": allowance}


CHECKS: dict[str, dict[Grade, Check]] = {
    "small_dimension_failure": {
        "numeric": failure_quadrature,
        "simulated": failure_simulation,
    },
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "small_dimension_failure": (
        # Of one coordinate nothing is left behind.
        Edge("d >= 2", {"d": 1, "q": 1}, left=lambda: 0),
        # One of three shares is at least 1/3, which is above y.
        Edge("RealPower(1 - 1/d, q) <= 2/3", {"d": 3, "q": Fraction(15, 16)}, left=lambda: 0),
    ),
}
"""What is said of the conditions, by label."""
