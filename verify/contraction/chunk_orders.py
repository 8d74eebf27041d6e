"""What evidence is there for shapes of the whole vector under Top-k in chunks, besides their derivations?

Each class has finitely many extreme rays at a given size: weights cut after n ranks, and ramps. With neighbours in rank
in one chunk all of them are tried (`rational`); searches also draw the assignment (`property`). Ours.
"""

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.chunks import INTEGER_POWERS, Squares, chunk_ratio
from sparsync.verify.contraction.shapes import assumed_power, power_of_ramp
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import points
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

MAX_NUMBER, MAX_SIZE = 4, 4
"""Most chunks, and most entries of a chunk, that a search draws."""
LARGEST_DIMENSION = 24
"""Largest vector whose rays are all tried."""

Places = tuple[int, ...]
"""A permutation of the ranks: the first b of them are those of the first chunk."""


def assigned_ratio(squares: Sequence[Fraction], places: Places, size: int, count: int) -> Fraction:
    """The ratio where chunk after chunk takes the next ranks of the permutation."""
    chunks = [
        (tuple(squares[rank] for rank in places[start : start + size]), count) for start in range(0, len(places), size)
    ]
    return chunk_ratio(chunks)


def cut_rays(profile: Profile) -> Outcome:
    """`rational`: over all cuts of the weights the largest ratio of consecutive ranks is the bound."""
    agrees = [
        max(_cut_ratio(power, number, size, count, kept) for kept in range(1, number * size + 1))
        == STATEMENTS["chunk_star_shaped"].fraction(chunk_number=number, chunk_size=size, k=count, p=Fraction(2, power))
        for power in INTEGER_POWERS
        for number, size, count in _shapes(profile)
    ]
    return Outcome(earned=bool(agrees) and all(agrees), detail={"shapes_count": len(agrees)})


def _cut_ratio(power: int, number: int, size: int, count: int, kept: int) -> Fraction:
    weights = points(number * size, assumed_power("chunk_star_shaped", power))
    squares = [Fraction(weight if rank < kept else 0) for rank, weight in enumerate(weights)]
    return assigned_ratio(squares, tuple(range(len(squares))), size, count)


def ramp_rays(profile: Profile) -> Outcome:
    """`rational`: over all ramps the largest ratio of consecutive ranks is the bound."""
    agrees = [
        max(_ramp_ratio(number, size, count, length) for length in range(1, number * size + 1))
        == STATEMENTS["chunk_convex"].fraction(chunk_number=number, chunk_size=size, k=count)
        for number, size, count in _shapes(profile)
    ]
    return Outcome(earned=bool(agrees) and all(agrees), detail={"shapes_count": len(agrees)})


def _ramp_ratio(number: int, size: int, count: int, length: int) -> Fraction:
    squares = [Fraction(max(0, length - rank)) for rank in range(number * size)]
    return assigned_ratio(squares, tuple(range(len(squares))), size, count)


def _shapes(profile: Profile) -> list[tuple[int, int, int]]:
    largest = min(max(profile.dimensions), LARGEST_DIMENSION)
    return [
        (number, size, count)
        for number in range(1, largest + 1)
        for size in range(1, largest // number + 1)
        for count in range(1, size + 1)
    ]


def star_margin(power: int, squares: Squares, places: Places, size: int, count: int) -> Fraction:
    """bound − ratio for a vector of the class and any assignment."""
    number = len(squares) // size
    stated = STATEMENTS["chunk_star_shaped"].fraction(
        chunk_number=number, chunk_size=size, k=count, p=Fraction(2, power)
    )
    return stated - assigned_ratio(squares, places, size, count)


def star_members() -> st.SearchStrategy[tuple[int, Squares, Places, int, int]]:
    """Vectors of the class, some cut after the first chunk, and assignments, some of them in the order of the ranks."""

    def drawn(power: int, number: int, size: int) -> st.SearchStrategy[tuple[int, Squares, Places, int, int]]:
        dimension = number * size
        weights = power_of_ramp(power)(dimension)
        cut = tuple(Fraction(weight if rank < size else 0) for rank, weight in enumerate(weights))
        inside = star_shaped(power_of_ramp(power), min_dimension=dimension, max_dimension=dimension)
        squares = st.one_of(st.just(cut), inside.map(lambda pair: pair[0]))
        return st.tuples(st.just(power), squares, _places(dimension), st.just(size), st.integers(1, size))

    shapes = st.tuples(st.sampled_from(INTEGER_POWERS), st.integers(1, MAX_NUMBER), st.integers(1, MAX_SIZE))
    return shapes.flatmap(lambda shape: drawn(*shape))


def convex_margin(bends: tuple[int, ...], places: Places, size: int, count: int) -> Fraction:
    """bound − ratio for v_i = Σ_t bend_t max(t − i, 0), any assignment."""
    dimension = len(bends)
    squares = [
        Fraction(sum(bend * max(0, length - rank) for length, bend in enumerate(bends, start=1)))
        for rank in range(dimension)
    ]
    stated = STATEMENTS["chunk_convex"].fraction(chunk_number=dimension // size, chunk_size=size, k=count)
    return stated - assigned_ratio(squares, places, size, count)


def convex_members() -> st.SearchStrategy[tuple[tuple[int, ...], Places, int, int]]:
    """Sums of ramps, some of them the longest alone."""

    def drawn(number: int, size: int) -> st.SearchStrategy[tuple[tuple[int, ...], Places, int, int]]:
        dimension = number * size
        longest = (*(0,) * (dimension - 1), 1)
        bends = st.lists(st.integers(0, 3), min_size=dimension, max_size=dimension).map(tuple)
        return st.tuples(st.one_of(st.just(longest), bends), _places(dimension), st.just(size), st.integers(1, size))

    return st.tuples(st.integers(1, MAX_NUMBER), st.integers(1, MAX_SIZE)).flatmap(lambda shape: drawn(*shape))


def _places(dimension: int) -> st.SearchStrategy[Places]:
    ranks = tuple(range(dimension))
    return st.one_of(st.just(ranks), st.permutations(ranks).map(tuple))


CHECKS: dict[str, dict[Grade, Check]] = {
    "chunk_star_shaped": {"rational": cut_rays, "property": property_check(star_members, star_margin)},
    "chunk_convex": {"rational": ramp_rays, "property": property_check(convex_members, convex_margin)},
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "chunk_star_shaped": (Edge("k <= chunk_size", {"k": 3, "chunk_size": 2, "chunk_number": 2, "p": 2}),),
    "chunk_convex": (Edge("k <= chunk_size", {"k": 3, "chunk_size": 2, "chunk_number": 2}),),
}
"""What is false beyond the conditions."""
