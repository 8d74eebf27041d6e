"""What evidence is there for the densities at which collectives change places? Both are played, at several densities.

A sparse collective's seconds are a line in k; three simulated points fix it, and where it meets the dense collective's
seconds, as far as there are densities, is compared with the statement. Ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.collectives import (
    FEW,
    FREE,
    MANY,
    QUICK,
    SLOW,
    flat_cases,
    node_cases,
    numbers_of,
    stated,
)
from sparsync.verify.cost.simulated.schedules import Link
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_WORKERS = 7
FAR = Link(Fraction(40), Fraction(1, 7))
"""Rounds cost so much that who has fewer is always faster."""
WITH_UNIONS = ("balanced_crossover", "hierarchical_crossover")
"""Statements in which all workers together select rk coordinates, which are d at most."""

PAIRS: dict[str, tuple[str, str]] = {
    "gather_crossover": ("ring_all_gather", "ring_all_reduce"),
    "doubling_crossover": ("doubling_all_gather", "doubling_all_reduce"),
    "global_top_k_crossover": ("global_top_k", "ring_all_reduce"),
    "global_top_k_doubling_crossover": ("global_top_k", "doubling_all_reduce"),
    "balanced_crossover": ("balanced_all_reduce", "ring_all_reduce"),
    "hierarchical_crossover": ("hierarchical_gather", "ring_all_reduce"),
}
"""The sparse and the dense collective that a statement compares."""


def with_count(case: Case, count: Fraction) -> Case:
    """The case where each worker selects so many coordinates, and unions grow as that does."""
    factor = count / case.count
    return replace(case, count=count, union=case.union * factor, node_union=case.node_union * factor)


def simulated_density(sparse: str, dense: str, case: Case, seed: int = 0) -> Fraction:
    """κ at which both take equally long, from simulations; negative where the sparse one is slower with no entries.

    Raises:
        ValueError: the sparse collective's seconds are no line in k that rises.
    """
    numbers = random.Random(seed)
    one, two, four = (SIMULATIONS[sparse](with_count(case, Fraction(count)), numbers) for count in (1, 2, 4))
    slope = two - one
    if slope <= 0 or four - two != 2 * slope:
        raise ValueError(f"{sparse} takes {one}, {two} and {four} s with 1, 2 and 4 entries")
    return ((SIMULATIONS[dense](case, numbers) - one) / slope + 1) / case.dimension


def faster_up_to(label: str, case: Case, seed: int = 0) -> Fraction:
    """The largest density up to which the sparse collective is faster in simulations; 0 where nobody sends anything."""
    sparse, dense = PAIRS[label]
    if not any(SIMULATIONS[name](case, random.Random(seed)) for name in (sparse, dense)):
        return Fraction(0)
    most = case.count / case.union if label in WITH_UNIONS else Fraction(1)
    return max(Fraction(0), min(most, simulated_density(sparse, dense, case, seed)))


def crossover_numbers(case: Case) -> dict[str, object]:
    """As `numbers_of`, with ratios of unions."""
    ratios = {"union_ratio": case.union / case.count, "node_union_ratio": case.node_union / case.count}
    return {**numbers_of(case), **ratios}


def margin_of(label: str) -> Callable[[Case, int], Fraction]:
    """Of a case and a seed: minus the difference of the statement and the density at which simulations cross."""

    def margin(case: Case, seed: int) -> Fraction:
        return -abs(faster_up_to(label, case, seed) - stated(label, crossover_numbers(case)))

    return margin


def grid(*, in_nodes: bool) -> list[Case]:
    """Cases of two and more workers, alone or in two and more nodes; unions are as small as they may be, or larger."""
    sizes = [(2, 2), (3, 2), (1, 3)] if in_nodes else [(1, workers) for workers in range(2, MOST_WORKERS + 1)]
    links = [(SLOW, QUICK), (FAR, QUICK), *([(SLOW, FAR)] if in_nodes else []), (FREE, QUICK)]
    # With short positions owners are faster up to what there is to select.
    unions = [
        (size, Fraction(ratio), Fraction(ratio) * grown, Fraction(1, 4) if grown == size[1] else Fraction(9))
        for size in sizes
        for ratio in sorted({Fraction(1), Fraction(min(2, size[0]))})
        for grown in (Fraction(1), Fraction(size[1]), Fraction(3, 2))
    ]
    return [
        Case(
            dimension=12,
            count=Fraction(1),
            node_union=node_union,
            union=union,
            value_bytes=Fraction(4),
            index_bytes=index_bytes,
            link=link,
            inner_link=inner_link,
            merge_seconds=merge_seconds,
            node_count=node_count,
            node_size=node_size,
        )
        for (node_size, node_count), node_union, union, index_bytes in unions
        for (link, inner_link), merge_seconds in product(links, (Fraction(0), Fraction(1, 11)))
    ]


def rational_check(
    margin: Callable[[Case, int], Fraction], *, in_nodes: bool = False, most_workers: int = MOST_WORKERS
) -> Check:
    """`rational`: all cases of the grid, up to so many workers."""

    def check(_profile: Profile) -> Outcome:
        cases = [case for case in grid(in_nodes=in_nodes) if case.workers <= most_workers]
        margins = [margin(case, seed) for seed, case in enumerate(cases)]
        return Outcome(earned=bool(margins) and min(margins) >= 0, detail={"cases_count": len(margins)})

    return check


def _several(case: tuple[Case, int]) -> bool:
    return case[0].node_count >= 2


def flat_crossings() -> Members:
    """Of two and more workers without nodes."""
    return flat_cases().filter(_several)


def node_crossings() -> Members:
    """Of workers in two and more nodes."""
    return node_cases().filter(_several)


CHECKS: dict[str, dict[Grade, Check]] = {
    label: {
        "rational": rational_check(margin_of(label), in_nodes=label == "hierarchical_crossover"),
        "property": property_check(
            node_crossings if label == "hierarchical_crossover" else flat_crossings, margin_of(label)
        ),
    }
    for label in PAIRS
}
"""Every check of these statements, by label and grade."""


def _edge(label: str, condition: str, case: Case, **others: object) -> Edge:
    """A case at which the statement says something else than simulations, with some numbers changed."""
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    numbers = {name: number for name, number in crossover_numbers(case).items() if name in names}
    return Edge(condition, {**numbers, **others}, partial(faster_up_to, label, case))


def _of_workers(count: int) -> Case:
    """The first case of the grid, of so many workers, all of whom select alike."""
    return replace(grid(in_nodes=False)[0], node_count=count, union=Fraction(1))


def _doubling_edges(label: str) -> tuple[Remark, ...]:
    """One worker, who takes 0 of 0 rounds; two and five workers who take two, or so it says."""
    two, five = (replace(_of_workers(count), dimension=120) for count in (2, 5))
    return (
        replace(_edge(label, "n >= 2", _of_workers(1)), left=None),
        _edge(label, FEW, two, doubling_count=2),
        _edge(label, MANY, five, doubling_count=2),
    )


_IN_ONE = "what one selects is among what all do"
_IN_ALL = "n workers of k entries select nk coordinates together, or fewer"
EDGES: dict[str, tuple[Remark, ...]] = {
    "gather_crossover": (_edge("gather_crossover", "n >= 2", _of_workers(1)),),
    **{
        label: _doubling_edges(label)
        for label in ("doubling_crossover", "global_top_k_crossover", "global_top_k_doubling_crossover")
    },
    "balanced_crossover": (
        _edge("balanced_crossover", "n >= 2", _of_workers(1)),
        Unneeded("union_ratio >= 1", _IN_ONE),
        Unneeded("union_ratio <= n", _IN_ALL),
    ),
    "hierarchical_crossover": (
        _edge("hierarchical_crossover", "node_count >= 2", replace(grid(in_nodes=True)[0], node_count=1)),
        Unneeded("node_union_ratio >= 1", _IN_ONE),
        Unneeded("node_union_ratio <= node_workers", "m workers of k entries select mk coordinates together, or fewer"),
        Unneeded("node_union_ratio <= union_ratio", "what one node selects is among what all do"),
        Unneeded("union_ratio <= node_count*node_union_ratio", "g nodes of u coordinates have gu together, or fewer"),
    ),
}
"""What is beyond each condition."""
