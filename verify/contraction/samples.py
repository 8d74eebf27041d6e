"""What evidence is there for the statements of `theory/contraction/samples.py`, besides their derivations?

Laws on a few squares are compared with other laws in fractions, which tests all but the cited inequality; samples test
the rest. Unbounded samples are in `verify/contraction/sample_moments.py`, Gaussian vectors of few coordinates in
`verify/contraction/small_dimensions.py`. Ours.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.language.symbols import energy, tail_area
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Remark, Unneeded
from sparsync.verify.tools.minima import alternatives
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

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
SAMPLES_PER_EXAMPLE = 20
"""Samples per hypothesis example of a profile, so that larger profiles draw more; at most LARGEST_SAMPLE_COUNT."""
LARGEST_SAMPLE_COUNT = 20_000
SAMPLE_SIZE = 400
"""Coordinates of a sample from a bounded law."""
DEVIATION_PROBABILITIES = (0.5, 0.2, 0.05)
"""The deviations that are tested are those for which the bound is about this."""
DECIMAL_DIGITS = 20
"""Of the logarithm of a bound over a probability, which is a rational number or exactly 0."""

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
    mean = law_energy(masses)
    return left / mean if mean else Fraction(0)


def law_energy(masses: Sequence[Fraction]) -> Fraction:
    """E v."""
    return sum((square * mass for square, mass in enumerate(masses)), Fraction(0))


def distribution_gaps(one: Sequence[Fraction], other: Sequence[Fraction]) -> list[Fraction]:
    """F − G on the cells [0, 1), [1, 2), … between squares, and 0 after the last square."""
    return list(accumulate(mine - theirs for mine, theirs in zip(one, other, strict=True)))


def distribution_distance(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """sup |F − G| of two laws on the same squares."""
    return max(abs(gap) for gap in distribution_gaps(one, other))


def largest_tail_area(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """sup_θ max(|∫_0^θ (F − G)|, |∫_θ^∞ (F − G)|), linear in θ between squares."""
    areas = list(accumulate(distribution_gaps(one, other), initial=Fraction(0)))
    return max(max(abs(area), abs(areas[-1] - area)) for area in areas)


def largest_deviation(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """sup_κ |ratio − ratio|: both are linear between the κ at which a mass ends."""
    ends = {1 - end for masses in (one, other) for end in accumulate(masses, initial=Fraction(0))}
    return max(abs(law_ratio(one, end) - law_ratio(other, end)) for end in ends)


def law_margin(law: Masses, other: Masses) -> Fraction:
    """bound − sup_κ |ρ_G(κ) − ρ_F(κ)|."""
    area = largest_tail_area(other, law)
    bound = STATEMENTS["law_distance"].fraction(energy=law_energy(law), tail_area=area)
    return bound - largest_deviation(law, other)


def law_members() -> st.SearchStrategy[tuple[Masses, Masses]]:
    """Two laws, the first with a positive mean; all squares, or 0 and the largest only."""
    squares = st.one_of(st.integers(0, LARGEST_SQUARE), st.sampled_from((0, LARGEST_SQUARE)))
    values = st.lists(squares, min_size=1, max_size=MAX_SAMPLE_SIZE)
    coins = st.lists(st.sampled_from((0, LARGEST_SQUARE)), min_size=1, max_size=MAX_SAMPLE_SIZE)
    pairs = st.one_of(st.tuples(values, values), st.tuples(coins, coins)).filter(lambda pair: any(pair[0]))
    return pairs.map(lambda pair: (_masses(pair[0]), _masses(pair[1])))


def law_queries() -> tuple[Query, ...]:
    """Whatever two laws are, their tails and means obey these premises: then neither ratio is far above the other.

    a = ∫_0^θ (G − F) and c = −∫_θ^∞ (G − F), at the θ of F's tail T where R − R_G is bounded, at that of G's otherwise.
    """
    whole, tail, other_tail = sympy.symbols("M T T_G", real=True)
    area, below, above = sympy.symbols("N a c", real=True)
    bounds = alternatives(STATEMENTS["law_distance"].bound)
    parts = [sympy.fraction(sympy.cancel(bound.xreplace({tail_area: area, energy: whole}) * whole)) for bound in bounds]
    other = whole - below + above
    premises = (
        *(sympy.Gt(mean, 0) for mean in (whole, other)),
        *(sympy.Ge(room, 0) for room in (tail, whole - tail, other_tail, other - other_tail)),
        *(sympy.Ge(area + sign * part, 0) for part in (below, above) for sign in (1, -1)),
    )
    cases = {
        "R − R_G": (sympy.Ge(other_tail, tail - below), tail * other - other_tail * whole),
        "R_G − R": (sympy.Ge(tail, other_tail + below), other_tail * whole - tail * other),
    }
    return tuple(
        Query(
            claim=f"{claim} is at most {bound}",
            premises=(*premises, best),
            conclusion=sympy.Le(denominator * difference, numerator * other),
            false_twin=sympy.Le(denominator * difference, numerator * other / 2),
        )
        for claim, (best, difference) in cases.items()
        for bound, (numerator, denominator) in zip(bounds, parts, strict=True)
    )


def sample_margin(sample: Masses, law: Masses, size: int) -> float:
    """ln(bound/min(1, 2 exp(−2dε²))) at ε = sup|F_d − F| and at the largest deviation over k.

    What is tested is that the deviation is stated with a probability no smaller than Massart's of its distance.

    Args:
        sample: masses that are multiples of 1/size.
        law: any masses with a positive mean.
        size: d.
    """
    densities = [Fraction(count, size) for count in range(1, size + 1)]
    deviation = max(abs(law_ratio(sample, density) - law_ratio(law, density)) for density in densities)
    if deviation == 0:
        return 1.0
    distance = distribution_distance(sample, law)
    bound = STATEMENTS["sample_ratio"].exact(
        d=size, deviation=deviation, mean_square=law_energy(law) / Fraction(len(law) - 1)
    )
    exponent = 2 * size * distance**2
    cited = sympy.Min(1, 2 * sympy.exp(-sympy.Rational(exponent.numerator, exponent.denominator)))
    return float(sympy.N(sympy.log(bound / cited), DECIMAL_DIGITS))


def sample_members() -> st.SearchStrategy[tuple[Masses, Masses, int]]:
    """A sample of size d, and a law that is near it or not; all squares, or 0 and the largest only."""
    squares, extremes = st.integers(0, LARGEST_SQUARE), st.sampled_from((0, LARGEST_SQUARE))
    pairs = [
        st.tuples(*(st.lists(values, min_size=1, max_size=MAX_SAMPLE_SIZE) for _ in range(2)))
        for values in (squares, extremes)
    ]
    return st.builds(
        _sample_and_law, st.one_of(*pairs).filter(lambda pair: any(pair[1])), st.integers(0, MIXTURE_PARTS - 1)
    )


def _sample_and_law(pair: tuple[Sequence[int], Sequence[int]], weight: int) -> tuple[Masses, Masses, int]:
    """The law mixes the sample with another one, and keeps a positive mean."""
    sample, other = (_masses(values) for values in pair)
    share = Fraction(weight, MIXTURE_PARTS)
    law = tuple(share * mine + (1 - share) * theirs for mine, theirs in zip(sample, other, strict=True))
    return sample, law, len(pair[0])


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
        deviation = math.sqrt(math.log(2 / probability) / (2 * SAMPLE_SIZE)) / mean_square
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


CHECKS: dict[str, dict[Grade, Check]] = {
    "law_distance": {
        "smt": smt_check(law_queries),
        "property": property_check(law_members, law_margin),
    },
    "sample_ratio": {
        "property": property_check(sample_members, sample_margin),
        "simulated": sample_simulation,
    },
}
"""The checks of this file and of the two files it names, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "sample_ratio": (Unneeded("mean_square <= 1", "no law with |u| ≤ B has a mean square above B²"),),
}
"""What is said of the conditions, by label."""
