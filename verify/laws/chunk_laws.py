"""What evidence is there for the ratios of laws in chunks, besides their derivations?

Order statistics by other roads: polynomials integrated exactly, Rényi's sums of exponential variables, quadrature of
the share sent by the binomial tail, and samples of chunks. Ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb

import mpmath
import numpy as np
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile

SEED = 19531113
SHAPES = ((2, 1), (5, 2), (16, 1), (64, 8))
"""Entries of a chunk and how many it sends, for samples and quadrature."""
LARGEST_SIZE = 12
"""Largest chunk whose order statistics are all computed exactly."""
SAMPLED_ENTRIES = 2**21
"""Entries of a sample: the standard error of a ratio is below 0.002 of it for the shapes above."""
LARGEST_DEVIATION = 6.0
"""In standard errors; exceeded with probability 2·10⁻⁹ by a normal variable."""
DIGITS = 25
"""Working precision of the quadrature."""
QUADRATURE_ROOM = mpmath.mpf(10) ** -12
"""Relative room for a quadrature of 25 digits beside the rounding of a float, 10^(−16): its own estimate is smaller."""

Sampler = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


@dataclass(frozen=True)
class ChunkLaw:
    """A law restated: how squares are drawn, and the exact ratio of small chunks where there is one.

    Args:
        draw: squares of the given shape.
        exact: b and k to the ratio; None where there is none.
        quantile: t to the square that is exceeded with probability t, and E u²; for quadrature.
    """

    draw: Sampler
    exact: Callable[[int, int], Fraction] | None
    quantile: Callable[[mpmath.mpf], mpmath.mpf]
    energy: int | Fraction


def uniform_ratio(size: int, count: int) -> Fraction:
    """1 − 3 ∫ (1 − t)² P(Bin(b − 1, t) < k) dt by ∫ t^x (1 − t)^(b+1−x) = x!(b + 1 − x)!/(b + 2)!."""
    others = size - 1
    sent = sum(
        (Fraction(comb(others, found), (size + 2) * comb(size + 1, found)) for found in range(count)), Fraction(0)
    )
    return 1 - 3 * sent


def laplace_ratio(size: int, count: int) -> Fraction:
    """By Rényi's sums: the i-th largest of b exponential variables is Σ_{i≤j≤b} x_j/j, x_j independent, E x_j = 1."""
    left = Fraction(0)
    for rank in range(count + 1, size + 1):
        mean = sum((Fraction(1, place) for place in range(rank, size + 1)), Fraction(0))
        variance = sum((Fraction(1, place**2) for place in range(rank, size + 1)), Fraction(0))
        left += mean**2 + variance
    return left / (2 * size)


CHUNK_LAWS: dict[str, ChunkLaw] = {
    "uniform_chunks": ChunkLaw(
        lambda generator, shape: generator.uniform(-1, 1, shape) ** 2,
        uniform_ratio,
        lambda t: (1 - t) ** 2,
        Fraction(1, 3),
    ),
    "laplace_chunks": ChunkLaw(
        lambda generator, shape: generator.exponential(size=shape) ** 2,
        laplace_ratio,
        lambda t: mpmath.log(t) ** 2,
        2,
    ),
    "gaussian_chunks": ChunkLaw(
        lambda generator, shape: generator.standard_normal(shape) ** 2,
        None,
        lambda t: 2 * mpmath.erfinv(1 - t) ** 2,
        1,
    ),
}
"""By label."""


def exact_check(_profile: Profile, *, label: str) -> Outcome:
    """`rational`: all chunks of up to LARGEST_SIZE entries have exactly the stated ratio."""
    exact = CHUNK_LAWS[label].exact
    assert exact is not None
    cases = [(size, count) for size in range(1, LARGEST_SIZE + 1) for count in range(1, size + 1)]
    agrees = [STATEMENTS[label].fraction(chunk_size=size, k=count) == exact(size, count) for size, count in cases]
    return Outcome(earned=all(agrees), detail={"shapes_count": len(agrees)})


def sent_by_quadrature(label: str, size: int, count: int) -> mpmath.mpf:
    """∫ Q(t) P(Bin(b − 1, t) < k) dt / E u²: what is sent, without the Beta law."""
    law = CHUNK_LAWS[label]

    def integrand(share: mpmath.mpf) -> mpmath.mpf:
        terms = (comb(size - 1, found) * share**found * (1 - share) ** (size - 1 - found) for found in range(count))
        return law.quantile(share) * mpmath.fsum(terms)

    energy = mpmath.mpf(Fraction(law.energy).numerator) / Fraction(law.energy).denominator
    mean = mpmath.mpf(count) / size
    return mpmath.quad(integrand, [0, mean / 4, mean, min(4 * mean, (1 + mean) / 2), 1]) / energy


def quadrature_check(_profile: Profile, *, label: str) -> Outcome:
    """`numeric`: one less the share sent, by quadrature, is the stated ratio."""
    errors = []
    with mpmath.workdps(DIGITS):
        for size, count in SHAPES:
            expected = 1 - sent_by_quadrature(label, size, count)
            stated = STATEMENTS[label].evaluate(chunk_size=size, k=count)
            errors.append(float(abs(stated - expected) / (expected * QUADRATURE_ROOM)))
    return Outcome(
        earned=max(errors) <= 1, detail={"shapes_count": len(errors), "largest_error_over_room": max(errors)}
    )


def sample_check(_profile: Profile, *, label: str) -> Outcome:
    """`simulated`: the ratio of many chunks deviates by less than LARGEST_DEVIATION standard errors."""
    deviations = [sampled_deviation(label, size, count) for size, count in SHAPES]
    return Outcome(
        earned=max(map(abs, deviations)) < LARGEST_DEVIATION,
        detail={"shapes_count": len(deviations), "largest_deviation_in_standard_errors": max(map(abs, deviations))},
    )


def sampled_deviation(label: str, size: int, count: int) -> float:
    """Σ_chunks (left − ε·total), over its standard error."""
    squares = CHUNK_LAWS[label].draw(np.random.default_rng((SEED, size, count)), (SAMPLED_ENTRIES // size, size))
    ordered = np.sort(squares, axis=1)
    terms = ordered[:, : size - count].sum(axis=1)
    terms -= STATEMENTS[label].evaluate(chunk_size=size, k=count) * ordered.sum(axis=1)
    return float(terms.mean() / terms.std() * np.sqrt(len(terms)))


def _checks(label: str) -> dict[Grade, Check]:
    others: dict[Grade, Check] = {
        "numeric": partial(quadrature_check, label=label),
        "simulated": partial(sample_check, label=label),
    }
    exact: dict[Grade, Check] = {"rational": partial(exact_check, label=label)}
    return exact | others if CHUNK_LAWS[label].exact else others


CHECKS: dict[str, dict[Grade, Check]] = {label: _checks(label) for label in CHUNK_LAWS}
"""The checks of this file, by label and grade."""

_NO_MORE = "a chunk sends no more entries than it has; one more gives 0 by the same formula, which is what is left"
EDGES: dict[str, tuple[Remark, ...]] = {
    "uniform_chunks": (Unneeded("k <= chunk_size", _NO_MORE),),
    "laplace_chunks": (Unneeded("k <= chunk_size", _NO_MORE),),
    "gaussian_chunks": (Edge("k <= chunk_size", {"k": 4, "chunk_size": 3}),),
}
"""What is true beyond the conditions."""
