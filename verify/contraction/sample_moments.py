"""What evidence is there for the statements of `theory/contraction/sample_moments.py`, besides their derivations?

The bound from moments is compared with laws of rare large squares, whose samples are counted exactly and come near it.
The two terms of the Gaussian bound are checked apart: the integral behind the first by ball arithmetic, the slope
behind the second on pairs of vectors in fractions. Samples test their sum. Ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy
import sympy
from flint import acb, arb, ctx
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.balls import PRECISION_BITS, exact_ball
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

SEED = 19810601
"""Seed of every sample here."""
ROOT_SCALE = 10**12
"""Square roots of fractions are rounded up to multiples of 1/ROOT_SCALE."""
LAST_LEVEL = 10
"""The integral ends at this many standard deviations; 4e^(−25) bounds the rest."""
INTEGRAL_TOLERANCE = 2.0**-40
"""Absolute error that is asked of the integral."""
TOO_SMALL_AREA = Fraction(7, 4)
"""A constant that the integral must refute: √d E N is bounded by more."""
MAX_DIMENSION = 6
"""Largest d of the pairs of vectors that a search draws."""
LARGEST_ENTRY = 64
"""Entries of those vectors are integers up to this."""
DECIMAL_DIGITS = 30
"""In which the slope is read from the bound."""
SAMPLE_SIZE = 10_000
"""Coordinates of a Gaussian sample."""
LARGEST_SAMPLE_COUNT = 2000
"""One sample is drawn per hypothesis example of a profile, but not more than this."""
FAILURES = (0.5, 0.2, 0.05)
"""Values of f for which frequencies are counted."""
STANDARD_ERRORS = 5.0
"""A frequency leaves its probability by more with probability below 6·10^(−7), in the normal approximation."""

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Spikes:
    """A law of squares: 1 + height with probability chance, else 1; samples have size coordinates, a square number."""

    size: int
    chance: Fraction
    height: Fraction

    def kurtosis(self) -> Fraction:
        """E v²/(E v)²."""
        mean = 1 + self.chance * self.height
        return (1 - self.chance + self.chance * (1 + self.height) ** 2) / mean**2

    def single_chance(self) -> Fraction:
        """At most P(exactly one spike) = d c (1 − c)^(d−1), by Bernoulli's inequality."""
        expected = self.size * self.chance
        return expected * (1 - (self.size - 1) * self.chance)

    def single_deviation(self) -> Fraction:
        """|ratio − ratio of the law| at k = 1 of a sample with one spike; a share of at most 1/d are spikes.

        Raises:
            ValueError: spikes are more frequent than 1/d, or the size is no square.
        """
        if self.chance * self.size > 1 or math.isqrt(self.size) ** 2 != self.size:
            raise ValueError(f"needs a square size and at most one spike expected, got {self}")
        law = (1 - Fraction(1, self.size)) / (1 + self.chance * self.height)
        return abs(law - (self.size - 1) / (self.size + self.height))


SPIKE_LAWS = tuple(
    Spikes(size=10**decades, chance=Fraction(1, 10 ** (decades + rarity)), height=10**decades * share)
    for decades in (4, 8, 12)
    for rarity in (2, 4, 6)
    for share in (Fraction(1, 100), Fraction(1, 10), Fraction(1))
)
"""One spike holds about `share` of the energy, and appears with probability 10^(−rarity)."""


def spike_margin(law: Spikes) -> Fraction:
    """bound/deviation − 1 for the f at which the bound may not yet be below the deviation.

    A deviation of probability P must be allowed at every f < P. Both √K and √((K − 1)(1 − f)/f) are made rational by
    rounding K up, by less than 3√K/ROOT_SCALE, and f down.
    """
    root = _root_above(law.kurtosis())
    excess = root**2 - 1
    odds_root = _root_above(excess * (1 / law.single_chance() - 1))
    failure = excess / (excess + odds_root**2)
    bound = STATEMENTS["moment_sample_ratio"].fraction(d=law.size, failure=failure, kurtosis=root**2)
    return bound / law.single_deviation() - 1


