"""What evidence is there for `sample_ratio` and `small_dimension_failure`, besides their derivations?

Empirical laws are compared with other laws in fractions, which tests all but the cited inequality; samples test the
rest. The probability for Gaussian vectors is computed again by integrating over one coordinate at a time. Ours.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import property_check

SEED = 19900701
"""Seed of every sample here."""
LARGEST_SQUARE = 6
"""Squares of the small laws are 0..LARGEST_SQUARE."""
MAX_SAMPLE_SIZE = 8
"""Largest sample that a search draws."""
MIXTURE_PARTS = 64
"""The law that a search draws is the sample's up to a multiple of 1/MIXTURE_PARTS."""
STANDARD_ERRORS = 5.0
"""A frequency leaves its probability by more with probability below 6·10^(−7), in the normal approximation."""
VECTORS_PER_EXAMPLE = 400
"""Gaussian vectors per hypothesis example of a profile, so that larger profiles draw more."""
SAMPLES_PER_EXAMPLE = 20
"""The same for samples of SAMPLE_SIZE coordinates, of which there are at most LARGEST_SAMPLE_COUNT."""
LARGEST_SAMPLE_COUNT = 20_000
SAMPLE_SIZE = 400
"""Coordinates of a sample from a bounded law."""
DEVIATION_PROBABILITIES = (0.5, 0.2, 0.05)
"""The deviations that are tested are those for which the bound is about this."""
FAILURE_CASES = ((2, 2), (2, 3), (3, 2), (3, 3), (4, 3))
"""Pairs (d, q) of the domain."""
QUADRATURE_DIGITS = 20
"""Working precision of the quadrature."""

Masses = tuple[Fraction, ...]
"""P(v = 0), P(v = 1), … of a law of squares on 0..B."""
Sampler = Callable[[numpy.random.Generator, tuple[int, int]], NDArray[numpy.float64]]
"""Draws squares of the given shape, at most 1."""


def law_ratio(masses: Sequence[Fraction], density: Fraction) -> Fraction:
    """Share of the energy in the smallest 1 − κ of the mass: ∫_κ^1 Q / ∫_0^1 Q for quantiles Q that fall with rank."""
    remaining, left = 1 - density, Fraction(0)
    for square, mass in enumerate(masses):
        taken = min(mass, remaining)
        left, remaining = left + taken * square, remaining - taken
    mean = sum(square * mass for square, mass in enumerate(masses))
    return left / mean if mean else Fraction(0)


def distribution_distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """sup |F − G| of two laws on the same squares."""
    steps = [mine - theirs for mine, theirs in zip(one, other, strict=True)]
    return max(abs(sum(steps[: end + 1], Fraction(0))) for end in range(len(steps)))


def implied_distance_squared(*, deviation: Fraction, mean_square: Fraction) -> Fraction:
    """ε² in the bound 2 exp(−2dε²), read from the statement at d = 1, exactly."""
    bound = STATEMENTS["sample_ratio"].exact(d=1, deviation=deviation, mean_square=mean_square)
    exponent = sympy.log(bound / 2) / -2
    return Fraction(int(exponent.p), int(exponent.q))


def sample_margin(sample: Masses, law: Masses, size: int) -> Fraction:
    """1 − (ε/sup|F_d − F|)² for the ε at which the bound is stated, at the k with the largest deviation x.

    What is tested is that a deviation x needs a distance of at least ε: the probability of that distance is Massart's.

    Args:
        sample: masses that are multiples of 1/size.
        law: any masses with a positive mean.
        size: d.
    """
    densities = [Fraction(count, size) for count in range(1, size + 1)]
    deviation = max(abs(law_ratio(sample, density) - law_ratio(law, density)) for density in densities)
    distance = distribution_distance(sample, law)
    mean_square = sum(square * mass for square, mass in enumerate(law)) / Fraction(len(law) - 1)
    if deviation == 0:
        return Fraction(1)
    return 1 - implied_distance_squared(deviation=deviation, mean_square=mean_square) / distance**2


def sample_members() -> st.SearchStrategy[tuple[Masses, Masses, int]]:
    """A sample of size d, and a law that is near it or not."""
    squares = st.integers(0, LARGEST_SQUARE)
    extremes = st.sampled_from((0, LARGEST_SQUARE))
    values = st.one_of(
        st.lists(squares, min_size=1, max_size=MAX_SAMPLE_SIZE),
        st.lists(extremes, min_size=1, max_size=MAX_SAMPLE_SIZE),
    )
    others = st.lists(squares, min_size=1, max_size=MAX_SAMPLE_SIZE).filter(any)
    return st.builds(_pair, values, others, st.integers(0, MIXTURE_PARTS - 1))


def _pair(values: Sequence[int], others: Sequence[int], weight: int) -> tuple[Masses, Masses, int]:
    """The law mixes the sample with another one, and keeps a positive mean."""
    sample, other = _masses(values), _masses(others)
    share = Fraction(weight, MIXTURE_PARTS)
    return (
        sample,
        tuple(share * mine + (1 - share) * theirs for mine, theirs in zip(sample, other, strict=True)),
        len(values),
    )


def _masses(values: Sequence[int]) -> Masses:
    return tuple(Fraction(values.count(square), len(values)) for square in range(LARGEST_SQUARE + 1))


