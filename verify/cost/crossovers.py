"""What evidence is there for the densities at which collectives change places? Both are played, at several densities.

A sparse collective's seconds are a line in k; three simulated points fix it, and where it meets the dense collective's
seconds is compared with the statement. Ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

from sparsync.verify.cost.collectives import FREE, QUICK, SLOW, flat_cases, node_cases, numbers_of, stated
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_WORKERS = 7

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


def crossover_numbers(case: Case) -> dict[str, object]:
    """As `numbers_of`, with ratios of unions."""
    ratios = {"union_ratio": case.union / case.count, "node_union_ratio": case.node_union / case.count}
    return {**numbers_of(case), **ratios}


def margin_of(label: str) -> Callable[[Case, int], Fraction]:
    """Of a case and a seed: minus the difference of the statement and the density at which simulations cross."""

    def margin(case: Case, seed: int) -> Fraction:
        return -abs(simulated_density(*PAIRS[label], case, seed) - stated(label, crossover_numbers(case)))

    return margin


def grid(*, in_nodes: bool) -> list[Case]:
    """Cases of two and more workers."""
    sizes = [(2, 1), (2, 2), (3, 2), (1, 3)] if in_nodes else [(1, workers) for workers in range(2, MOST_WORKERS + 1)]
    return [
        Case(
            dimension=12,
            count=Fraction(1),
            node_union=ratio if node_size > 1 else Fraction(1),
            union=min(Fraction(3, 2), Fraction(node_size)) if node_count == 1 else Fraction(3, 2),
            value_bytes=Fraction(4),
            index_bytes=Fraction(3),
            link=link,
            inner_link=QUICK,
            merge_seconds=merge_seconds,
            node_count=node_count,
            node_size=node_size,
        )
        for node_size, node_count in sizes
        for ratio in ((Fraction(3, 2),) if node_count == 1 else (Fraction(1), Fraction(3, 2)))
        for link, merge_seconds in product((SLOW, FREE), (Fraction(0), Fraction(1, 11)))
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
    return case[0].workers >= 2


def flat_crossings() -> Members:
    """Of two and more workers without nodes."""
    return flat_cases().filter(_several)


def node_crossings() -> Members:
    """Of two and more workers in nodes."""
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
