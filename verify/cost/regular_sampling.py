"""What evidence is there for the bounds on regular samples? All orders of a few keys, drawn orders, and bad ones.

A case is an order of keys, given by the rank that has each: what the keys are does not matter. Samples, splitters,
buckets and messages are found from it by counting. Bad orders are those that attain the bounds. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product

from hypothesis import strategies as st

from sparsync.theory.language.symbols import d, n
from sparsync.theory.language.symbols import oversampling as oversampling_symbol
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

Order = Sequence[int]
"""The rank of each key, from the smallest key on."""
MOST_ORDERS = 800
"""Orders that are listed for one number of ranks and of keys."""
OPENING_BYTES = 24
"""Told to each other rank first, before samples are exchanged once more."""


def sample_places(order: Order, length: int) -> list[int]:
    """How many keys lie up to each sample, from the smallest sample on."""
    held: dict[int, int] = {}
    places = []
    for place, rank in enumerate(order, start=1):
        held[rank] = held.get(rank, 0) + 1
        if held[rank] % length == 0:
            places.append(place)
    return places


def buckets(order: Order, ranks: int, length: int) -> list[Order]:
    """The keys between splitters, by the rank that each was on."""
    places = [0, *sample_places(order, length)]
    share, more = divmod(len(places) - 1, ranks)
    ends, number = [0], 0
    for bucket in range(ranks - 1):
        number += share + (bucket < more)
        ends.append(places[number])
    return [order[first:end] for first, end in pairwise([*ends, len(order)])]


def crowding(ranks: int, length: int, share: int) -> list[int]:
    """An order whose first bucket is as large as can be: before its splitter each other rank has L − 1 keys more.

    Args:
        ranks: n.
        length: L.
        share: a ≥ 1, of d = (an + 1)L.
    """
    others = range(1, ranks)
    early = [rank for rank in others for _ in range(length - 1)]
    late = [rank for rank in others for _ in range(share * length - length + 1)]
    return [*early, *[0] * ((share + 1) * length), *late]


def emptying(ranks: int, length: int, share: int) -> list[int]:
    """An order of equal shards of which rank 0 receives as much as can be: none of its own is in its bucket."""
    early = [rank for rank in range(2, ranks) for _ in range(length - 1)]
    late = [rank for rank in range(2, ranks) for _ in range(share * length - length + 1)]
    return [*early, *[1] * (share * length), *late, *[0] * (share * length)]


def orders(ranks: int, most: int = MOST_ORDERS) -> Iterator[Order]:
    """All orders of a few keys on so many ranks."""
    size = 1
    while ranks**size <= most and size <= 8:
        yield from product(range(ranks), repeat=size)
        size += 1


def sample_margin(order: Order, ranks: int, length: int) -> Fraction:
    """The bound less the largest excess of a sample; negative too where there are fewer keys than mL."""
    excesses = [place - number * length for number, place in enumerate(sample_places(order, length), start=1)]
    stated = STATEMENTS["sample_rank"].fraction(n=ranks, segment_length=length)
    return min([*(Fraction(excess) for excess in excesses), *(stated - excess for excess in excesses), stated])


def bucket_margin(order: Order, ranks: int, length: int) -> Fraction:
    """The bound less the largest bucket."""
    stated = STATEMENTS["largest_bucket"].fraction(n=ranks, d=len(order), segment_length=length)
    return stated - max(map(len, buckets(order, ranks, length)))


def longest_segment(keys: int, ranks: int, oversampling: int) -> int:
    """The longest that is assumed."""
    numbers = {d: keys, n: ranks, oversampling_symbol: oversampling}
    return int(STATEMENTS["oversampled_bucket"].given("segment").subs(numbers))


def oversampled_margin(order: Order, ranks: int, oversampling: int) -> Fraction:
    """The same with segments that are as long as is assumed, or half as long."""
    longest = longest_segment(len(order), ranks, oversampling)
    stated = STATEMENTS["oversampled_bucket"].fraction(n=ranks, d=len(order), oversampling=oversampling)
    return stated - max(max(map(len, buckets(order, ranks, length))) for length in {longest, -(-longest // 2)})


def received_margin(order: Order, ranks: int, length: int) -> Fraction:
    """The bound less what the rank receives that receives most, of equal shards."""
    share = len(order) // (ranks * length)
    stated = STATEMENTS["received_keys"].fraction(n=ranks, segment_count=share, segment_length=length)
    return stated - max(_travelling(order, ranks, length)[1])


def relation_margin(order: Order, ranks: int, length: int, size: int, index: int) -> Fraction:
    """The bound less the h-relations of a sort of equal shards, message by message."""
    share = len(order) // (ranks * length)
    stated = STATEMENTS["sort_relation"].fraction(
        n=ranks, segment_count=share, segment_length=length, value_bytes=size, index_bytes=index
    )
    return stated - sum(_relation(step) for step in sort_messages(order, ranks, length, size, index))


Messages = dict[tuple[int, int], Fraction]
"""Bytes from rank to rank."""


def sort_messages(order: Order, ranks: int, length: int, size: int, index: int) -> list[Messages]:
    """The bytes from rank to rank, in each superstep."""
    others = [(sender, receiver) for sender, receiver in product(range(ranks), repeat=2) if sender != receiver]
    opening, counts = (
        dict.fromkeys(others, Fraction(str(STATEMENTS["sort_relation"].given(name)))) for name in ("opening", "counts")
    )
    samples = {(sender, receiver): Fraction(order.count(sender) // length * size) for sender, receiver in others}
    parts = buckets(order, ranks, length)
    keys = {(sender, receiver): Fraction(parts[receiver].count(sender) * (size + index)) for sender, receiver in others}
    return [opening, samples, counts, keys]


def _relation(messages: Messages) -> Fraction:
    """The most that one rank sends or receives."""
    most = Fraction(0)
    for rank in {rank for pair in messages for rank in pair}:
        sent = sum((size for (sender, _), size in messages.items() if sender == rank), Fraction(0))
        received = sum((size for (_, receiver), size in messages.items() if receiver == rank), Fraction(0))
        most = max(most, sent, received)
    return most


def _travelling(order: Order, ranks: int, length: int) -> tuple[list[int], list[int]]:
    """Keys that each rank sends, and that it receives."""
    parts = buckets(order, ranks, length)
    received = [sum(rank != owner for rank in part) for owner, part in enumerate(parts)]
    sent = [sum(part.count(rank) for owner, part in enumerate(parts) if owner != rank) for rank in range(ranks)]
    return sent, received


def best_length(ranks: int, keys: int, size: int, index: int, most: int) -> Fraction:
    """The shortest with which samples and excess take fewest bytes, of the least that is assumed and all whole ones."""

    def taken(length: Fraction) -> Fraction:
        samples = keys * size / (ranks * length)
        return (ranks - 1) * (samples + (length - 1) * (size + index))

    least = Fraction(str(STATEMENTS["best_sort_segment"].given("length")))
    return min([least, *(Fraction(length) for length in range(1, most + 1) if length > least)], key=taken)


def segment_margin(ranks: int, size: int, index: int, root: int) -> Fraction:
    """Minus how far the stated length is from the best, of d = n(s + j)s·root² keys, or of one on each rank."""
    keys = ranks * (size + index) * size * root**2 if root else ranks
    stated = STATEMENTS["best_sort_segment"].fraction(n=ranks, d=keys, value_bytes=size, index_bytes=index)
    return -abs(stated - best_length(ranks, keys, size, index, 3 * size * max(root, 1)))


def threshold_margin(order: Order, ranks: int, length: int) -> Fraction:
    """The bound less the largest error of a count over all k, by the sample that can be least off."""
    stated = STATEMENTS["threshold_rank"].fraction(n=ranks, segment_length=length)
    return stated - max(threshold_error(order, ranks, length, wanted) for wanted in range(1, len(order) + 1))


def threshold_error(order: Order, ranks: int, length: int, wanted: int) -> int:
    """How far the number of keys up to the sample chosen is from the one wanted; only samples are looked at."""
    places = [0, *sample_places(order, length), len(order)]
    doubt = (ranks - 1) * (length - 1)

    def worst(number: int) -> int:
        if number in (0, len(places) - 1):
            return abs(places[number] - wanted)
        return max(abs(number * length - wanted), abs(number * length + doubt - wanted))

    return abs(places[min(range(len(places)), key=worst)] - wanted)


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0, and some is 0."""
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def equal_orders() -> list[tuple[Order, int, int]]:
    """Those of all orders of a few keys that are of equal shards, aL on each rank, with n and L."""
    return [
        (order, ranks, length)
        for ranks, length in product((1, 2, 3), (1, 2, 3))
        for order in orders(ranks)
        if all(order.count(rank) * ranks == len(order) for rank in range(ranks)) and len(order) % (ranks * length) == 0
    ]


