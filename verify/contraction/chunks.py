"""What evidence is there for the bounds on Top-k in chunks, besides their derivations?

Chunks are cut, and their largest squares chosen, by the definitions: in fractions, without the library's code, which
`tests/kernels/test_chunk_statements.py` compares with the statements. Once the order of all squares is fixed, a ratio
is largest at an extreme ray: some equal squares in each chunk, and zeros. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.shapes import assumed_power, power_of_ramp, proves, same_weights
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import points, tail_ratio
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

MAX_SIZE = 5
"""Largest chunk that a search draws."""
MAX_NUMBER = 3
"""Most chunks that a search draws."""
MAX_DIMENSION = 40
"""Largest vector that is cut as in the library."""
INTEGER_POWERS = (1, 2, 3)
"""The values of 2/p with integer weights."""
LEVELS = (Fraction(0), Fraction(1), Fraction(1), Fraction(101, 100), Fraction(2))
"""Squares to draw: few, so that ties are common, and two that are nearly tied."""

Squares = tuple[Fraction, ...]
Chunk = tuple[Squares, int]
"""The squares of a chunk and the number of them that it sends."""


def left_by_top(squares: Sequence[Fraction], count: int) -> Fraction:
    """Energy left by the k largest."""
    return sum(sorted(squares, reverse=True)[count:], Fraction(0))


def chunk_ratio(chunks: Sequence[Chunk]) -> Fraction:
    """What Top-k in each chunk leaves, as a share; 0 of the zero vector."""
    total = sum((sum(squares, Fraction(0)) for squares, _ in chunks), Fraction(0))
    left = sum((left_by_top(squares, count) for squares, count in chunks), Fraction(0))
    return left / total if total else Fraction(0)


def chunk_bound(shapes: Sequence[tuple[int, int]]) -> Fraction:
    """The bound of `chunk_wise` at the chunk with the smallest share; shapes are pairs (b, k)."""
    size, count = min(shapes, key=lambda shape: Fraction(shape[1], shape[0]))
    return STATEMENTS["chunk_wise"].fraction(chunk_size=size, k=count)


def chunk_margin(*chunks: Chunk) -> Fraction:
    """bound − ratio."""
    return chunk_bound([(len(squares), count) for squares, count in chunks]) - chunk_ratio(chunks)


def chunk_members() -> st.SearchStrategy[tuple[Chunk, ...]]:
    """One to three chunks; some with equal squares in the first and zeros elsewhere, which is the worst case there."""
    vectors = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=MAX_SIZE).map(tuple)
    chunk = vectors.flatmap(lambda squares: st.tuples(st.just(squares), st.integers(1, len(squares))))
    drawn = st.lists(chunk, min_size=1, max_size=MAX_NUMBER).map(tuple)
    return st.one_of(drawn, drawn.map(_one_equal))


def _one_equal(chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    """The chunk with the smallest share gets squares of 1, the others zeros."""
    worst = min(chunks, key=lambda chunk: Fraction(chunk[1], len(chunk[0])))
    return tuple(((Fraction(int(chunk is worst)),) * len(chunk[0]), chunk[1]) for chunk in chunks)


def chunk_rays(profile: Profile) -> Outcome:
    """`rational`: over all extreme rays of up to three small chunks the largest ratio is the bound."""
    largest = min(max(profile.dimensions), 4)
    shapes = [(size, count) for size in range(1, largest + 1) for count in range(1, size + 1)]
    cases = [case for number in range(1, MAX_NUMBER + 1) for case in product(shapes, repeat=number)]
    agrees = [_largest_ratio(case) == chunk_bound(case) for case in cases]
    return Outcome(earned=all(agrees), detail={"shapes_count": len(agrees)})


def _largest_ratio(shapes: Sequence[tuple[int, int]]) -> Fraction:
    rays = (ray for ray in product(*(range(size + 1) for size, _ in shapes)) if any(ray))
    return max(
        Fraction(sum(max(0, found - count) for found, (_, count) in zip(ray, shapes, strict=True)), sum(ray))
        for ray in rays
    )


def library_shapes(dimension: int, count: int, size: int) -> list[tuple[int, int]]:
    """Pairs of a chunk's entries and of what it sends: ⌊ke/d⌋ − ⌊ks/d⌋ for the entries from s to e."""
    ends = [*range(0, dimension, size), dimension]
    return [(end - start, count * end // dimension - count * start // dimension) for start, end in pairwise(ends)]


def rounding_cases(profile: Profile) -> Outcome:
    """`rational`: for all small d, k and chunk sizes the worst chunk's share is the bound, and k entries are sent."""
    largest = min(max(profile.dimensions), 16)
    cases = [
        (dimension, count, size)
        for dimension in range(1, largest + 1)
        for count in range(1, dimension + 1)
        for size in range(1, largest + 1)
    ]
    agrees = [_rounds_as_stated(*case) for case in cases]
    return Outcome(earned=all(agrees), detail={"shapes_count": len(agrees)})


def _rounds_as_stated(dimension: int, count: int, size: int) -> bool:
    shapes = library_shapes(dimension, count, size)
    worst = max(1 - Fraction(sent, entries) for entries, sent in shapes)
    stated = STATEMENTS["chunk_rounding"].fraction(d=dimension, k=count, chunk_size=size)
    return worst == stated and sum(sent for _, sent in shapes) == count


def rounding_margin(squares: Squares, count: int, size: int) -> Fraction:
    """bound − ratio for a vector cut as in the library."""
    shapes, start, chunks = library_shapes(len(squares), count, size), 0, []
    for entries, sent in shapes:
        chunks.append((squares[start : start + entries], sent))
        start += entries
    stated = STATEMENTS["chunk_rounding"].fraction(d=len(squares), k=count, chunk_size=size)
    return stated - chunk_ratio(chunks)


def rounding_members() -> st.SearchStrategy[tuple[Squares, int, int]]:
    """A vector, a count of the whole, and a chunk size; some vectors are equal in the first chunk, else zero."""

    def drawn(dimension: int) -> st.SearchStrategy[tuple[Squares, int, int]]:
        squares = st.lists(st.sampled_from(LEVELS), min_size=dimension, max_size=dimension).map(tuple)
        sizes = st.integers(1, dimension + 2)
        any_vector = st.tuples(squares, st.integers(1, dimension), sizes)
        return st.one_of(any_vector, any_vector.map(lambda case: (_first_equal(case[0], case[2]), case[1], case[2])))

    return st.integers(1, MAX_DIMENSION).flatmap(drawn)


def _first_equal(squares: Squares, size: int) -> Squares:
    return tuple(Fraction(int(place < size)) for place in range(len(squares)))


def shape_margin(power: int, count: int, *chunks: Squares) -> Fraction:
    """bound − ratio for chunks in the class of (b + 1 − i)^power."""
    bound = STATEMENTS["chunk_shapes"].fraction(chunk_size=len(chunks[0]), k=count, p=Fraction(2, power))
    return bound - chunk_ratio([(squares, count) for squares in chunks])


def shape_members() -> st.SearchStrategy[tuple[int | Squares, ...]]:
    """Up to three chunks of one size, each in the class."""

    def drawn(power: int, size: int) -> st.SearchStrategy[tuple[int | Squares, ...]]:
        vectors = star_shaped(power_of_ramp(power), min_dimension=size, max_dimension=size).map(lambda pair: pair[0])
        chunks = st.lists(vectors, min_size=1, max_size=MAX_NUMBER)
        return st.tuples(st.integers(1, size), chunks).map(lambda case: (power, case[0], *case[1]))

    return st.tuples(st.sampled_from(INTEGER_POWERS), st.integers(1, MAX_SIZE)).flatmap(lambda pair: drawn(*pair))


def shape_certificates(profile: Profile) -> Outcome:
    """`rational`: for every b, k and 2/p = 1..3 multipliers prove the bound in a chunk, and the weights attain it."""
    cases = [
        (power_of_ramp(power)(size), count, power)
        for power in INTEGER_POWERS
        for size in profile.dimensions
        for count in range(1, size + 1)
    ]
    proved = [_is_proved_and_sharp(*case) for case in cases]
    return Outcome(earned=bool(proved) and all(proved), detail={"certificates_count": len(proved)})


def _is_proved_and_sharp(weights: Sequence[int], count: int, power: int) -> bool:
    bound = STATEMENTS["chunk_shapes"].fraction(chunk_size=len(weights), k=count, p=Fraction(2, power))
    assumed = points(len(weights), assumed_power("chunk_shapes", power))
    return same_weights(weights, assumed) and proves(weights, count, bound) and tail_ratio(weights, count) == bound


CHECKS: dict[str, dict[Grade, Check]] = {
    "chunk_wise": {
        "rational": chunk_rays,
        "property": property_check(chunk_members, chunk_margin, rank=lambda *chunks: -len(chunks)),
    },
    "chunk_rounding": {
        "rational": rounding_cases,
        "property": property_check(rounding_members, rounding_margin),
    },
    "chunk_shapes": {
        "rational": shape_certificates,
        "property": property_check(
            shape_members, shape_margin, rank=lambda _power, count, *chunks: count - len(chunks[0])
        ),
    },
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "chunk_wise": (Edge("k <= chunk_size", {"k": 3, "chunk_size": 2}),),
    "chunk_rounding": (Edge("k <= d", {"k": 4, "d": 3, "chunk_size": 3}),),
    "chunk_shapes": (
        Unneeded(
            "k <= chunk_size",
            "a chunk sends no more than it has; the sum behind it is empty, and the ratio 0",
        ),
    ),
}
"""What is true beyond the conditions."""
