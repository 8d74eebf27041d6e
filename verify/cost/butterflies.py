"""What evidence is there for the time of butterflies of unequal peers, and for what they save by sending less?

The messages of an all-reduce are added up for each peer, with the best shares and with all of a grid; values are shared
one by one. In exact fractions. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.language.symbols import averager_count, gradient_share, n, total_bandwidth
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

LISTED_BANDWIDTHS = (1, 2, 7)
WHOLE = Fraction(1)
GRID = 6
"""Parts of a vector that are given out in all ways."""


def loads(shares: Sequence[Fraction], gradient: Fraction, mean: Fraction) -> list[tuple[Fraction, Fraction]]:
    """What each peer sends and receives, message by message.

    Args:
        shares: of the averaged vector.
        gradient: part of a whole vector that a gradient has as it travels.
        mean: the same of the mean.
    """
    sent, received = [Fraction(0)] * len(shares), [Fraction(0)] * len(shares)
    for one, other in product(range(len(shares)), repeat=2):
        if one != other:
            # What `other` averages goes there from `one`, and comes back as a mean.
            sent[one] += gradient * shares[other]
            received[other] += gradient * shares[other]
            sent[other] += mean * shares[other]
            received[one] += mean * shares[other]
    return list(zip(sent, received, strict=True))


def latest(
    bandwidths: Sequence[int | None], shares: Sequence[Fraction], gradient: Fraction = WHOLE, mean: Fraction = WHOLE
) -> Fraction:
    """When the last is done whose link is counted; that of a client, None, is not."""
    return max(
        max(load) / own for load, own in zip(loads(shares, gradient, mean), bandwidths, strict=True) if own is not None
    )


def divisions(parts: int, peers: int) -> Iterator[tuple[int, ...]]:
    """All ways to give so many parts to so many peers."""
    if peers == 1:
        yield (parts,)
        return
    for first in range(parts + 1):
        yield from ((first, *rest) for rest in divisions(parts - first, peers - 1))


def levelled(bandwidths: Sequence[int], peers: int) -> list[Fraction]:
    """Shares that grow from 0 to one level of time, one event after the other: w_i = max(0, (ξb_i − 1)/(n − 2))."""
    if peers == 2:
        return [Fraction(1, len(bandwidths))] * len(bandwidths)
    active = sorted(bandwidths, reverse=True)
    while True:
        level = Fraction(peers - 2 + len(active), sum(active))
        if level * active[-1] >= 1:
            return [max(Fraction(0), (level * own - 1) / (peers - 2)) for own in bandwidths]
        active.pop()


def butterfly_margin(bandwidths: Sequence[int], clients: int) -> Fraction:
    """Minus the difference of the time of levelled shares from the statement's, or what the best of a grid gains."""
    peers = len(bandwidths) + clients
    links: list[int | None] = [*bandwidths, *[None] * clients]
    stated = STATEMENTS["butterfly_time"].fraction(
        n=peers, averager_count=len(bandwidths), total_bandwidth=sum(bandwidths), least_bandwidth=min(bandwidths)
    )
    nothing = [Fraction(0)] * clients
    found = latest(links, [*levelled(bandwidths, peers), *nothing])
    tried = min(
        latest(links, [*(Fraction(part, GRID) for part in parts), *nothing])
        for parts in divisions(GRID, len(bandwidths))
    )
    return min(-abs(found - stated), tried - stated)


def hagenbach_parts(shares: Sequence[Fraction], total: int) -> list[int]:
    """One value after the other to the first with the largest w/(part + 1)."""
    parts = [0] * len(shares)
    for _ in range(total):
        quotients = [share / (part + 1) for share, part in zip(shares, parts, strict=True)]
        parts[quotients.index(max(quotients))] += 1
    return parts