def bad_shapes() -> list[tuple[int, int, int]]:
    """Ranks, lengths of segments, and shares."""
    return list(product((2, 3, 4), (1, 2, 4), (1, 3)))


def tight_sizes() -> list[tuple[int, int, int]]:
    """(n, r, L) of which ⌈d/(rn²)⌉ = L with nothing to spare, and d = (an + 1)L keys for a whole a ≥ 1."""
    found = []
    for ranks, oversampling, length in product((2, 3, 4), (1, 2, 3), range(2, 13)):
        keys = oversampling * ranks**2 * (length - 1) + 1
        if keys % length == 0 and (keys // length - 1) % ranks == 0 and keys >= (ranks + 1) * length:
            found.append((ranks, oversampling, length))
    return found


def long_orders() -> list[tuple[Order, int, int]]:
    """(order, n, r): worst orders of segments that are at most 1/16 longer than is assumed."""
    return [(crowding(3, 5, 2), 3, 1), (crowding(4, 6, 3), 4, 1), (crowding(2, 8, 3), 2, 2)]


def tight_order(ranks: int, oversampling: int, length: int) -> list[int]:
    """The worst order of that many keys."""
    keys = oversampling * ranks**2 * (length - 1) + 1
    return crowding(ranks, length, (keys // length - 1) // ranks)


def sample_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of a few keys, and bad ones."""
    listed = [(order, ranks, length) for ranks, length in product((1, 2, 3), (1, 2, 3)) for order in orders(ranks)]
    bad = [(crowding(*shape), *shape[:2]) for shape in bad_shapes()]
    return _counted([sample_margin(*case) for case in [*listed, *bad]])


def bucket_check(_profile: Profile) -> Outcome:
    """`rational`: likewise."""
    listed = [(order, ranks, length) for ranks, length in product((1, 2, 3), (1, 2, 3)) for order in orders(ranks)]
    bad = [(crowding(*shape), *shape[:2]) for shape in bad_shapes()]
    return _counted([bucket_margin(*case) for case in [*listed, *bad]])


def oversampled_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of a few keys, and the worst of sizes with nothing to spare."""
    listed = [(order, ranks, extra) for ranks, extra in product((1, 2, 3), (1, 2)) for order in orders(ranks)]
    tight = [(tight_order(*size), *size[:2]) for size in tight_sizes()]
    return _counted([oversampled_margin(*case) for case in [*listed, *tight, *long_orders()]])


def received_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of a few keys on equal shards, and bad ones."""
    bad = [(emptying(*shape), *shape[:2]) for shape in bad_shapes()]
    return _counted([received_margin(*case) for case in [*equal_orders(), *bad]])


def relation_check(_profile: Profile) -> Outcome:
    """`rational`: likewise, with keys of several sizes."""
    bad = [(emptying(ranks, length, share), ranks, length) for ranks, length, share in bad_shapes()]
    return _counted(
        [
            relation_margin(order, ranks, length, size, index)
            for order, ranks, length in [*equal_orders(), *bad]
            for size, index in ((4, 4), (8, 4), (2, 1))
        ]
    )


def segment_check(_profile: Profile) -> Outcome:
    """`rational`: listed ranks and sizes."""
    return _counted([segment_margin(*case) for case in product((2, 3, 8), (2, 4, 8), (1, 4, 8), (0, 1, 4))])


def threshold_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of a few keys, every k, and bad orders."""
    listed = [(order, ranks, length) for ranks, length in product((1, 2, 3), (1, 2, 3)) for order in orders(ranks, 300)]
    bad = [(crowding(*shape), *shape[:2]) for shape in bad_shapes()]
    return _counted([threshold_margin(*case) for case in [*listed, *bad]])


LENGTH, RANKS = st.integers(1, 6), st.integers(1, 5)


def order_cases() -> Members:
    """(order, n, L): drawn ones, one rank after the other, and crowding ones."""

    def of(shape: tuple[int, int]) -> Members:
        ranks, length = shape
        drawn = st.lists(st.integers(0, ranks - 1), min_size=1, max_size=60)
        crowded = st.integers(1, 4).map(lambda share: crowding(ranks, length, share))
        return st.tuples(drawn | drawn.map(sorted) | crowded, st.just(ranks), st.just(length))

    return st.tuples(RANKS, LENGTH).flatmap(of)


def oversampled_cases() -> Members:
    """(order, n, r): drawn ones, the worst of sizes with nothing to spare, and of segments that are too long."""
    drawn = RANKS.flatmap(
        lambda ranks: st.tuples(
            st.lists(st.integers(0, ranks - 1), min_size=1, max_size=60), st.just(ranks), st.integers(1, 3)
        )
    )
    tight = st.sampled_from(tight_sizes()).map(lambda size: (tight_order(*size), *size[:2]))
    return drawn | tight | st.sampled_from(long_orders())


def equal_cases() -> Members:
    """(order, n, L) of equal shards: drawn ones, and such that rank 0 receives most."""

    def of(shape: tuple[int, int, int]) -> Members:
        ranks, length, share = shape
        shuffled = st.permutations([rank for rank in range(ranks) for _ in range(share * length)])
        found = shuffled | st.just(emptying(*shape)) if ranks > 1 else shuffled
        return st.tuples(found, st.just(ranks), st.just(length))

    return st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3)).flatmap(of)


def relation_cases() -> Members:
    """The same with bytes of a key and of an index."""
    sizes = st.tuples(st.sampled_from((1, 2, 4, 8)), st.sampled_from((1, 4, 8)))
    return st.tuples(equal_cases(), sizes).map(lambda case: (*case[0], *case[1]))


def segment_cases() -> Members:
    """Ranks, bytes of a key and of an index, and a root, or 0 for one key on each rank."""
    return st.tuples(st.integers(2, 64), st.integers(1, 8), st.integers(1, 8), st.integers(0, 8))


EDGES: dict[str, tuple[Remark, ...]] = {
    "best_sort_segment": (
        # Of one rank every length takes nothing, also the shortest.
        Edge(
            "n >= 2", {"n": 1, "d": 900, "value_bytes": 4, "index_bytes": 5}, left=lambda: best_length(1, 900, 4, 5, 60)
        ),
    ),
}
"""Points just beyond the conditions of these statements."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "sample_rank": {"rational": sample_check, "property": property_check(order_cases, sample_margin)},
    "largest_bucket": {"rational": bucket_check, "property": property_check(order_cases, bucket_margin)},
    "oversampled_bucket": {
        "rational": oversampled_check,
        "property": property_check(oversampled_cases, oversampled_margin),
    },
    "received_keys": {"rational": received_check, "property": property_check(equal_cases, received_margin)},
    "sort_relation": {"rational": relation_check, "property": property_check(relation_cases, relation_margin)},
    "best_sort_segment": {"rational": segment_check, "property": property_check(segment_cases, segment_margin)},
    "threshold_rank": {"rational": threshold_check, "property": property_check(order_cases, threshold_margin)},
}
"""Every check of these statements, by label and grade."""
