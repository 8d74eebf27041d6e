"""What evidence is there for what exact Top-k over ranks takes, and a tree of merges? Both carried out and counted.

Orders of keys are as in `regular_sampling.py`, the largest magnitude first. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import n, segment_length
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.regular_sampling import Order, orders, sample_places
from sparsync.verify.tools.edges import Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check


def assumed_bytes(label: str, name: str) -> Fraction:
    """Bytes that each rank tells each other one, of what is no entry."""
    return Fraction(str(STATEMENTS[label].given(name)))


def in_doubt(order: Order, ranks: int, length: int, wanted: int) -> tuple[int, int]:
    """(first, end): keys before the first place are surely among those wanted, those from the end on surely not."""
    places = [0, *sample_places(order, length)]
    low = max(0, wanted - (ranks - 1) * (length - 1)) // length
    high = -(-wanted // length)
    return places[low], places[high] if high < len(places) else len(order)


def doubting(ranks: int, length: int, more: int) -> tuple[list[int], int]:
    """(order, k) with as many keys in doubt as can be: none that counts too little before, L − 1 of each rank too much.

    Args:
        ranks: n.
        length: L.
        more: samples before those in doubt.
    """
    apart = ranks - ranks // length
    others = [rank for rank in range(1, ranks) for _ in range(length - 1)]
    return [*[0] * (more * length), *others, *[0] * (apart * length)], (more + apart - 1) * length + 1


def doubt_margin(order: Order, ranks: int, length: int, wanted: int) -> Fraction:
    """The bound less the keys in doubt; −1 where the k-th key is not among them though some are."""
    stated = STATEMENTS["sampled_candidates"].fraction(n=ranks, segment_length=length)
    first, end = in_doubt(order, ranks, length, wanted)
    return stated - (end - first) if first <= wanted <= end else Fraction(-1)


def exact_selection(order: Order, ranks: int, length: int, wanted: int) -> tuple[Order, int, int]:
    """(the keys found, samples told in the first round, in the second), of the first k of each rank.

    The second round tells every candidate.
    """
    sampled = [rank for place, rank in enumerate(order) if order[:place].count(rank) < wanted]
    first, end = in_doubt(sampled, ranks, length, wanted)
    found = [*sampled[:first], *sampled[first:end][: wanted - first]]
    return found, len(sample_places(sampled, length)), end - first


def selection_margin(order: Order, ranks: int, length: int, wanted: int, size: int) -> Fraction:
    """The bound less the bytes of an exact selection; −1 where it does not find the first k keys."""
    stated = STATEMENTS["exact_selection_bytes"].fraction(n=ranks, k=wanted, segment_length=length, value_bytes=size)
    found, samples, candidates = exact_selection(order, ranks, length, wanted)
    if list(found) != list(order[:wanted]):
        return Fraction(-1)
    pairs = sum(1 for sender, receiver in product(range(ranks), repeat=2) if sender != receiver)
    told = (samples + candidates) * (ranks - 1) * size
    others = sum(assumed_bytes("exact_selection_bytes", name) for name in ("opening", "deciding"))
    return stated - pairs * others - told


def told_numbers(ranks: int, wanted: int, lengths: Sequence[Fraction | int]) -> Fraction:
    """Samples of all rounds, of segments of the given lengths and of single keys in the last one."""
    in_doubt_of_one = Fraction(str(STATEMENTS["samples_of_rounds"].given("left").subs({n: ranks, segment_length: 1})))
    left, told = Fraction(ranks * wanted), Fraction(0)
    for length in [*lengths, Fraction(1)]:
        told, left = told + left / length, in_doubt_of_one * length
    return told


def rounds_margin(ranks: int, base: int, rounds: int, scales: Sequence[Fraction | int]) -> Fraction:
    """Minus how far the R-th powers are apart of the bound and of what lengths b^(R−1), …, b tell of k = 2b^R.

    −1 where those lengths times the scales tell fewer.
    """
    wanted = 2 * base**rounds
    lengths = [Fraction(base ** (rounds - number)) for number in range(1, rounds)]
    other = [length * scale for length, scale in zip(lengths, scales, strict=False)]
    best = told_numbers(ranks, wanted, lengths)
    if told_numbers(ranks, wanted, other) < best:
        return Fraction(-1)
    stated = sympy.Rational(STATEMENTS["samples_of_rounds"].exact(n=ranks, k=wanted, telling_rounds=rounds) ** rounds)
    return -abs(Fraction(int(stated.p), int(stated.q)) - best**rounds)


def tree_messages(ranks: int) -> list[tuple[int, int]]:
    """(sender, receiver) of every message of entries, up the tree and down."""
    waiting, up = list(range(ranks)), []
    while len(waiting) > 1:
        pairs = [waiting[first : first + 2] for first in range(0, len(waiting), 2)]
        up += [(pair[1], pair[0]) for pair in pairs if len(pair) == 2]
        waiting = [pair[0] for pair in pairs]
    return [*up, *((receiver, sender) for sender, receiver in reversed(up))]


def tree_margin(ranks: int, count: int, size: int, index: int) -> Fraction:
    """Minus the difference of all messages from the statement's."""
    stated = STATEMENTS["tree_bytes"].fraction(n=ranks, k=count, value_bytes=size, index_bytes=index)
    opening = ranks * (ranks - 1) * assumed_bytes("tree_bytes", "opening")
    return -abs(stated - opening - len(tree_messages(ranks)) * count * (size + index))


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0, and some is 0."""
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def listed_orders(most: int) -> list[tuple[Order, int, int, int]]:
    """All orders of a few keys, with n, L and every k."""
    return [
        (order, ranks, length, wanted)
        for ranks, length in product((1, 2, 3), (1, 2, 3))
        for order in orders(ranks, most)
        for wanted in range(1, len(order) + 1)
    ]


def doubt_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of a few keys, every k, and bad orders."""
    bad = [
        (order, ranks, length, wanted)
        for ranks, length, more in product((1, 2, 3, 5), (1, 2, 4, 7), (0, 3))
        for order, wanted in [doubting(ranks, length, more)]
        if wanted >= 1
    ]
    return _counted([doubt_margin(*case) for case in [*listed_orders(200), *bad]])


