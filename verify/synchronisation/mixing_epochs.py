"""What evidence is there for the contraction of an epoch of mixing, besides its derivation?

Metropolis weights over every way to use the links of small connected graphs, certified for all parameters at once in
exact fractions; long paths, which come near the bound; and drawn epochs of drawn parameters. Ours.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from math import cos, pi

from hypothesis import strategies as st

from sparsync.theory.language.symbols import least_weight as parameter
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tight_rates.forms import is_positive_semidefinite
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

LARGEST_GRAPH = 4
"""Workers up to which all connected graphs are listed."""
MOST_ORDERED_LINKS = 3
"""Links up to which every way to use them in an epoch is followed; more are used at once, or one after the other."""
LONG_PATHS = (7, 8, 16)
"""Workers of the paths whose links are all used at once."""

Link = tuple[int, int]
"""Two workers that mix, the smaller number first."""
Epoch = Sequence[Sequence[Link]]
"""The links that are used, step by step."""
Matrix = list[list[Fraction]]


def metropolis(workers: int, links: Iterable[Link]) -> Matrix:
    """1/(1 + the larger degree) on links, and what is left on the diagonal."""
    used = list(links)
    degrees = [sum(worker in link for link in used) for worker in range(workers)]
    matrix = [[Fraction(0)] * workers for _ in range(workers)]
    for first, second in used:
        matrix[first][second] = matrix[second][first] = Fraction(1, 1 + max(degrees[first], degrees[second]))
    for worker, row in enumerate(matrix):
        row[worker] = 1 - sum(row, Fraction(0))
    return matrix


def least_weight(workers: int, epoch: Epoch) -> Fraction:
    """The least weight that is not 0, over an epoch."""
    return min(weight for links in epoch for row in metropolis(workers, links) for weight in row if weight)


def stated_factor(workers: int, epoch: Epoch) -> Fraction:
    """The factor by the statement."""
    return _factor(workers, least_weight(workers, epoch))


def _factor(workers: int, weight: Fraction) -> Fraction:
    """By the statement, where no weight is less than this; no two in a row are more than 1/2."""
    label = "epoch_disagreement"
    assumed = min(weight / assumed_share(label, "least", parameter), Fraction(1, 2))
    return STATEMENTS[label].fraction(n=workers, least_weight=assumed)


def pair_margin(weight: Fraction) -> Fraction:
    """The factor minus what is left of the disagreement of two workers that give each other this weight."""
    return _factor(2, weight) - (1 - 2 * weight) ** 2


def contracts(workers: int, epoch: Epoch) -> bool:
    """True iff the factor holds for all parameters: factor · C − (WC)ᵀ(WC) is positive semidefinite, C centring."""
    columns = [
        [Fraction(int(worker == other)) - Fraction(1, workers) for worker in range(workers)] for other in range(workers)
    ]
    mixed = [after(workers, epoch, column) for column in columns]
    factor = stated_factor(workers, epoch)
    room = [
        [
            factor * columns[first][second]
            - sum((a * b for a, b in zip(mixed[first], mixed[second], strict=True)), Fraction(0))
            for second in range(workers)
        ]
        for first in range(workers)
    ]
    return is_positive_semidefinite(room)


def after(workers: int, epoch: Epoch, values: Sequence[Fraction]) -> list[Fraction]:
    """The workers' parameters after an epoch."""
    mixed = list(values)
    for links in epoch:
        mixed = [
            sum((weight * value for weight, value in zip(row, mixed, strict=True) if weight), Fraction(0))
            for row in metropolis(workers, links)
        ]
    return mixed


def connected_graphs(workers: int) -> Iterator[tuple[Link, ...]]:
    """All connected graphs on numbered workers, by their links."""
    pairs = list(combinations(range(workers), 2))
    for count in range(workers - 1, len(pairs) + 1):
        yield from (links for links in combinations(pairs, count) if _connects(workers, links))


