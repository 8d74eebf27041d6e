"""What evidence is there for unions of selections and their bytes? All families of small sets, and drawn ones. Ours."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
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


def exchange_bytes(family: Family, size: int, index: int) -> int:
    """Of one exchange: each client's pairs up, and the union's down to each."""
    ups = sum(len(own) * (size + index) for own in family)
    return ups + len(family) * len(union(family)) * (size + index)


def bytes_margin(dimension: int, family: Family, exchanges: int, size: int, index: int) -> Fraction:
    """The bound less what travels, where the same is selected in each exchange."""
    stated = STATEMENTS["selected_epoch_bytes"].fraction(
        n=len(family), d=dimension, k=len(family[0]), round_count=exchanges, value_bytes=size, index_bytes=index
    )
    return stated - exchanges * exchange_bytes(family, size, index)


def safe_margin(clients: int, size: int, index: int) -> Fraction:
    """Minus how far the largest density without excess lies from the statement's, of disjoint selections.

    What they cost grows linearly, so that one density tells it.
    """
    count = 3
    dimension = clients * count
    disjoint = [frozenset(range(first, first + count)) for first in range(0, dimension, count)]
    cost = Fraction(exchange_bytes(disjoint, size, index), 2 * clients * dimension * size)
    stated = STATEMENTS["safe_selection"].fraction(n=clients, value_bytes=size, index_bytes=index)
    return -abs(Fraction(count, dimension) / cost - stated)


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
        apart = st.just(
            [
                frozenset((first + place) % dimension for place in range(count))
                for first in range(0, clients * count, count)
            ]
        )
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
    """Clients, bytes of a value, and as many or more of a position."""
    sizes = st.integers(1, 8).flatmap(lambda size: st.tuples(st.just(size), st.integers(size, 16)))
    return st.tuples(st.integers(1, 50), sizes).map(lambda case: (case[0], *case[1]))


CHECKS: dict[str, dict[Grade, Check]] = {
    "random_union": {"rational": random_check, "property": property_check(shape_cases, random_margin)},
    "largest_union": {"rational": largest_check, "property": property_check(family_cases, largest_margin)},
    "least_union": {"rational": least_check, "property": property_check(family_cases, least_margin)},
    "selected_epoch_bytes": {"rational": bytes_check, "property": property_check(exchange_cases, bytes_margin)},
    "safe_selection": {"rational": safe_check, "property": property_check(size_cases, safe_margin)},
}
"""Every check of these statements, by label and grade."""