def selection_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of a few keys, every k; k large enough for little to be in doubt."""
    listed = [selection_margin(*case, 4) for case in listed_orders(120)]
    turns = [
        selection_margin([*range(ranks)] * wanted, ranks, length, wanted, size)
        for ranks, length, wanted, size in product((2, 3), (1, 2), (8, 24), (4, 8))
    ]
    return _counted([*listed, *turns])


def rounds_check(_profile: Profile) -> Outcome:
    """`rational`: listed ranks and rounds, each length halved and doubled."""
    scales = [Fraction(1, 2), Fraction(2), Fraction(1)]
    return _counted(
        [
            rounds_margin(ranks, base, rounds, [scales[(turn + number) % 3] for number in range(rounds)])
            for ranks, base, rounds, turn in product((1, 2, 5), (2, 3), (1, 2, 3, 4), range(3))
        ]
    )


def tree_check(_profile: Profile) -> Outcome:
    """`rational`: listed ranks, counts and sizes."""
    return _counted([tree_margin(*case) for case in product(range(1, 18), (1, 5), (2, 4), (1, 4))])


def doubt_cases() -> Members:
    """(order, n, L, k): drawn ones, and such that as much is in doubt as can be."""

    def of(shape: tuple[int, int]) -> Members:
        ranks, length = shape
        drawn = st.lists(st.integers(0, ranks - 1), min_size=1, max_size=50).flatmap(
            lambda order: st.tuples(st.just(order), st.integers(1, len(order)))
        )
        bad = st.integers(0 if ranks > 1 and length > 1 else 1, 4).map(lambda more: doubting(ranks, length, more))
        return st.tuples(drawn | bad, st.just(ranks), st.just(length))

    return (
        st.tuples(st.integers(1, 5), st.integers(1, 7))
        .flatmap(of)
        .map(lambda case: (case[0][0], case[1], case[2], case[0][1]))
    )


def selection_cases() -> Members:
    """The same with bytes of a key; and orders in which ranks take turns, each with k keys."""
    turns = st.tuples(st.integers(2, 3), st.integers(1, 2), st.integers(8, 20)).map(
        lambda case: ([*range(case[0])] * case[2], *case)
    )
    return st.tuples(doubt_cases() | turns, st.sampled_from((2, 4, 8))).map(lambda case: (*case[0], case[1]))


def rounds_cases() -> Members:
    """Ranks, a base, rounds, and how the lengths are changed."""
    scale = st.fractions(Fraction(1, 4), 4, max_denominator=8)
    return st.tuples(st.integers(1, 9), st.integers(1, 6), st.integers(1, 5), st.lists(scale, min_size=4, max_size=4))


def tree_cases() -> Members:
    """Ranks, entries, bytes of a value and of an index."""
    return st.tuples(st.integers(1, 70), st.integers(1, 99), st.integers(1, 8), st.integers(1, 8))


CHECKS: dict[str, dict[Grade, Check]] = {
    "sampled_candidates": {"rational": doubt_check, "property": property_check(doubt_cases, doubt_margin)},
    "exact_selection_bytes": {
        "rational": selection_check,
        "property": property_check(selection_cases, selection_margin),
    },
    "samples_of_rounds": {"rational": rounds_check, "property": property_check(rounds_cases, rounds_margin)},
    "tree_bytes": {"rational": tree_check, "property": property_check(tree_cases, tree_margin)},
}
"""Every check of these statements, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = dict.fromkeys(CHECKS, ())
"""No statement here has a condition."""
