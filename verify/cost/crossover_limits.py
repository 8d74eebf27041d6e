"""What evidence is there for densities with many workers? Simulations with n and 2n workers, from which limits follow.

Where a density is a + b/n, twice that of 2n workers less that of n is a. Where its inverse is a + bn, b follows too.
Densities above what there can be are taken for the line, and the limit for what there can be. Ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.collectives import numbers_of, stated
from sparsync.verify.cost.crossovers import PAIRS, faster_up_to, flat_crossings, rational_check, simulated_density
from sparsync.verify.cost.simulated.schedules import Link
from sparsync.verify.cost.simulated.simulations import Case
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import Members, property_check

MOST_WORKERS = 3


def twice(case: Case) -> Case:
    """The case with twice as many workers."""
    return replace(case, node_count=2 * case.node_count)


def gather_limit_margin(case: Case, seed: int) -> Fraction:
    """Minus the difference from what two simulated densities tend to."""
    few, many = (simulated_density(*PAIRS["gather_crossover"], some, seed) for some in (case, twice(case)))
    return -abs(min(Fraction(1), 2 * many - few) - stated("gather_crossover_limit", numbers_of(case)))


def bandwidth_margin(case: Case, seed: int) -> Fraction:
    """How far nκ* is below its bound where messages cost only their bytes."""
    case = replace(case, link=Link(Fraction(0), case.link.byte_seconds))
    product = case.workers * faster_up_to("gather_crossover", case, seed)
    return stated("gather_crossover_bandwidth", numbers_of(case)) - product


def global_top_k_limit_margin(case: Case, seed: int) -> Fraction:
    """Minus the difference from what two simulated densities, times D, tend to."""
    few, many = (
        (some.workers - 1).bit_length() * simulated_density(*PAIRS["global_top_k_doubling_crossover"], some, seed)
        for some in (case, twice(case))
    )
    return -abs(2 * many - few - stated("global_top_k_crossover_limit", numbers_of(case)))


def balanced_limit_margin(case: Case, seed: int) -> Fraction:
    """Minus the difference from what nκ* tends to by two simulated densities of workers who select apart."""
    few, many = (
        1 / simulated_density(*PAIRS["balanced_crossover"], replace(some, union=some.workers * some.count), seed)
        for some in (case, twice(case))
    )
    return -abs(min(Fraction(1), case.workers / (many - few)) - stated("balanced_crossover_limit", numbers_of(case)))


def workers_margin(case: Case, seed: int) -> Fraction:
    """Minus the difference of n from n* at the simulated density of n workers."""
    density = simulated_density(*PAIRS["gather_crossover"], case, seed)
    return -abs(case.workers - stated("gather_workers", {**numbers_of(case), "kappa": density}))


MARGINS: dict[str, Callable[[Case, int], Fraction]] = {
    "gather_crossover_limit": gather_limit_margin,
    "gather_crossover_bandwidth": bandwidth_margin,
    "global_top_k_crossover_limit": global_top_k_limit_margin,
    "balanced_crossover_limit": balanced_limit_margin,
    "gather_workers": workers_margin,
}
"""By label, how much room a case leaves."""


def few_workers() -> Members:
    """Two or three workers, and twice as many."""
    return flat_crossings().filter(lambda case: case[0].workers <= MOST_WORKERS)


CHECKS: dict[str, dict[Grade, Check]] = {
    label: {
        "rational": rational_check(margin, most_workers=MOST_WORKERS),
        "property": property_check(few_workers, margin),
    }
    for label, margin in MARGINS.items()
}
"""Every check of these statements, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    **dict.fromkeys(MARGINS, ()),
    "gather_workers": (
        Edge(
            str(STATEMENTS["gather_workers"].domain[0]),
            {
                "d": 8,
                "kappa": Fraction(1, 8),
                "value_bytes": 1,
                "index_bytes": 1,
                "byte_seconds": 1,
                "merge_seconds": 0,
                "message_seconds": Fraction(33, 16),
            },
        ),
    ),
}
"""What is beyond each condition: at a density that pays with any number of workers the number would be negative."""