def _connects(workers: int, links: Iterable[Link]) -> bool:
    reached, used = {0}, list(links)
    for _ in range(workers):
        reached |= {end for link in used if reached.intersection(link) for end in link}
    return len(reached) == workers


def uses(links: tuple[Link, ...]) -> Iterator[list[list[Link]]]:
    """Every way to use each link once: all sequences of sets of links."""
    if not links:
        yield []
        return
    for count in range(1, len(links) + 1):
        for first in combinations(links, count):
            rest = tuple(link for link in links if link not in first)
            yield from ([list(first), *others] for others in uses(rest))


def listed_epochs() -> Iterator[tuple[int, Epoch]]:
    """(workers, epoch) of all small graphs, and of long paths."""
    for workers in range(2, LARGEST_GRAPH + 1):
        for links in connected_graphs(workers):
            if len(links) <= MOST_ORDERED_LINKS:
                yield from ((workers, epoch) for epoch in uses(links))
            else:
                yield workers, [list(links)]
                yield workers, [[link] for link in links]
    yield from ((workers, [list(pairwise(range(workers)))]) for workers in LONG_PATHS)


def listed_check(_profile: Profile) -> Outcome:
    """`rational`: the factor holds for all parameters in every listed epoch."""
    epochs = list(listed_epochs())
    failed = [
        [workers, [list(map(list, links)) for links in epoch]]
        for workers, epoch in epochs
        if not contracts(workers, epoch)
    ]
    pairs = [pair_margin(Fraction(part, 16)) for part in range(1, 9)]
    detail = {"epochs_count": len(epochs), "failed_epochs": failed[:3], "smallest_pair_margin": str(min(pairs))}
    return Outcome(earned=not failed and min(pairs) >= 0, detail=detail)


def epoch_cases() -> Members:
    """(workers, epoch, parameters): a tree and links more in any order, or a path at once with parameters in order."""
    values = st.integers(-8, 8).map(Fraction)

    def of_size(workers: int) -> Members:
        parents = st.tuples(*(st.integers(0, worker - 1) for worker in range(1, workers)))
        tree = parents.map(lambda above: [(parent, worker) for worker, parent in enumerate(above, start=1)])
        more = st.lists(st.sampled_from(list(combinations(range(workers), 2))), max_size=3)
        links = st.tuples(tree, more).flatmap(lambda both: st.permutations([*both[0], *both[1]]))
        epoch = st.tuples(links, st.integers(1, 3)).map(lambda drawn: _in_steps(*drawn))
        own = st.lists(values, min_size=workers, max_size=workers)
        return st.tuples(st.just(workers), epoch, own)

    slowest = st.sampled_from([2, 3, 12, 16]).map(
        lambda workers: (workers, [list(pairwise(range(workers)))], slowest_mode(workers))
    )
    return st.integers(2, 6).flatmap(of_size) | slowest


def slowest_mode(workers: int) -> list[Fraction]:
    """Parameters on a path that agree the slowest, rounded."""
    return [Fraction(round(1000 * cos(pi * (2 * worker + 1) / (2 * workers)))) for worker in range(workers)]


def _in_steps(links: Sequence[Link], size: int) -> list[list[Link]]:
    """So many links at a time, each once in a step."""
    return [sorted(set(links[first : first + size])) for first in range(0, len(links), size)]


def epoch_margin(workers: int, epoch: Epoch, values: Sequence[Fraction]) -> Fraction:
    """The stated part of the disagreement minus what is left after an epoch."""
    return stated_factor(workers, epoch) * _disagreement(values) - _disagreement(after(workers, epoch, values))


def _disagreement(values: Sequence[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


EDGES: dict[str, tuple[Remark, ...]] = {
    "epoch_disagreement": (
        Unneeded("least_weight <= 1/2", "a row of sum 1 has no two weights above 1/2, and who mixes has two"),
        Edge("n >= 2", {"least_weight": Fraction(1, 2), "n": 1}),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "epoch_disagreement": {"rational": listed_check, "property": property_check(epoch_cases, epoch_margin)},
}
"""Every check of this statement, by grade."""
