"""At which density does a sparse collective take as long as a dense one?

Below κ* = k*/d the sparse one is faster, above it the dense one; where κ* exceeds one the sparse one always is, where
it is negative never. An entry of s + j bytes is ρ = (s + j)/s values long. Times are those of `collectives.py`, whose
sums γ takes; all of this is ours, and assumes nothing of which coordinates are selected but the size of their union.
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
from sparsync.theory.language.statement import Statement, by_label
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

SHARED = (*MODEL, *VALUES, "sparse: $k=\\kappa d$ entries of $s+j$ bytes each")
SEVERAL = (sympy.Ge(n, 2),)
TWICE_SENT = 2 * byte_seconds + merge_seconds
"""Of a byte that an all-reduce adds and shares."""
ONCE_SENT = byte_seconds + merge_seconds
"""Of a byte that is gathered and added."""

_OTHERS = sympy.Symbol("others", integer=True, positive=True)
"""n − 1."""
_SOME = sympy.Symbol("some", integer=True, nonnegative=True)
_SLOWER = "the time of the sparse one rises with k, that of the dense one does not"


def gather_crossover() -> Statement:
    """κ* = α/(d(s + j)(β + γ)) + s(2β + γ)/(n(s + j)(β + γ)): an all-gather on a ring against an all-reduce on one.

    The all-gather has half the rounds, which is the first term; with many workers only that is left.

    Source: ours.
    """
    bound = message_seconds / (d * ENTRY_BYTES * ONCE_SENT) + value_bytes * TWICE_SENT / (n * ENTRY_BYTES * ONCE_SENT)
    return Statement(
        label="gather_crossover",
        title="Density up to which a ring all-gather of payloads is faster than a ring all-reduce",
        assumptions=SHARED,
        relation=sympy.Eq(crossover_density, bound),
        domain=SEVERAL,
        source="ours",
        derivation=_crossing(bound, sparse=ring_all_gather().bound, dense=ring_all_reduce().bound),
    )


def doubling_crossover() -> Statement:
    """κ* = Dα/((n − 1)d(s + j)(β + γ)) + s(2β + γ)/(n(s + j)(β + γ)), D = ⌈log₂ n⌉: the same by doubling.

    With many workers nothing is left of it.

    Source: ours.
    """
    bound = doubling_count * message_seconds / ((n - 1) * d * ENTRY_BYTES * ONCE_SENT) + value_bytes * TWICE_SENT / (
        n * ENTRY_BYTES * ONCE_SENT
    )
    return Statement(
        label="doubling_crossover",
        title="Density up to which an all-gather of payloads by doubling is faster than an all-reduce by it",
        assumptions=(*SHARED, r"$D=\lceil\log_2 n\rceil$"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, *DOUBLINGS),
        source="ours",
        derivation=_crossing(bound, sparse=doubling_all_gather().bound, dense=doubling_all_reduce().bound),
    )


def global_top_k_crossover() -> Statement:
    """κ* = ((n − 1)/(nD)) s/(s + j) + 2(n − 1 − D)α/(Dd(s + j)(2β + γ)), D = ⌈log₂ n⌉: a tree of merges against a ring.

    A tree of whole vectors has as many rounds, so that against it κ* = s/(s + j).

    Source: ours.
    """
    rounds_saved = 2 * (n - 1 - doubling_count) * message_seconds / (doubling_count * d * ENTRY_BYTES * TWICE_SENT)
    bound = (n - 1) * value_bytes / (n * doubling_count * ENTRY_BYTES) + rounds_saved
    return Statement(
        label="global_top_k_crossover",
        title="Density up to which a tree of merges is faster than a ring all-reduce",
        assumptions=(*SHARED, r"$D=\lceil\log_2 n\rceil$", "of each merge the $k$ largest sums are kept"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, *DOUBLINGS),
        source="ours",
        derivation=_crossing(bound, sparse=global_top_k().bound, dense=ring_all_reduce().bound),
    )


def global_top_k_doubling_crossover() -> Statement:
    """κ* = ((n − 1)/(nD)) s/(s + j), D = ⌈log₂ n⌉, whatever the link: against an all-reduce of as many rounds.

    Source: ours.
    """
    bound = (n - 1) * value_bytes / (n * doubling_count * ENTRY_BYTES)
    return Statement(
        label="global_top_k_doubling_crossover",
        title="Density up to which a tree of merges is faster than an all-reduce by doubling",
        assumptions=(*SHARED, r"$D=\lceil\log_2 n\rceil$", "of each merge the $k$ largest sums are kept"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, *DOUBLINGS),
        source="ours",
        derivation=_crossing(bound, sparse=global_top_k().bound, dense=doubling_all_reduce().bound),
    )


def balanced_crossover() -> Statement:
    """κ* = s(2β + γ)/((s + j)((1 + r)β + γ)), where rk coordinates are selected by some worker: rounds are as many.

    For r = 1 (all select alike, or owners keep k sums) it is s/(s + j), whatever link and number of workers.

    Source: ours.
    """
    bound = value_bytes * TWICE_SENT / (ENTRY_BYTES * ((1 + union_ratio) * byte_seconds + merge_seconds))
    sparse = balanced_all_reduce().bound.subs(union_size, union_ratio * k)
    return Statement(
        label="balanced_crossover",
        title="Density up to which owners of regions are faster than a ring all-reduce",
        assumptions=(*SHARED, r"some worker selected $rk$ coordinates, as many in each region as in any"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(*SEVERAL, sympy.Ge(union_ratio, 1), sympy.Le(union_ratio, n)),
        source="ours",
        derivation=_crossing(bound, sparse=sparse, dense=ring_all_reduce().bound),
    )


def hierarchical_crossover() -> Statement:
    """κ* = ((2(n − 1) − (g − 1))α − 2(m − 1)α₁ + ((n − 1)/n)ds(2β + γ))/(d(s + j)q): sums of nodes against one ring.

    Here q = (m − 1)(1 + r)β₁ + (g − 1)r₁β + ((m − 1) + (g − 1)r₁)γ is what a byte of a payload costs in all.

    Source: ours.
    """
    workers = node_workers * node_count
    rounds_saved = (2 * (workers - 1) - (node_count - 1)) * message_seconds
    saved = rounds_saved - 2 * (node_workers - 1) * inner_message_seconds
    members, leaders = node_workers - 1, (node_count - 1) * node_union_ratio
    entry = (
        members * (1 + union_ratio) * inner_byte_seconds + leaders * byte_seconds + (members + leaders) * merge_seconds
    )
    bound = (saved + (workers - 1) * VECTOR_BYTES / workers * TWICE_SENT) / (d * ENTRY_BYTES * entry)
    sparse = hierarchical_gather().bound.subs({node_union_size: node_union_ratio * k, union_size: union_ratio * k})
    return Statement(
        label="hierarchical_crossover",
        title="Density up to which sums inside nodes are faster than a ring all-reduce",
        assumptions=(*SHARED, *NODES, "in every node $r_1k$ coordinates are selected, in all $rk$"),
        relation=sympy.Eq(crossover_density, bound),
        domain=(
            sympy.Ge(workers, 2),
            sympy.Ge(node_union_ratio, 1),
            sympy.Le(node_union_ratio, node_workers),
            sympy.Le(node_union_ratio, union_ratio),
            sympy.Le(union_ratio, node_count * node_union_ratio),
        ),
        source="ours",
        derivation=_crossing(bound, sparse=sparse, dense=ring_all_reduce().bound.subs(n, workers)),
    )


def _crossing(bound: sympy.Expr, *, sparse: sympy.Expr, dense: sympy.Expr) -> tuple[Step, ...]:
    """Both times are equal at κ*, and only that of the sparse collective rises with k, where somebody sends."""
    return (
        Step("with dκ* entries both take equally long", _equal(bound, sparse, dense), concludes=bound),
        Step(_SLOWER, _rises(sparse, dense)),
    )


def _equal(bound: sympy.Expr, sparse: sympy.Expr, dense: sympy.Expr) -> Callable[[], sympy.Expr]:
    over, under = bound.as_numer_denom()
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
    gather_crossover(),
    doubling_crossover(),
    global_top_k_crossover(),
    global_top_k_doubling_crossover(),
    balanced_crossover(),
    hierarchical_crossover(),
)
"""The statements of this file."""
