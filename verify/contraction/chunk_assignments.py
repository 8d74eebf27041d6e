"""What evidence is there for the cost of chunks against the whole vector, besides the derivations?

Means over assignments are exact: an entry is sent if fewer than k of those before it fall into its chunk, which is
hypergeometric, and small vectors are also assigned in every way. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.chunks import LEVELS, Squares, chunk_ratio, left_by_top
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

MAX_NUMBER, MAX_SIZE = 4, 5
"""Most chunks, and most entries of a chunk, that a search draws."""
LARGEST_DIMENSION = 12
"""Largest vector whose rays are all tried."""
ENUMERATED_DIMENSION = 6
"""Largest vector whose assignments are all tried."""
LARGEST_RATE_SIZE = 256
"""Largest chunk for which the rate is searched: 63/64 of it is exceeded from about k = 16 on."""
LONG_CHUNKS = ((2, 128, 64), (8, 256, 64), (64, 4096, 41))
"""Chunks, entries and entries sent, beside the small ones at which the rate is compared."""

Shape = tuple[int, int, int]
"""Chunks, entries of each, and how many each sends."""


def worst_excess_margin(counts: tuple[int, ...], size: int, count: int) -> Fraction:
    """bound − excess for chunks with so many squares of 1, and zeros; the excess itself where it is negative."""
    chunks = [(tuple(Fraction(int(place < ones)) for place in range(size)), count) for ones in counts]
    excess = _excess(chunks, count * len(counts))
    bound = STATEMENTS["chunk_against_whole"].fraction(chunk_number=len(counts), chunk_size=size, k=count)
    return excess if excess < 0 else bound - excess


def _excess(chunks: Sequence[tuple[Squares, int]], count: int) -> Fraction:
    whole = [square for squares, _ in chunks for square in squares]
    total = sum(whole, Fraction(0))
    return chunk_ratio(chunks) - left_by_top(whole, count) / total if total else Fraction(0)


def worst_excess_members() -> st.SearchStrategy[tuple[tuple[int, ...], int, int]]:
    """Numbers of ones in up to four chunks; in some, as many as attain the bound, in one chunk."""

    def drawn(number: int, size: int) -> st.SearchStrategy[tuple[tuple[int, ...], int, int]]:
        counts = st.lists(st.integers(0, size), min_size=number, max_size=number).map(tuple)
        some = st.tuples(counts, st.just(size), st.integers(1, size))
        return st.one_of(some, some.map(lambda case: ((min(size, number * case[2]), *(0,) * (number - 1)), *case[1:])))

    return st.tuples(st.integers(1, MAX_NUMBER), st.integers(1, MAX_SIZE)).flatmap(lambda shape: drawn(*shape))


def worst_excess_rays(profile: Profile) -> Outcome:
    """`rational`: over all numbers of ones in small chunks the smallest margin is 0."""
    smallest = [_smallest_margin(*shape) for shape in _shapes(profile, largest=8)]
    return Outcome(earned=bool(smallest) and not any(smallest), detail={"shapes_count": len(smallest)})


def _smallest_margin(number: int, size: int, count: int) -> Fraction:
    rays = (counts for counts in product(range(size + 1), repeat=number) if any(counts))
    margins = [worst_excess_margin(counts, size, count) for counts in rays]
    # Where chunks cost nothing, a margin is also an excess.
    attained = worst_excess_margin((min(size, number * count), *(0,) * (number - 1)), size, count)
    return min(*margins, Fraction(0)) if attained == 0 else attained


def mean_excess(squares: Sequence[Fraction], number: int, count: int) -> Fraction:
    """E over assignments of the chunks' ratio less that of Top-mk: an entry is sent if under k before it join it."""
    ordered, total = sorted(squares, reverse=True), sum(squares, Fraction(0))
    if not total:
        return Fraction(0)
    dimension, size = len(ordered), len(ordered) // number
    lost = sum(
        (square * _too_many(dimension, size, count, before) for before, square in enumerate(ordered)), Fraction(0)
    )
    return (lost - sum(ordered[number * count :], Fraction(0))) / total


def _too_many(dimension: int, size: int, count: int, before: int) -> Fraction:
    """P(at least k of the `before` larger entries are among the b − 1 others of a chunk)."""
    ways = sum(
        comb(before, found) * comb(dimension - 1 - before, size - 1 - found)
        for found in range(count, size)
        if found <= before
    )
    return Fraction(ways, comb(dimension - 1, size - 1))


def enumerated_excess(squares: Sequence[Fraction], number: int, count: int) -> Fraction:
    """The same over all assignments, one by one."""
    size = len(squares) // number
    found = [
        _excess([(tuple(squares[place] for place in chunk), count) for chunk in chunks], number * count)
        for chunks in _assignments(tuple(range(len(squares))), size)
    ]
    return sum(found, Fraction(0)) / len(found)


