"""Up to which density is a sparse collective faster than a dense one?

Both take equally long at one density; below it the sparse one is faster, above it the dense one. κ* is that density, or
the largest that there can be where that is less: 1, or 1/r where all workers together select r times what one selects;
or 0 where the dense one is always faster. An entry of s + j bytes is ρ = (s + j)/s values long. Times are those of
`collectives.py`, whose sums γ takes; all of this is ours, and assumes nothing of which coordinates are selected but the
size of their union.
"""

from collections.abc import Callable

import sympy

from sparsync.theory.cost.collectives import (
    DOUBLINGS,
    ENTRY_BYTES,
    MODEL,
    VALUES,
    VECTOR_BYTES,
    balanced_all_reduce,
    doubling_all_gather,
    doubling_all_reduce,
    global_top_k,
    ring_all_gather,
    ring_all_reduce,
)
from sparsync.theory.cost.node_collectives import NODES, hierarchical_gather
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    byte_seconds,
    crossover_density,
    d,
    doubling_count,
    inner_byte_seconds,
    inner_message_seconds,
    k,
    merge_seconds,
    message_seconds,
    n,
    node_count,
    node_union_ratio,
    node_union_size,
    node_workers,
    union_ratio,
    union_size,
    value_bytes,
)

SHARED = (
    *MODEL,
    *VALUES,
    r"sparse: $k=\kappa d$ entries of $s+j$ bytes each",
    "both collectives take the seconds that are stated of them",
)
SEVERAL = (sympy.Ge(n, 2),)
TWICE_SENT = 2 * byte_seconds + merge_seconds
"""Of a byte that an all-reduce adds and shares."""
ONCE_SENT = byte_seconds + merge_seconds
"""Of a byte that is gathered and added."""

_OTHERS = sympy.Symbol("others", integer=True, positive=True)
"""n − 1."""
_SOME, _MORE = sympy.symbols("some more", integer=True, nonnegative=True)


def equal_gather_density() -> sympy.Expr:
    """Where an all-gather and an all-reduce on a ring take equally long, were k not at most d."""
    return message_seconds / (d * ENTRY_BYTES * ONCE_SENT) + value_bytes * TWICE_SENT / (n * ENTRY_BYTES * ONCE_SENT)


def equal_balanced_density() -> sympy.Expr:
    """Where owners of regions take as long as an all-reduce on a ring, were rk not at most d."""
    return value_bytes * TWICE_SENT / (ENTRY_BYTES * ((1 + union_ratio) * byte_seconds + merge_seconds))


def gather_crossover() -> Statement:
    """κ* = min(1, α/(d(s + j)(β + γ)) + s(2β + γ)/(n(s + j)(β + γ))): an all-gather on a ring, an all-reduce on one.

    The all-gather has half the rounds, which is the first term; with many workers only that is left.

    Source: ours.
    """
    met = equal_gather_density()
    bound = sympy.Min(1, met)
    return Statement(
        label="gather_crossover",
        title="Density up to which a ring all-gather of payloads is faster than a ring all-reduce",
        assumptions=SHARED,
        relation=sympy.Eq(crossover_density, bound),
        domain=SEVERAL,
        source="ours",
        kind="definition",
        derivation=(
            *_crossing(met=met, sparse=ring_all_gather().bound, dense=ring_all_reduce().bound),
            _within(bound, met),
        ),
    )


def doubling_crossover() -> Statement:
    """κ* = min(1, Dα/((n − 1)d(s + j)(β + γ)) + s(2β + γ)/(n(s + j)(β + γ))), D = ⌈log₂ n⌉: the same by doubling.

    With many workers nothing is left of it.

    Source: ours.
    """
    met = doubling_count * message_seconds / ((n - 1) * d * ENTRY_BYTES * ONCE_SENT) + value_bytes * TWICE_SENT / (
        n * ENTRY_BYTES * ONCE_SENT
    )
    bound = sympy.Min(1, met)
    return Statement(
        label="doubling_crossover",
        title="Density up to which an all-gather of payloads by doubling is faster than an all-reduce by it",
        assumptions=(*SHARED, r"$D=\lceil\log_2 n\rceil$"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, *DOUBLINGS),
        source="ours",
        kind="definition",
        derivation=(
            *_crossing(met=met, sparse=doubling_all_gather().bound, dense=doubling_all_reduce().bound),
            _within(bound, met),
        ),
    )


