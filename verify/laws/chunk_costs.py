"""What evidence is there for the cost of chunks under a law, besides the derivations?

Laws on a few squares are exact: for each level, a chunk sends the smaller of k and the number of its entries there. The
slope for long chunks is extrapolated from the laws of `theory/laws/chunk_laws.py`. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb

import mpmath
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws.levels import normal_share
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

MAX_SIZE = 10
"""Largest chunk that a search draws or whose coins are all tried."""
LARGEST_SQUARE = 4
"""Squares of the laws that a search draws are 0..LARGEST_SQUARE."""
PARTS = 12
"""Coins are tried at multiples of 1/(PARTS b)."""
LEVELS = (0.25, 1.0, 1.75)
"""Levels z of the Gaussian at which the slope is extrapolated."""
SIZES = (64, 128, 256)
"""Entries of the chunks from which is extrapolated."""
DENSITIES = (Fraction(1, 16), Fraction(1, 4), Fraction(3, 4))

Masses = tuple[Fraction, ...]
"""P(v = 0), P(v = 1), … of a law of squares."""


def chunk_ratio(masses: Sequence[Fraction], size: int, count: int) -> Fraction:
    """ε_b: Σ over levels of E max(N − k, 0) for N entries of b there or above, over b E v."""
    above = [sum(masses[level:], Fraction(0)) for level in range(1, len(masses))]
    left = sum((_mean_beyond(size, share, count) for share in above), Fraction(0))
    energy = size * sum(above, Fraction(0))
    return left / energy if energy else Fraction(0)


def _mean_beyond(size: int, share: Fraction, count: int) -> Fraction:
    """E max(N − k, 0) of a binomial number."""
    return sum(
        (
            (found - count) * comb(size, found) * share**found * (1 - share) ** (size - found)
            for found in range(count + 1, size + 1)
        ),
        Fraction(0),
    )


def law_ratio(masses: Sequence[Fraction], density: Fraction) -> Fraction:
    """ε: Σ over levels of max(P(v ≥ level) − κ, 0), over E v."""
    above = [sum(masses[level:], Fraction(0)) for level in range(1, len(masses))]
    energy = sum(above, Fraction(0))
    return sum((max(Fraction(0), share - density) for share in above), Fraction(0)) / energy if energy else Fraction(0)


def excess_margin(masses: Masses, size: int, count: int) -> Fraction:
    """bound − excess; the excess itself where it is negative, since chunks never send more."""
    excess = chunk_ratio(masses, size, count) - law_ratio(masses, Fraction(count, size))
    bound = STATEMENTS["chunk_law_excess"].fraction(chunk_size=size, k=count)
    return excess if excess < 0 else bound - excess


def excess_members() -> st.SearchStrategy[tuple[Masses, int, int]]:
    """Laws on a few squares, and the coin with probability k/b."""

    def drawn(size: int) -> st.SearchStrategy[tuple[Masses, int, int]]:
        weights = st.lists(st.integers(0, 5), min_size=2, max_size=LARGEST_SQUARE + 1).filter(any).map(_normalised)
        return st.integers(1, size).flatmap(
            lambda count: st.tuples(st.one_of(weights, st.just(_coin(size, count))), st.just(size), st.just(count))
        )

    return st.integers(1, MAX_SIZE).flatmap(drawn)


def _normalised(weights: list[int]) -> Masses:
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def _coin(size: int, count: int) -> Masses:
    return (1 - Fraction(count, size), Fraction(count, size))


def coin_check(_profile: Profile) -> Outcome:
    """`rational`: of all coins on a grid the largest excess is the bound, at probability k/b."""
    agrees = [
        max(_coin_excess(size, count, Fraction(part, PARTS * size)) for part in range(1, PARTS * size + 1))
        == STATEMENTS["chunk_law_excess"].fraction(chunk_size=size, k=count)
        for size in range(1, MAX_SIZE // 2 + 1)
        for count in range(1, size + 1)
    ]
    return Outcome(earned=all(agrees), detail={"shapes_count": len(agrees)})


def _coin_excess(size: int, count: int, chance: Fraction) -> Fraction:
    masses = (1 - chance, chance)
    return chunk_ratio(masses, size, count) - law_ratio(masses, Fraction(count, size))


def slope_margin(label: str, density: Fraction) -> float:
    """1 − |extrapolated slope − bound|/room, the room being how far two extrapolations are apart.

    b(ε_b − ε) = slope + c/b + …: twice the value at 2b less that at b has an error of order 1/b², which falls by four.
    """
    values = [size * float(_excess(label, size, density)) for size in SIZES]
    first, second = (2 * later - sooner for sooner, later in pairwise(values))
    level, height, energy = _level(label, density)
    stated = STATEMENTS["chunk_first_order"].evaluate(
        kappa=density, kept_level=level, density_at_level=height, energy=energy
    )
    return 1 - abs(second - stated) / abs(second - first)


def _excess(label: str, size: int, density: Fraction) -> mpmath.mpf:
    count = int(size * density)
    with mpmath.workdps(40):
        stated = STATEMENTS[f"{label}_chunks"].exact(chunk_size=size, k=count)
        whole = STATEMENTS[f"{label}_law"].exact(kappa=density)
        return mpmath.mpf(str((stated - whole).evalf(30)))


def _level(label: str, density: Fraction) -> tuple[float, float, float]:
    """z, f(z) and E u² of the laws restated."""
    share = float(density)
    if label == "uniform":
        return 1 - share, 1.0, 1 / 3
    if label == "laplace":
        return float(-mpmath.log(share)), share, 2.0
    level = mpmath.findroot(lambda place: normal_share(place) - share, (0, 10), solver="bisect", tol=1e-24)
    return float(level), float(2 * mpmath.npdf(level)), 1.0


def slope_check(_profile: Profile) -> Outcome:
    """`numeric`: three laws at three densities have the stated slope."""
    margins = [slope_margin(label, density) for label in ("uniform", "laplace", "gaussian") for density in DENSITIES]
    return Outcome(earned=min(margins) >= 0, detail={"slopes_count": len(margins), "smallest_margin": min(margins)})


def slope_members() -> st.SearchStrategy[tuple[str, Fraction]]:
    """The two laws that are quickly evaluated, at any density of sixteenths."""
    return st.tuples(st.sampled_from(("uniform", "laplace")), st.integers(1, 15).map(lambda part: Fraction(part, 16)))


CHECKS: dict[str, dict[Grade, Check]] = {
    "chunk_law_excess": {
        "rational": coin_check,
        "property": property_check(excess_members, excess_margin),
    },
    "chunk_first_order": {
        "numeric": slope_check,
        "property": property_check(slope_members, slope_margin),
    },
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "chunk_law_excess": (
        Unneeded("k <= chunk_size", "a chunk sends no more entries than it has; beyond, the binomial coefficient is 0"),
    ),
    "chunk_first_order": (
        Edge("kappa < 1", {"kappa": Fraction(33, 32), "kept_level": 1, "density_at_level": 1, "energy": 1}),
    ),
}
"""What is true beyond the conditions."""