def _assignments(places: tuple[int, ...], size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    if not places:
        yield ()
        return
    for others in combinations(places[1:], size - 1):
        rest = tuple(place for place in places[1:] if place not in others)
        for chunks in _assignments(rest, size):
            yield ((places[0], *others), *chunks)


def mean_excess_rays(profile: Profile) -> Outcome:
    """`rational`: over n equal squares the largest mean excess is the bound; small ones are assigned in every way."""
    agrees = []
    for number, size, count in _shapes(profile, largest=LARGEST_DIMENSION):
        vectors = [ones_and_zeros(number * size, ones) for ones in range(1, number * size + 1)]
        found = [mean_excess(squares, number, count) for squares in vectors]
        bound = STATEMENTS["chunk_mean_excess"].fraction(chunk_number=number, chunk_size=size, k=count)
        agrees.append(max(found) == bound)
        if number * size <= ENUMERATED_DIMENSION:
            agrees.append(found == [enumerated_excess(squares, number, count) for squares in vectors])
    return Outcome(earned=bool(agrees) and all(agrees), detail={"comparisons_count": len(agrees)})


def ones_and_zeros(dimension: int, ones: int) -> Squares:
    """(1, …, 1, 0, …, 0)."""
    return tuple(Fraction(int(place < ones)) for place in range(dimension))


def mean_excess_margin(squares: Squares, number: int, count: int) -> Fraction:
    """bound − mean excess; the mean excess itself where it is negative."""
    excess = mean_excess(squares, number, count)
    bound = STATEMENTS["chunk_mean_excess"].fraction(chunk_number=number, chunk_size=len(squares) // number, k=count)
    return excess if excess < 0 else bound - excess


def mean_excess_members() -> st.SearchStrategy[tuple[Squares, int, int]]:
    """Vectors, some of them with mk ones."""

    def drawn(number: int, size: int) -> st.SearchStrategy[tuple[Squares, int, int]]:
        dimension = number * size
        squares = st.lists(st.sampled_from(LEVELS), min_size=dimension, max_size=dimension).map(tuple)
        some = st.tuples(squares, st.just(number), st.integers(1, size))
        return st.one_of(some, some.map(lambda case: (ones_and_zeros(dimension, number * case[2]), *case[1:])))

    return st.tuples(st.integers(1, MAX_NUMBER), st.integers(1, MAX_SIZE)).flatmap(lambda shape: drawn(*shape))


def largest_mean_excess(number: int, size: int, count: int) -> Fraction:
    """E max(k − N, 0)/k, N hypergeometric with mean k: how many of mk marked ones a chunk of b of mb entries holds."""
    marked, entries = number * count, number * size
    ways = sum(
        (count - found) * comb(marked, found) * comb(entries - marked, size - found)
        for found in range(max(0, size - entries + marked), count)
    )
    return Fraction(ways, comb(entries, size) * count)


def rate_margin(number: int, size: int, count: int) -> Fraction:
    """bound − largest mean excess; the bound is rounded by 2^(−53) of it, and has 10^(−5) of it to spare."""
    stated = STATEMENTS["chunk_mean_excess_rate"].evaluate(chunk_number=number, chunk_size=size, k=count)
    return Fraction(stated) - largest_mean_excess(number, size, count)


def rate_members() -> st.SearchStrategy[Shape]:
    """Chunks, entries and entries sent; half of them send half of many entries, where the rate is nearly attained."""
    sizes = st.integers(1, LARGEST_RATE_SIZE)
    some = sizes.flatmap(lambda size: st.tuples(st.integers(1, 16), st.just(size), st.integers(1, size)))
    many = st.integers(32, LARGEST_RATE_SIZE // 2).map(lambda half: (2, 2 * half, half))
    return st.one_of(some, many)


def rate_cases(profile: Profile) -> Outcome:
    """`numeric`: the largest mean excess, a fraction, is at most the rate, for small chunks and for long ones."""
    shapes = (*_shapes(profile, largest=LARGEST_DIMENSION), *LONG_CHUNKS)
    margins = [rate_margin(*shape) for shape in shapes]
    return Outcome(earned=min(margins) >= 0, detail={"shapes_count": len(margins)})


def _shapes(profile: Profile, *, largest: int) -> list[Shape]:
    most = min(max(profile.dimensions), largest)
    return [
        (number, size, count)
        for number in range(1, most + 1)
        for size in range(1, most // number + 1)
        for count in range(1, size + 1)
    ]


CHECKS: dict[str, dict[Grade, Check]] = {
    "chunk_against_whole": {
        "rational": worst_excess_rays,
        "property": property_check(worst_excess_members, worst_excess_margin),
    },
    "chunk_mean_excess": {
        "rational": mean_excess_rays,
        "property": property_check(mean_excess_members, mean_excess_margin),
    },
    "chunk_mean_excess_rate": {
        "numeric": rate_cases,
        "property": property_check(rate_members, rate_margin),
    },
}
"""The checks of this file, by label and grade."""

_BEYOND = {"k": 3, "chunk_size": 2, "chunk_number": 2}
EDGES: dict[str, tuple[Remark, ...]] = {
    "chunk_against_whole": (Edge("k <= chunk_size", _BEYOND),),
    "chunk_mean_excess": (
        Unneeded("k <= chunk_size", "a chunk sends no more entries than it has; beyond, the binomial coefficient is 0"),
    ),
    "chunk_mean_excess_rate": (Edge("k <= chunk_size", _BEYOND),),
}
"""What is true beyond the conditions."""