def global_top_k_crossover() -> Statement:
    """κ* = min(1, ((n − 1)/(nD)) s/(s + j) + 2(n − 1 − D)α/(Dd(s + j)(2β + γ))), D = ⌈log₂ n⌉: a tree and a ring.

    A tree of whole vectors has as many rounds, so that against it κ* = s/(s + j).

    Source: ours.
    """
    rounds_saved = 2 * (n - 1 - doubling_count) * message_seconds / (doubling_count * d * ENTRY_BYTES * TWICE_SENT)
    met = (n - 1) * value_bytes / (n * doubling_count * ENTRY_BYTES) + rounds_saved
    bound = sympy.Min(1, met)
    return Statement(
        label="global_top_k_crossover",
        title="Density up to which a tree of merges is faster than a ring all-reduce",
        assumptions=(*SHARED, r"$D=\lceil\log_2 n\rceil$", "of each merge the $k$ largest sums are kept"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, *DOUBLINGS),
        source="ours",
        kind="definition",
        derivation=(
            *_crossing(met=met, sparse=global_top_k().bound, dense=ring_all_reduce().bound),
            Step(
                "D ≤ 2^(D − 1) < n: with D ≤ 2^(D − 1), D + 1 ≤ 2 · 2^(D − 1)",
                lambda: 2 * (1 + _SOME + _MORE) - (1 + _SOME + 1) >= 0,
                argued="the induction over D ≥ 1",
            ),
            _within(bound, met),
        ),
    )


def global_top_k_doubling_crossover() -> Statement:
    """κ* = ((n − 1)/(nD)) s/(s + j), D = ⌈log₂ n⌉, whatever the link: against an all-reduce of as many rounds.

    Source: ours.
    """
    bound = (n - 1) * value_bytes / (n * doubling_count * ENTRY_BYTES)
    numbers = {n: 1 + _OTHERS, doubling_count: 1 + _SOME}
    return Statement(
        label="global_top_k_doubling_crossover",
        title="Density up to which a tree of merges is faster than an all-reduce by doubling",
        assumptions=(*SHARED, r"$D=\lceil\log_2 n\rceil$", "of each merge the $k$ largest sums are kept"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, *DOUBLINGS),
        source="ours",
        kind="definition",
        derivation=(
            *_crossing(met=bound, sparse=global_top_k().bound, dense=doubling_all_reduce().bound),
            Step(
                "which is positive and less than 1",
                lambda: sympy.And(*(sympy.factor(part.subs(numbers)) > 0 for part in (bound, 1 - bound))),
                concludes=bound,
            ),
        ),
    )


def balanced_crossover() -> Statement:
    """κ* = min(1/r, s(2β + γ)/((s + j)((1 + r)β + γ))), where some worker selects rk coordinates: as many rounds.

    For r = 1 (all select alike, or owners keep k sums) it is s/(s + j), whatever link and number of workers.

    Source: ours.
    """
    met = equal_balanced_density()
    bound = sympy.Min(1 / union_ratio, met)
    sparse = balanced_all_reduce().bound.subs(union_size, union_ratio * k)
    return Statement(
        label="balanced_crossover",
        title="Density up to which owners of regions are faster than a ring all-reduce",
        assumptions=(*SHARED, r"some worker selected $rk$ coordinates, as many in each region as in any"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, sympy.Ge(union_ratio, 1), sympy.Le(union_ratio, n)),
        source="ours",
        kind="definition",
        derivation=(
            *_crossing(met=met, sparse=sparse, dense=ring_all_reduce().bound),
            _within(bound, met, most=1 / union_ratio),
        ),
    )