def hagenbach_margin(bandwidths: Sequence[int], clients: int, length: int) -> Fraction:
    """The bound minus the time of whole values; 0 where not all who may average do, of whom nothing is stated.

    −1 where the shares of all who do are not 1 in all.
    """
    peers = len(bandwidths) + clients
    given = STATEMENTS["hagenbach_time"].given("level")
    level = Fraction(str(given.subs({n: peers, averager_count: len(bandwidths), total_bandwidth: sum(bandwidths)})))
    if peers < 3 or level * min(bandwidths) <= 1:
        return Fraction(0)
    shares = [(level * own - 1) / (peers - 2) for own in bandwidths]
    if sum(shares) != 1:
        return Fraction(-1)
    parts = hagenbach_parts(shares, length)
    links: list[int | None] = [*bandwidths, *[None] * clients]
    taken = length * latest(links, [*(Fraction(part, length) for part in parts), *[Fraction(0)] * clients])
    stated = STATEMENTS["hagenbach_time"].fraction(
        n=peers,
        averager_count=len(bandwidths),
        total_bandwidth=sum(bandwidths),
        largest_bandwidth=max(bandwidths),
        d=length,
    )
    return stated - taken


def scattered_margin(bandwidths: Sequence[int], gradient: Fraction, excess: Fraction) -> Fraction:
    """Minus the difference of the time of equal shares from the statement's, or what the best of a grid gains.

    Args:
        bandwidths: of all peers.
        gradient: α.
        excess: β is (n − 1)α and so much more, or of equal peers α/9 and so much more.
    """
    peers = len(bandwidths)
    least = STATEMENTS["scattered_butterfly_time"].given("mean").subs({n: peers, gradient_share: gradient})
    mean = excess + (gradient / 9 if len(set(bandwidths)) == 1 else Fraction(str(least)))
    stated = STATEMENTS["scattered_butterfly_time"].fraction(
        n=peers, gradient_share=gradient, mean_share=mean, least_bandwidth=min(bandwidths)
    )
    found = latest(bandwidths, [Fraction(1, peers)] * peers, gradient, mean)
    tried = min(
        latest(bandwidths, [Fraction(part, GRID) for part in parts], gradient, mean) for parts in divisions(GRID, peers)
    )
    return min(-abs(found - stated), tried - stated)


def saturation_margin(peers: int, length: int, sent: int, cost: Fraction) -> Fraction:
    """Minus the difference from the statement's, of peers that send entries of their own."""
    stated = STATEMENTS["density_saturation"].fraction(n=peers, entry_cost=cost, kappa=Fraction(sent, length))
    return -abs(saturated(peers, length, sent, cost) - stated)


