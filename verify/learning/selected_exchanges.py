"""What evidence is there for unions of selections and their bytes? All families of small sets, and drawn ones. Ours."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_FAMILIES = 1000
"""Families of sets that are listed for one number of clients, of positions and of those selected."""

Family = Sequence[frozenset[int]]
"""What each client selects."""


def families(clients: int, dimension: int, count: int) -> Iterator[Family]:
    """All of them."""
    return product([frozenset(some) for some in combinations(range(dimension), count)], repeat=clients)


def union(family: Family) -> frozenset[int]:
    """What anybody selects."""
    return frozenset().union(*family)


def shapes() -> list[tuple[int, int, int]]:
    """Numbers of clients, positions and selected ones of which all families are listed."""
    found = []
    for clients, dimension in product(range(1, 4), range(1, 6)):
        for count in range(1, dimension + 1):
            if sum(1 for _ in families(1, dimension, count)) ** clients <= MOST_FAMILIES:
                found.append((clients, dimension, count))
    return found


def random_margin(clients: int, dimension: int, count: int) -> Fraction:
    """Minus the difference of the mean over all families from the statement's."""
    sizes = [len(union(family)) for family in families(clients, dimension, count)]
    stated = STATEMENTS["random_union"].fraction(n=clients, d=dimension, kappa=Fraction(count, dimension))
    return -abs(Fraction(sum(sizes), len(sizes)) - stated)


def largest_margin(dimension: int, family: Family) -> Fraction:
    """The bound less the union."""
    stated = STATEMENTS["largest_union"].fraction(n=len(family), d=dimension, k=len(family[0]))
    return stated - len(union(family))


def least_margin(dimension: int, family: Family) -> Fraction:
    """The union less the bound."""
    return len(union(family)) - STATEMENTS["least_union"].fraction(d=dimension, k=len(family[0]))


def exchange_bytes(family: Family, size: Fraction | int, index: Fraction | int) -> Fraction:
    """Of one exchange: each client's pairs up, and the union's down to each."""
    ups = sum(len(own) * (size + index) for own in family)
    return Fraction(ups + len(family) * len(union(family)) * (size + index))


def bytes_margin(dimension: int, family: Family, exchanges: int, size: int, index: int) -> Fraction:
    """The bound less what travels, where the same is selected in each exchange."""
    stated = STATEMENTS["selected_epoch_bytes"].fraction(
        n=len(family), d=dimension, k=len(family[0]), round_count=exchanges, value_bytes=size, index_bytes=index
    )
    return stated - exchanges * exchange_bytes(family, size, index)


def safe_margin(clients: int, size: int, index: Fraction | int) -> Fraction:
    """Minus how far the largest density without excess lies from the statement's, of disjoint selections.

    What they cost grows linearly, so that one density tells it.
    """
    count = 3
    dimension = clients * count
    disjoint = [frozenset(range(first, first + count)) for first in range(0, dimension, count)]
    cost = exchange_bytes(disjoint, size, index) / (2 * clients * dimension * size)
    stated = STATEMENTS["safe_selection"].fraction(n=clients, value_bytes=size, index_bytes=index)
    return -abs(Fraction(count, dimension) / cost - stated)


def largest_safe_density(clients: int, size: Fraction, index: Fraction, dimension: int) -> Fraction:
    """The largest number of entries, over all, for which selections that overlap as little as can be cost no more."""
    safe = [
        count
        for count in range(1, dimension + 1)
        if exchange_bytes(spread(clients, dimension, count), size, index) <= 2 * clients * dimension * size
    ]
    return Fraction(max(safe), dimension)


def spread(clients: int, dimension: int, count: int) -> Family:
    """Selections one after the other, round and round: disjoint, or with all positions in their union."""
    firsts = range(0, clients * count, count)
    return [frozenset((first + place) % dimension for place in range(count)) for first in firsts]


def _listed(margin: str) -> list[Fraction]:
    of = {"largest": largest_margin, "least": least_margin}[margin]
    return [of(dimension, family) for n, dimension, k in shapes() for family in families(n, dimension, k)]


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0, and some is 0."""
    return Outcome(
        earned=min(margins) == 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


def random_check(_profile: Profile) -> Outcome:
    """`rational`: the mean over all families of a shape is the statement's."""
    return _counted([random_margin(*shape) for shape in shapes()])


