"""What evidence is there for the times of a farm? Its messages, works and folds are played one by one, in fractions.

In a star the master's port takes one message at a time; in a tree integers are really folded. Ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from heapq import heappop, heappush
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

DEEPEST = 5
"""A tree has at most 32 workers here."""


@dataclass(frozen=True)
class Star:
    """What an iteration of a farm costs, in one unit of time.

    Args:
        latency: of a message.
        send: what one worker is told, without latency.
        receive: what all workers answer, without latencies.
        master: the next approximation.
        work: the whole list, by one worker.
    """

    latency: Fraction
    send: Fraction
    receive: Fraction
    master: Fraction
    work: Fraction


@dataclass(frozen=True)
class Tree:
    """The same of a farm in a tree.

    Args:
        down: a message to a worker.
        up: an answer.
        fold: two results into one.
        mapping: the results of the whole list, by one worker.
        master: the next approximation.
    """

    down: Fraction
    up: Fraction
    fold: Fraction
    mapping: Fraction
    master: Fraction


def assumed(label: str, name: str, **numbers_by_name: Fraction | int) -> Fraction:
    """What an assumption of the statement says at these numbers."""
    return _assumed_at(STATEMENTS[label].given(name), tuple(sorted(numbers_by_name.items())))


@cache
def _assumed_at(expression: sympy.Expr, numbers: tuple[tuple[str, Fraction | int], ...]) -> Fraction:
    by_name = dict(numbers)
    exact = {symbol: sympy.Rational(str(by_name[str(symbol.name)])) for symbol in expression.free_symbols}
    return Fraction(str(expression.xreplace(exact)))


def phased_seconds(farm: Star, size: int, label: str = "star_farm") -> Fraction:
    """An iteration in which no phase begins before the last one has ended, as the statement assumes it."""
    clock = Fraction(0)
    told = assumed(label, "told", latency=farm.latency, send_time=farm.send)
    for _ in range(size):
        clock += told
    ready = [clock + assumed(label, "part", work_time=farm.work, farm_size=size) for _ in range(size)]
    clock = max(ready)
    answer = assumed(label, "answer", latency=farm.latency, receive_time=farm.receive, farm_size=size)
    for _ in range(size):
        clock += answer
    return clock + farm.master


def pipelined_seconds(size: int, dispatch: Fraction, collect: Fraction, work: Fraction, master: Fraction) -> Fraction:
    """An iteration in which everybody begins as soon as he can: events in the order of their times."""
    part = assumed("pipelined_farm", "part", work_time=work, farm_size=size)
    events: list[tuple[Fraction, str, int]] = [(Fraction(0), "free", 0)]
    told, taken, free, ready = 0, 0, False, set[int]()
    clock = Fraction(0)
    while taken < size:
        clock, what, worker = heappop(events)
        free = free or what == "free"
        if what == "ready":
            ready.add(worker)
        if free and told < size:
            heappush(events, (clock + dispatch, "free", 0))
            heappush(events, (clock + dispatch + part, "ready", told))
            free, told = False, told + 1
        elif free and taken in ready:
            heappush(events, (clock + collect, "free", 0))
            free, taken = False, taken + 1
    while events:
        clock = heappop(events)[0]
    return clock + master


def tree_rounds(depth: int) -> list[list[tuple[int, int]]]:
    """Who tells whom in each round; −1 is the master."""
    rounds, knowing = [[(-1, 0)]], [0]
    for _ in range(depth):
        told = [(worker, len(knowing) + place) for place, worker in enumerate(knowing)]
        knowing += [other for _, other in told]
        rounds.append(told)
    return rounds


def tree_seconds(tree: Tree, depth: int, parts: int, *, master_folds: bool, label: str = "") -> Fraction:
    """An iteration in a tree of 2^depth workers, each of whom has a part of the list or more.

    Args:
        tree: what it costs.
        depth: rounds after the first.
        parts: of the list; where workers do not divide them, some have one more.
        master_folds: whether it folds all answers.
        label: the statement whose assumptions are played, or that on its time.

    Raises:
        ValueError: the master ends with another sum than that of all parts.
    """
    size, rounds = 2**depth, tree_rounds(depth)
    label = label or ("gathered_farm" if master_folds else "tree_farm")
    share = assumed(label, "share", map_time=tree.mapping, tree_depth=depth)
    clocks = {worker: Fraction(0) for worker in range(-1, size)}
    for told in rounds:
        for teller, other in told:
            clocks[other] = clocks[teller] + tree.down
            clocks[teller] += tree.down
    held: dict[int, list[int]] = {-1: []}
    for worker in range(size):
        own = list(range(worker, parts, size))
        held[worker], folds = [sum(own)], len(own) - 1
        clocks[worker] += share + folds * tree.fold
    clocks[-1] = Fraction(0)
    for told in reversed(rounds):
        for taker, other in told:
            clocks[taker] = max(clocks[taker], clocks[other]) + tree.up
            held[taker] += held.pop(other)
            if not master_folds and len(held[taker]) > 1:
                held[taker] = [sum(held[taker])]
                clocks[taker] += tree.fold
    if master_folds:
        clocks[-1] += (len(held[-1]) - 1) * tree.fold
    if sum(held[-1]) != sum(range(parts)):
        raise ValueError(f"the master ends with {held[-1]}")
    return clocks[-1] + tree.master


def star_margin(farm: Star, size: int) -> Fraction:
    """Minus the difference of the farm as it is played from the statement."""
    stated = STATEMENTS["star_farm"].fraction(
        latency=farm.latency,
        send_time=farm.send,
        receive_time=farm.receive,
        master_time=farm.master,
        work_time=farm.work,
        farm_size=size,
    )
    return -abs(phased_seconds(farm, size) - stated)


def pipelined_margin(size: int, dispatch: Fraction, collect: Fraction, work: Fraction, master: Fraction) -> Fraction:
    """The same without phases."""
    stated = STATEMENTS["pipelined_farm"].fraction(
        farm_size=size, dispatch_time=dispatch, collect_time=collect, work_time=work, master_time=master
    )
    return -abs(pipelined_seconds(size, dispatch, collect, work, master) - stated)


def tree_numbers(tree: Tree, parts: int) -> dict[str, Fraction | int]:
    """What the statements on trees call them."""
    return {
        "round_time": tree.down + tree.up,
        "fold_time": tree.fold,
        "map_time": tree.mapping,
        "list_length": parts,
    }


def tree_margin(tree: Tree, depth: int, share: int) -> Fraction:
    """The same of a folding tree, each of whose workers has a share of so many parts."""
    return _tree_margin("tree_farm", tree, depth, share, master_folds=False)


def gathered_margin(tree: Tree, depth: int, share: int) -> Fraction:
    """The same where the master folds."""
    return _tree_margin("gathered_farm", tree, depth, share, master_folds=True)


def _tree_margin(label: str, tree: Tree, depth: int, share: int, *, master_folds: bool) -> Fraction:
    parts = share * 2**depth
    stated = STATEMENTS[label].fraction(tree_depth=depth, master_time=tree.master, **tree_numbers(tree, parts))
    return -abs(tree_seconds(tree, depth, parts, master_folds=master_folds) - stated)


def counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0."""
    return Outcome(
        earned=bool(margins) and min(margins) >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


STARS = tuple(Star(*map(Fraction, times)) for times in product((1, 3), (2, 7), (0, 5), (0, 1), (40,)))
"""Farms of listed times."""
TREES = tuple(Tree(*map(Fraction, times)) for times in product((1, 4), (2,), (1, 3), (60,), (0, 5)))
"""The same in trees."""


def star_check(_profile: Profile) -> Outcome:
    """`rational`: listed farms of up to nine workers."""
    return counted([star_margin(farm, size) for farm in STARS for size in range(1, 10)])


def pipelined_check(_profile: Profile) -> Outcome:
    """`rational`: listed times, where the master, the first or the last worker decides."""
    cases = product(range(1, 8), (1, 3), (1, 2), (1, 12, 90), (0, 2))
    return counted([pipelined_margin(size, *map(Fraction, times)) for size, *times in cases])


def tree_check(_profile: Profile) -> Outcome:
    """`rational`: listed trees of up to 32 workers."""
    return counted(
        [tree_margin(tree, depth, share) for tree in TREES for depth in range(DEEPEST + 1) for share in (1, 3)]
    )


def gathered_check(_profile: Profile) -> Outcome:
    """`rational`: likewise."""
    return counted(
        [gathered_margin(tree, depth, share) for tree in TREES for depth in range(DEEPEST + 1) for share in (1, 3)]
    )


def times(least: int = 1) -> st.SearchStrategy[Fraction]:
    """Fractions with small denominators."""
    return st.builds(Fraction, st.integers(least, 40), st.integers(1, 6))


def stars() -> st.SearchStrategy[Star]:
    """Farms of any times."""
    return st.builds(Star, times(), times(), times(0), times(0), times())


def trees() -> st.SearchStrategy[Tree]:
    """The same in trees."""
    return st.builds(Tree, times(), times(), times(), times(), times(0))


def star_cases() -> Members:
    """A farm and its size."""
    return st.tuples(stars(), st.integers(1, 20))


def pipelined_cases() -> Members:
    """A size and the times of telling, taking, working and ending."""
    return st.tuples(st.integers(1, 12), times(), times(), times(), times(0))


def tree_cases() -> Members:
    """A tree, its depth, and how many parts a worker has."""
    return st.tuples(trees(), st.integers(0, DEEPEST), st.integers(1, 5))


UNEVEN = Tree(*map(Fraction, (1, 1, 1, 6, 0)))
"""Costs of the tree of `EDGES`."""


def _uneven(*, master_folds: bool) -> Edge:
    """Two workers share three parts."""
    return Edge(
        "Eq(Mod(list_length, 2**tree_depth), 0)",
        {"tree_depth": 1, "master_time": UNEVEN.master, **tree_numbers(UNEVEN, 3)},
        lambda: tree_seconds(UNEVEN, 1, 3, master_folds=master_folds),
    )


EDGES: dict[str, tuple[Remark, ...]] = {
    "tree_farm": (_uneven(master_folds=False),),
    "gathered_farm": (_uneven(master_folds=True),),
}
"""Points just beyond the conditions."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "star_farm": {"rational": star_check, "property": property_check(star_cases, star_margin)},
    "pipelined_farm": {"rational": pipelined_check, "property": property_check(pipelined_cases, pipelined_margin)},
    "tree_farm": {"rational": tree_check, "property": property_check(tree_cases, tree_margin)},
    "gathered_farm": {"rational": gathered_check, "property": property_check(tree_cases, gathered_margin)},
}
"""Every check of these statements, by label and grade."""