def hierarchical_crossover() -> Statement:
    """κ* = ((2(n − 1) − (g − 1))α − 2(m − 1)α₁ + ((n − 1)/n)ds(2β + γ))/(d(s + j)q): sums of nodes against one ring.

    Here q = (m − 1)(1 + r)β₁ + (g − 1)r₁β + ((m − 1) + (g − 1)r₁)γ is what a byte of a payload costs in all. Where that
    is below 0 κ* is 0, and where it is above 1/r it is 1/r.

    Source: ours.
    """
    workers = node_workers * node_count
    rounds_saved = (2 * (workers - 1) - (node_count - 1)) * message_seconds
    saved = rounds_saved - 2 * (node_workers - 1) * inner_message_seconds
    members, leaders = node_workers - 1, (node_count - 1) * node_union_ratio
    entry = (
        members * (1 + union_ratio) * inner_byte_seconds + leaders * byte_seconds + (members + leaders) * merge_seconds
    )
    met = (saved + (workers - 1) * VECTOR_BYTES / workers * TWICE_SENT) / (d * ENTRY_BYTES * entry)
    bound = sympy.Max(0, sympy.Min(1 / union_ratio, met))
    sparse = hierarchical_gather().bound.subs({node_union_size: node_union_ratio * k, union_size: union_ratio * k})
    return Statement(
        label="hierarchical_crossover",
        title="Density up to which sums inside nodes are faster than a ring all-reduce",
        assumptions=(
            *(*SHARED, *NODES),
            "neighbours of the dense collective's ring are on different nodes",
            "in every node $r_1k$ coordinates are selected, in all $rk$",
        ),
        relation=sympy.Eq(crossover_density, bound),
        domain=(
            sympy.Ge(node_count, 2),
            sympy.Ge(node_union_ratio, 1),
            sympy.Le(node_union_ratio, node_workers),
            sympy.Le(node_union_ratio, union_ratio),
            sympy.Le(union_ratio, node_count * node_union_ratio),
        ),
        source="ours",
        kind="definition",
        derivation=(
            *_crossing(met=met, sparse=sparse, dense=ring_all_reduce().bound.subs(n, workers)),
            _within(bound, met, most=1 / union_ratio),
        ),
    )


def _crossing(*, met: sympy.Expr, sparse: sympy.Expr, dense: sympy.Expr) -> tuple[Step, Step]:
    """Both times are equal at one density, and only the sparse collective's rises with k, where somebody sends."""
    return (
        Step("at one density both take equally long", _equal(met, sparse, dense)),
        Step("the time of the sparse one rises with k, that of the dense one does not", _rises(sparse, dense)),
    )


def _within(bound: sympy.Expr, met: sympy.Expr, *, most: sympy.Expr = sympy.S.One) -> Step:
    """The sparse one is faster up to that density, or up to the largest that there can be; or at none from 0 on.

    Args:
        bound: κ*.
        met: where both take equally long.
        most: the largest density that there can be.
    """
    # 1 ≤ D ≤ n − 1.
    numbers = {n: 1 + _OTHERS + _SOME, doubling_count: _OTHERS}
    return Step(
        "up to it the sparse one is faster, or up to the largest density if that is less",
        lambda: (sympy.Max(0, sympy.Min(most, met)) - bound).subs(numbers),
        concludes=bound,
    )


def _equal(met: sympy.Expr, sparse: sympy.Expr, dense: sympy.Expr) -> Callable[[], sympy.Expr]:
    over, under = met.as_numer_denom()
    slope, free = sympy.diff(sparse, k), sparse.subs(k, 0)
    return lambda: sympy.expand(over * d * slope - (dense - free) * under)


def _rises(sparse: sympy.Expr, dense: sympy.Expr) -> Callable[[], sympy.Basic]:
    def compute() -> sympy.Basic:
        slope = sympy.diff(sparse, k).subs({n: 1 + _OTHERS, doubling_count: _OTHERS})
        nodes = ((_OTHERS, _SOME), (_SOME, _OTHERS))
        slopes = (slope.subs({node_workers: 1 + members, node_count: 1 + others}) for members, others in nodes)
        return sympy.And(*(each > 0 for each in slopes), sympy.Eq(sympy.diff(dense, k), 0))

    return compute


STATEMENTS = by_label(
    __name__,
    gather_crossover,
    doubling_crossover,
    global_top_k_crossover,
    global_top_k_doubling_crossover,
    balanced_crossover,
    hierarchical_crossover,
)
"""The statements of this file."""