def largest_check(_profile: Profile) -> Outcome:
    """`rational`: no union of a listed family is larger, and some are as large."""
    return _counted(_listed("largest"))


def least_check(_profile: Profile) -> Outcome:
    """`rational`: no union of a listed family is smaller, and some are as small."""
    return _counted(_listed("least"))


def bytes_check(_profile: Profile) -> Outcome:
    """`rational`: no listed family sends more, and some send as much."""
    return _counted(
        [
            bytes_margin(dimension, family, exchanges, size, 4)
            for clients, dimension, count in shapes()
            for family in families(clients, dimension, count)
            for exchanges, size in ((1, 4), (3, 2))
        ]
    )


def safe_check(_profile: Profile) -> Outcome:
    """`rational`: disjoint selections of listed numbers of clients and sizes."""
    return _counted([safe_margin(*case) for case in product(range(1, 9), (1, 2, 4), (4, 8))])


def shape_cases() -> Members:
    """As `shapes`."""
    return st.sampled_from(shapes())


def family_cases() -> Members:
    """(number of positions, what each client selects), disjoint selections and equal ones among them."""

    def of(shape: tuple[int, int, int]) -> Members:
        clients, dimension, count = shape
        own = st.permutations(range(dimension)).map(lambda order: frozenset(order[:count]))
        drawn = st.lists(own, min_size=clients, max_size=clients)
        alike = own.map(lambda one: [one] * clients)
        apart = st.just(spread(clients, dimension, count))
        return st.tuples(st.just(dimension), drawn | alike | apart)

    sizes = st.tuples(st.integers(1, 6), st.integers(1, 20))
    return sizes.flatmap(lambda size: st.tuples(st.just(size[0]), st.just(size[1]), st.integers(1, size[1]))).flatmap(
        of
    )


def exchange_cases() -> Members:
    """The same with exchanges, bytes of a value and of a position."""
    rest = st.tuples(st.integers(1, 5), st.integers(1, 8), st.integers(1, 8))
    return st.tuples(family_cases(), rest).map(lambda case: (*case[0], *case[1]))


def size_cases() -> Members:
    """Clients, bytes of a value, and of a position: those with which disjoint selections just fit, or more."""
    drawn = st.tuples(st.integers(1, 50), st.integers(1, 8), st.integers(0, 32))
    cases = drawn.map(lambda case: (case[0], case[1], Fraction(case[1] * (case[0] - 1), case[0] + 1) + case[2]))
    return cases.filter(lambda case: case[2] > 0)


CHECKS: dict[str, dict[Grade, Check]] = {
    "random_union": {"rational": random_check, "property": property_check(shape_cases, random_margin)},
    "largest_union": {"rational": largest_check, "property": property_check(family_cases, largest_margin)},
    "least_union": {"rational": least_check, "property": property_check(family_cases, least_margin)},
    "selected_epoch_bytes": {"rational": bytes_check, "property": property_check(exchange_cases, bytes_margin)},
    "safe_selection": {"rational": safe_check, "property": property_check(size_cases, safe_margin)},
}
"""Every check of these statements, by label and grade."""

NO_SELECTION = "no selection has more positions than there are"
EDGES: dict[str, tuple[Remark, ...]] = {
    "random_union": (Unneeded("kappa <= 1", NO_SELECTION),),
    "largest_union": (Unneeded("k <= d", NO_SELECTION),),
    "least_union": (Unneeded("k <= d", NO_SELECTION),),
    "selected_epoch_bytes": (Unneeded("k <= d", NO_SELECTION),),
    "safe_selection": (
        Edge(
            "index_bytes >= value_bytes*(n - 1)/(n + 1)",
            {"n": 100, "value_bytes": 1, "index_bytes": Fraction(31, 32)},
            left=lambda: largest_safe_density(100, Fraction(1), Fraction(31, 32), 63),
        ),
    ),
}
"""Beyond the conditions."""