def saturated(peers: int, length: int, sent: int, cost: Fraction) -> Fraction:
    """The time over that of whole vectors, of peers whose entries are counted one by one.

    Args:
        peers: n.
        length: d; peers take the entries in turn, and begin anew when there are no more.
        sent: k, so that κ = k/d.
        cost: e.
    """
    alone = min(Fraction(length), cost * sent)
    together = min(Fraction(length), cost * len({entry % length for entry in range(peers * sent)}))
    equal = [Fraction(1, peers)] * peers
    return latest([1] * peers, equal, alone / length, together / length) / latest([1] * peers, equal)


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0."""
    return Outcome(
        earned=bool(margins) and min(margins) >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


def butterfly_check(_profile: Profile) -> Outcome:
    """`rational`: up to three peers of all listed bandwidths, with up to two clients."""
    cases = [own for count in (1, 2, 3) for own in product(LISTED_BANDWIDTHS, repeat=count)]
    return _counted(
        [butterfly_margin(own, clients) for own in cases for clients in (0, 1, 2) if len(own) + clients >= 2]
    )


def hagenbach_check(_profile: Profile) -> Outcome:
    """`rational`: three peers of all listed bandwidths, with and without a client; equal peers attain the bound."""
    equal = [-abs(hagenbach_margin([3] * count, 0, 1)) for count in (3, 4, 6)]
    unequal = [
        hagenbach_margin(own, clients, length)
        for own in product(LISTED_BANDWIDTHS, repeat=3)
        for clients in (0, 1)
        for length in (1, 2, 5, 16)
    ]
    return _counted([*equal, *unequal])


def scattered_check(_profile: Profile) -> Outcome:
    """`rational`: one to three peers of all listed bandwidths."""
    return _counted(
        [
            scattered_margin(own, Fraction(1, 10), excess)
            for count in (1, 2, 3)
            for own in product(LISTED_BANDWIDTHS, repeat=count)
            for excess in (Fraction(0), Fraction(1, 20), Fraction(3))
        ]
    )


def saturation_check(_profile: Profile) -> Outcome:
    """`rational`: from one entry of many to so many that all travel whole."""
    return _counted(
        [
            saturation_margin(peers, 24, sent, cost)
            for peers in (2, 3, 6)
            for sent in (1, 2, 4, 8, 12, 18, 24)
            for cost in (Fraction(1), Fraction(3, 2), Fraction(2))
        ]
    )


BANDWIDTHS = st.lists(st.integers(1, 12), min_size=1, max_size=3)


def butterfly_cases() -> Members:
    """(bandwidths, clients), two peers or more."""
    return BANDWIDTHS.flatmap(lambda own: st.tuples(st.just(own), st.integers(max(0, 2 - len(own)), 3)))


def hagenbach_cases() -> Members:
    """(bandwidths, clients, length)."""
    near = st.lists(st.integers(6, 12), min_size=2, max_size=5)
    return st.tuples(near, st.integers(0, 2), st.integers(1, 30))


def scattered_cases() -> Members:
    """(bandwidths, α, excess)."""
    bandwidths = st.lists(st.integers(1, 9), min_size=1, max_size=3)
    return st.tuples(
        bandwidths | bandwidths.map(lambda own: [own[0]] * len(own)),
        st.integers(1, 20).map(lambda part: Fraction(part, 20)),
        st.integers(0, 20).map(lambda part: Fraction(part, 10)),
    )


def saturation_cases() -> Members:
    """(peers, length, entries, cost)."""
    cases = st.tuples(st.integers(2, 8), st.integers(3, 40), st.integers(2, 6).map(lambda halves: Fraction(halves, 2)))
    return cases.flatmap(
        lambda case: st.tuples(st.just(case[0]), st.just(case[1]), st.integers(1, case[1]), st.just(case[2]))
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "butterfly_time": {"rational": butterfly_check, "property": property_check(butterfly_cases, butterfly_margin)},
    "hagenbach_time": {"rational": hagenbach_check, "property": property_check(hagenbach_cases, hagenbach_margin)},
    "scattered_butterfly_time": {
        "rational": scattered_check,
        "property": property_check(scattered_cases, scattered_margin),
    },
    "density_saturation": {
        "rational": saturation_check,
        "property": property_check(saturation_cases, saturation_margin),
    },
}
"""Every check of these statements, by label and grade."""


def least_whole_seconds(bandwidths: Sequence[int], length: int) -> Fraction:
    """Of all ways to share so many values."""
    return min(
        length * latest(bandwidths, [Fraction(part, length) for part in parts])
        for parts in divisions(length, len(bandwidths))
    )


_ARE_PEERS = Unneeded("averager_count <= n", "who averages is one of the n peers")
EDGES: dict[str, tuple[Remark, ...]] = {
    "butterfly_time": (
        Edge(
            "n >= 2",
            {"n": 1, "averager_count": 1, "total_bandwidth": 3, "least_bandwidth": 3},
            partial(latest, [3], [WHOLE]),
        ),
        _ARE_PEERS,
        Unneeded("averager_count*least_bandwidth <= total_bandwidth", "m bandwidths have m times the least of them"),
    ),
    "hagenbach_time": (
        Edge(
            "n >= 3",
            {"n": 2, "averager_count": 2, "total_bandwidth": 4, "largest_bandwidth": 3, "d": 5},
            partial(least_whole_seconds, [1, 3], 5),
        ),
        _ARE_PEERS,
        Unneeded(
            "averager_count*largest_bandwidth >= total_bandwidth", "m bandwidths have m times the largest at most"
        ),
    ),
    "scattered_butterfly_time": (),
    "density_saturation": (
        Edge(
            "entry_cost >= 1",
            {"n": 2, "entry_cost": Fraction(15, 16), "kappa": Fraction(3, 4)},
            partial(saturated, 2, 24, 18, Fraction(15, 16)),
        ),
        Unneeded("n >= 2", "one peer sends nothing, whole vectors or not: the factor would be 0/0"),
    ),
}
"""What is beyond each condition."""
