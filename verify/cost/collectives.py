"""What evidence is there for the seconds of collectives? Their messages are sent, and the last worker's clock is read.

Everything is a fraction, so that a margin of zero is equality. Ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.given import Given
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.simulated.schedules import Link
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

SLOW, QUICK = Link(Fraction(3), Fraction(1, 7)), Link(Fraction(2, 5), Fraction(1, 19))
"""Of fractions that do not cancel by chance."""
FREE = Link(Fraction(0), Fraction(1, 4))
"""A message costs its bytes only."""
MOST_WORKERS = 8


def numbers_of(case: Case) -> dict[str, object]:
    """All that a statement may ask for, by the names of its parameters."""
    return {
        "n": case.workers,
        "d": case.dimension,
        "k": int(case.count),
        "union_size": int(case.union),
        "node_union_size": int(case.node_union),
        "value_bytes": case.value_bytes,
        "index_bytes": case.index_bytes,
        "message_seconds": case.link.message_seconds,
        "byte_seconds": case.link.byte_seconds,
        "inner_message_seconds": case.inner_link.message_seconds,
        "inner_byte_seconds": case.inner_link.byte_seconds,
        "merge_seconds": case.merge_seconds,
        "node_count": case.node_count,
        "node_workers": case.node_size,
        "doubling_count": (case.workers - 1).bit_length(),
    }


def stated(label: str, numbers: dict[str, object]) -> Fraction:
    """The statement at those of the numbers that it asks for."""
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    return STATEMENTS[label].fraction(**{name: numbers[name] for name in names})


def assumed(label: str, case: Case) -> Case:
    """The case whose n parts, or whose regions' entries and sums, are of the sizes that the statement assumes."""
    numbers = numbers_of(case)

    def size_of(name: str) -> Fraction:
        right = STATEMENTS[label].given(name)
        values = {symbol: sympy.Rational(str(numbers[str(symbol.name)])) for symbol in right.free_symbols}
        return Fraction(str(right.xreplace(values)))

    fields = {"part": "dimension", "entries": "count", "sums": "union"}
    named = [one.name for one in STATEMENTS[label].assumptions if isinstance(one, Given)]
    sizes: dict[str, Any] = {fields[name]: case.workers * size_of(name) for name in named}
    return replace(case, **sizes)


def seconds_of(label: str, case: Case, seed: int = 0) -> Fraction:
    """When the last worker is done in a simulation of what the statement assumes."""
    return SIMULATIONS[label](assumed(label, case), random.Random(seed))


def margin_of(label: str) -> Callable[[Case, int], Fraction]:
    """Of a case and a seed of its values: minus the difference of the statement and the simulation."""

    def margin(case: Case, seed: int) -> Fraction:
        return -abs(seconds_of(label, case, seed) - stated(label, numbers_of(case)))

    return margin