def uniform_squares(generator: numpy.random.Generator, shape: tuple[int, int]) -> NDArray[numpy.float64]:
    """Squares of coordinates uniform on [−1, 1]: mean 1/3, ratio (1 − κ)³."""
    return generator.random(shape) ** 2


def coin_squares(generator: numpy.random.Generator, shape: tuple[int, int]) -> NDArray[numpy.float64]:
    """Squares 0 or 1, each with probability 1/2: mean 1/2, ratio max(0, 1 − 2κ)."""
    return generator.integers(0, 2, shape).astype(numpy.float64)


BOUNDED_LAWS: dict[str, tuple[Sampler, float, Callable[[NDArray[numpy.float64]], NDArray[numpy.float64]]]] = {
    "uniform": (uniform_squares, 1 / 3, lambda densities: (1 - densities) ** 3),
    "coin": (coin_squares, 1 / 2, lambda densities: numpy.maximum(0.0, 1 - 2 * densities)),
}
"""Sampler, E u²/B² and ratio as a function of κ."""


def deviations(name: str, count: int) -> NDArray[numpy.float64]:
    """max over k of |ratio of the sample − ratio of the law|, for independent samples of SAMPLE_SIZE: [count]."""
    sampler, _, ratio = BOUNDED_LAWS[name]
    squares = numpy.sort(sampler(numpy.random.default_rng(SEED), (count, SAMPLE_SIZE)), axis=1)
    sums = numpy.cumsum(squares, axis=1)
    left = numpy.hstack((numpy.zeros((count, 1)), sums[:, :-1]))[:, ::-1] / numpy.maximum(sums[:, -1:], 1e-300)
    expected = ratio(numpy.arange(1, SAMPLE_SIZE + 1) / SAMPLE_SIZE)
    return numpy.asarray(numpy.abs(left - expected).max(axis=1))


def sample_simulation(profile: Profile) -> Outcome:
    """`simulated`: no deviation is more frequent than its bound by more than STANDARD_ERRORS."""
    count = min(SAMPLES_PER_EXAMPLE * profile.examples_count, LARGEST_SAMPLE_COUNT)
    rows = [row for name in BOUNDED_LAWS for row in _deviation_rows(name, count)]
    return Outcome(
        earned=all(row["frequency"] <= row["bound"] + row["allowance"] for row in rows),
        detail={"samples_count": count, "rows": rows},
    )


def _deviation_rows(name: str, count: int) -> list[dict[str, float]]:
    mean_square = BOUNDED_LAWS[name][1]
    found = deviations(name, count)
    rows = []
    for probability in DEVIATION_PROBABILITIES:
        distance = (numpy.log(2 / probability) / (2 * SAMPLE_SIZE)) ** 0.5
        deviation = float(distance / (mean_square - distance))
        bound = STATEMENTS["sample_ratio"].evaluate(d=SAMPLE_SIZE, deviation=deviation, mean_square=mean_square)
        share = min(bound, 1.0)
        rows.append(
            {
                "deviation": deviation,
                "bound": bound,
                "frequency": float(numpy.mean(found >= deviation)),
                "allowance": STANDARD_ERRORS * (share * (1 - share) / count) ** 0.5,
            }
        )
    return rows


def share_probability(dimension: int, level: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P(every share v_i/Σv is below y), y ≥ 1/2, and the error that the quadrature reports.

    d = 2: the angle φ of the vector has sin²φ and cos²φ below y for the share (4/π) arcsin √y − 1 of the circle. More
    coordinates: the first has the share z² with density 2(1 − z²)^((d−3)/2)/B(1/2, (d−1)/2), the others share the rest.

    Raises:
        ValueError: dimension is below 2, or y below 1/2.
    """
    if dimension < 2 or level < mpmath.mpf(1) / 2:
        raise ValueError(f"needs dimension ≥ 2 and y ≥ 1/2, got {dimension} and {level}")
    if level >= 1:
        return mpmath.mpf(1), mpmath.mpf(0)
    if dimension == 2:
        return 4 / mpmath.pi * mpmath.asin(mpmath.sqrt(level)) - 1, mpmath.mpf(0)
    weight = 2 / mpmath.beta(mpmath.mpf(1) / 2, mpmath.mpf(dimension - 1) / 2)
    errors = [mpmath.mpf(0)]

    def integrand(place: mpmath.mpf) -> mpmath.mpf:
        rest = 1 - place**2
        inner, error = share_probability(dimension - 1, level / rest)
        errors.append(error)
        return weight * rest ** (mpmath.mpf(dimension - 3) / 2) * inner

    # From z² = 1 − y on, the others hold so little that none of them can exceed y.
    kink = mpmath.sqrt(1 - level)
    value, error = mpmath.quad(integrand, [0, kink, mpmath.sqrt(level)], error=True)
    return value, error + max(errors)


def failure_quadrature(_profile: Profile) -> Outcome:
    """`numeric`: integrated over one coordinate at a time, to the errors reported and the rounding of a float."""
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
    generator, count = numpy.random.default_rng(SEED), VECTORS_PER_EXAMPLE * profile.examples_count
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


SAMPLE_CHECKS: dict[str, dict[Grade, Check]] = {
    "sample_ratio": {
        "property": property_check(sample_members, sample_margin),
        "simulated": sample_simulation,
    },
    "small_dimension_failure": {
        "numeric": failure_quadrature,
        "simulated": failure_simulation,
    },
}
"""The checks of this file, by label and grade."""