def _root_above(value: Fraction) -> Fraction:
    """A fraction slightly above √value."""
    return Fraction(math.isqrt(int(value * ROOT_SCALE**2)) + 1, ROOT_SCALE)


def spike_check(_profile: Profile) -> Outcome:
    """`rational`: no law of rare spikes deviates by more than the bound with more than its probability."""
    margins = [spike_margin(law) for law in SPIKE_LAWS]
    return Outcome(
        earned=min(margins) >= 0,
        detail={"laws_count": len(margins), "smallest_margin": float(min(margins))},
    )


def root_variance_integral() -> arb:
    """∫_0^∞ √(F(1 − F)) dx for the squares of a standard Gaussian coordinate, in x = z²: F = erf(z/√2)."""

    def integrand(level: acb, analytic: bool) -> acb:
        scaled = level / acb(2).sqrt()
        return 2 * level * (scaled.erf() * scaled.erfc()).sqrt(analytic=analytic)

    with ctx.workprec(PRECISION_BITS):
        inside = acb.integral(integrand, 0, LAST_LEVEL, abs_tol=INTEGRAL_TOLERANCE).real
        # erfc(z/√2) ≤ e^(−z²/2), whose root times 2z has the integral 4e^(−z²/4).
        beyond = 4 * (-(arb(LAST_LEVEL) ** 2) / 4).exp()
        return inside.union(inside + beyond)


def area_check(_profile: Profile) -> Outcome:
    """`ball`: √d times the bound at f = 1 is at least (∫√(F(1 − F)) + √2)/2, which a smaller constant is not."""
    size = 4
    stated = STATEMENTS["gaussian_sample_ratio"].fraction(d=size, failure=1) * math.isqrt(size)
    with ctx.workprec(PRECISION_BITS):
        needed = (root_variance_integral() + arb(2).sqrt()) / 2
        holds = bool(exact_ball(stated) > needed) and bool(exact_ball(TOO_SMALL_AREA) < needed)
    return Outcome(earned=holds, detail={"stated": float(stated), "needed": float(needed.mid())})


def vector_ratio(vector: Vector, count: int) -> Fraction:
    """Share of the energy outside the `count` largest magnitudes."""
    squares = sorted((entry**2 for entry in vector), reverse=True)
    return Fraction(sum(squares[count:]), sum(squares))


def squared_slope(first: Vector, second: Vector, count: int) -> Fraction:
    """(ρ_k(u) − ρ_k(u'))²/sin²∠(u, u'), which is at most 1; 0 for parallel vectors.

    Over every set of k coordinates the two shares differ by at most sin∠: uuᵀ − u'u'ᵀ, for unit vectors, has the
    eigenvalues ±sin∠ and 0.
    """
    norms = sum(entry**2 for entry in first) * sum(entry**2 for entry in second)
    product = sum(one * other for one, other in zip(first, second, strict=True))
    squared_sine = 1 - Fraction(product**2, norms)
    if squared_sine == 0:
        return Fraction(0)
    return (vector_ratio(first, count) - vector_ratio(second, count)) ** 2 / squared_sine


def implied_squared_slope() -> float:
    """The square of the Lipschitz constant s in the second term √(2s² ln(1/f)/(d − 2)), read at a large d, f = 1/2."""
    statement = STATEMENTS["gaussian_sample_ratio"]
    term = statement.exact(d=SAMPLE_SIZE, failure=Fraction(1, 2)) - statement.exact(d=SAMPLE_SIZE, failure=1)
    return float(sympy.N(term**2 * (SAMPLE_SIZE - 2) / (2 * sympy.log(2)), DECIMAL_DIGITS))


def slope_check(profile: Profile) -> Outcome:
    """`property`: no pair of vectors has ratios further apart than the slope in the bound allows."""
    allowed = Fraction(implied_squared_slope())

    def margin(first: Vector, second: Vector, count: int) -> Fraction:
        return allowed - squared_slope(first, second, count)

    return property_check(slope_members, margin)(profile)