def cases_of(workers: int, node_size: int, union: int) -> list[Case]:
    """Cases of so many workers where a node's union and that of all are as small as they may be, larger, or largest."""
    made = []
    for link, merge_seconds in product((SLOW, FREE), (Fraction(0), Fraction(1, 11))):
        count = 4
        node_union = min(count * node_size, count + union)
        made.append(
            Case(
                dimension=2 * workers,
                count=Fraction(count),
                node_union=Fraction(node_union),
                union=Fraction(min(node_union * (workers // node_size), node_union + union)),
                value_bytes=Fraction(4),
                index_bytes=Fraction(3),
                link=link,
                inner_link=QUICK,
                merge_seconds=merge_seconds,
                node_count=workers // node_size,
                node_size=node_size,
            )
        )
    return made


def grid_check(label: str, *, in_nodes: bool = False) -> Check:
    """`rational`: up to the most workers, alone or in nodes, with unions of all sizes that differ in kind."""

    def check(_profile: Profile) -> Outcome:
        sizes = [(m, g) for m, g in product(range(1, 5), repeat=2) if m * g <= MOST_WORKERS and (in_nodes or m == 1)]
        sizes += [] if in_nodes else [(1, workers) for workers in range(5, MOST_WORKERS + 1)]
        cases = [case for m, g in sizes for union in (0, 3, 100) for case in cases_of(m * g, m, union)]
        margins = [margin_of(label)(case, seed) for seed, case in enumerate(cases)]
        return Outcome(earned=bool(margins) and min(margins) == 0, detail={"cases_count": len(margins)})

    return check


COUNT = st.integers(1, 9)
RATE = st.integers(1, 40).map(lambda number: Fraction(number, 13))
LINK = st.builds(Link, st.integers(0, 9).map(Fraction), RATE)


@st.composite
def cases(draw: st.DrawFn, *, in_nodes: bool) -> tuple[Case, int]:
    """A case and a seed; workers in nodes or one on each."""
    node_count, node_size = draw(st.integers(1, 4 if in_nodes else 7)), draw(st.integers(1, 3)) if in_nodes else 1
    count = draw(COUNT)
    node_union = draw(st.integers(count, count * node_size))
    case = Case(
        dimension=node_count * node_size * draw(COUNT),
        count=Fraction(count),
        node_union=Fraction(node_union),
        union=Fraction(draw(st.integers(node_union, node_union * node_count))),
        value_bytes=draw(RATE),
        index_bytes=draw(RATE),
        link=draw(LINK),
        inner_link=draw(LINK),
        merge_seconds=draw(st.integers(0, 3).map(lambda number: Fraction(number, 5))),
        node_count=node_count,
        node_size=node_size,
    )
    return case, draw(st.integers(0, 2**16))


def flat_cases() -> Members:
    """Of workers without nodes."""
    return cases(in_nodes=False)


def node_cases() -> Members:
    """Of workers in nodes."""
    return cases(in_nodes=True)


def checks_of(label: str, *, in_nodes: bool = False) -> dict[Grade, Check]:
    """Both kinds of evidence of a statement on seconds."""
    members = node_cases if in_nodes else flat_cases
    return {
        "rational": grid_check(label, in_nodes=in_nodes),
        "property": property_check(members, margin_of(label)),
    }


CHECKS: dict[str, dict[Grade, Check]] = {
    label: checks_of(label)
    for label in (
        "ring_all_reduce",
        "doubling_all_reduce",
        "tree_all_reduce",
        "ring_all_gather",
        "doubling_all_gather",
        "global_top_k",
        "balanced_all_reduce",
    )
}
"""Every check of these statements, by label and grade."""

FEW, MANY = "2**(doubling_count - 1) < n", "n <= 2**doubling_count"


def doubling_edge(label: str, condition: str, case: Case, doublings: int) -> Edge:
    """Of a statement with so many doublings too many or too few: what the simulated workers take."""
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    numbers = {name: number for name, number in numbers_of(case).items() if name in names}
    return Edge(condition, {**numbers, "doubling_count": doublings}, partial(seconds_of, label, case))


def _doubling_edges(label: str) -> tuple[Remark, ...]:
    """Of two workers who take two rounds, and of five who take two, or so it says."""
    two, five = cases_of(2, 1, 0)[0], cases_of(5, 1, 0)[0]
    return doubling_edge(label, FEW, two, 2), doubling_edge(label, MANY, five, 2)


EDGES: dict[str, tuple[Remark, ...]] = {
    **dict.fromkeys(("ring_all_reduce", "ring_all_gather"), ()),
    **{
        label: _doubling_edges(label)
        for label in ("doubling_all_reduce", "tree_all_reduce", "doubling_all_gather", "global_top_k")
    },
    "balanced_all_reduce": (
        Unneeded("k <= union_size", "the k coordinates of one worker are among those that some worker selected"),
        Unneeded("union_size <= k*n", "n workers of k entries select nk coordinates together, or fewer"),
    ),
}
"""What is beyond each condition."""