def slope_members() -> st.SearchStrategy[tuple[Vector, Vector, int]]:
    """Two vectors, near each other or not, and a count; two almost equal coordinates have almost the slope 1."""
    entries = st.integers(1, LARGEST_ENTRY)
    near_ties = entries.map(lambda entry: ((entry + 2, entry + 1), (entry + 2, entry), 1))
    return st.one_of(near_ties, st.integers(2, MAX_DIMENSION).flatmap(_vector_pairs))


def _vector_pairs(dimension: int) -> st.SearchStrategy[tuple[Vector, Vector, int]]:
    vectors = st.tuples(*(st.integers(1, LARGEST_ENTRY) for _ in range(dimension)))
    changes = st.tuples(*(st.integers(0, 1) for _ in range(dimension)))
    moved = st.tuples(vectors, changes).map(
        lambda pair: (pair[0], tuple(entry + change for entry, change in zip(*pair, strict=True)))
    )
    pairs = st.one_of(st.tuples(vectors, vectors), moved)
    return st.builds(lambda pair, count: (*pair, count), pairs, st.integers(1, dimension))


def gaussian_deviations(generator: numpy.random.Generator, count: int, size: int) -> NDArray[numpy.float64]:
    """max over k of |ratio of a Gaussian sample − ratio of the law|: [count]."""
    densities = numpy.arange(1, size + 1) / size
    levels = numpy.array([NormalDist().inv_cdf(1 - density / 2) for density in densities])
    expected = 1 - densities - math.sqrt(2 / math.pi) * levels * numpy.exp(-(levels**2) / 2)
    return numpy.array([_deviation(generator.standard_normal(size) ** 2, expected) for _ in range(count)])


def _deviation(squares: NDArray[numpy.float64], expected: NDArray[numpy.float64]) -> float:
    left = numpy.concatenate(([0.0], numpy.cumsum(numpy.sort(squares))))
    return float(numpy.abs(left[-2::-1] / left[-1] - expected).max())


def gaussian_simulation(profile: Profile) -> Outcome:
    """`simulated`: frequencies of larger deviations are at most f, and their mean is at most the bound at f = 1.

    Both up to STANDARD_ERRORS; how far the bound is above the quantiles and the mean is in the detail.
    """
    count = min(profile.examples_count, LARGEST_SAMPLE_COUNT)
    found = gaussian_deviations(numpy.random.default_rng(SEED), count, SAMPLE_SIZE)
    bounds = _bounds((*FAILURES, 1.0))
    exceeded = [float(numpy.mean(found > bound)) for bound in bounds[:-1]]
    allowed = [failure + STANDARD_ERRORS * math.sqrt(failure * (1 - failure) / count) for failure in FAILURES]
    error = STANDARD_ERRORS * float(found.std(ddof=1)) / math.sqrt(count)
    return Outcome(
        earned=all(share <= most for share, most in zip(exceeded, allowed, strict=True))
        and float(found.mean()) <= bounds[-1] + error,
        detail={
            "samples_count": count,
            "frequencies": exceeded,
            "bound_over_quantile": [
                bound / float(numpy.quantile(found, 1 - failure))
                for failure, bound in zip(FAILURES, bounds, strict=False)
            ],
            "bound_over_mean": bounds[-1] / float(found.mean()),
        },
    )


def _bounds(failures: Sequence[float]) -> list[float]:
    return [STATEMENTS["gaussian_sample_ratio"].evaluate(d=SAMPLE_SIZE, failure=failure) for failure in failures]


CHECKS: dict[str, dict[Grade, Check]] = {
    "moment_sample_ratio": {"rational": spike_check},
    "gaussian_sample_ratio": {
        "ball": area_check,
        "property": slope_check,
        "simulated": gaussian_simulation,
    },
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "moment_sample_ratio": (
        Edge("kurtosis >= 1", {"d": 400, "failure": Fraction(3, 4), "kurtosis": Fraction(31, 32)}),
        Edge("failure <= 1", {"d": 400, "failure": Fraction(33, 32), "kurtosis": 3}),
    ),
    "gaussian_sample_ratio": (
        Edge("d >= 3", {"d": 2, "failure": Fraction(1, 4)}),
        Edge("failure <= 1", {"d": 400, "failure": Fraction(33, 32)}),
    ),
}
"""What is said of the conditions, by label."""
