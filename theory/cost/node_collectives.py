"""How long does a sum over all workers take where links inside nodes differ from those between them? Two levels.

The model is that of `collectives.py`; a flat collective whose neighbours are on different nodes, of two or more, takes
what it takes with the link between nodes. Ours.
"""

import sympy

from sparsync.theory.cost.collectives import (
    ENTRIES,
    ENTRY_BYTES,
    MODEL,
    PARTS,
    TOGETHER,
    VALUES,
    VECTOR_BYTES,
    difference,
    ring_all_reduce,
    rounds,
)
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    byte_seconds,
    collective_seconds,
    inner_byte_seconds,
    inner_message_seconds,
    k,
    merge_seconds,
    message_seconds,
    n,
    node_count,
    node_union_size,
    node_workers,
    union_size,
)

NODES = (
    r"$n=mg$ workers on $g$ nodes of $m$ each",
    r"inside a node a message of $b$ bytes takes $\alpha_1+b\beta_1$, between two nodes $\alpha+b\beta$",
)


def hierarchical_all_reduce() -> Statement:
    """2(m − 1)(α₁ + (ds/m)β₁) + 2(g − 1)(α + (ds/n)β) + ((n − 1)/n)dsγ: a ring in each node, and m rings between them.

    With one link for both it sends the bytes of one ring, in 2(m − 1)(g − 1) fewer rounds. Every worker needs a line of
    its own out of its node: where the m share one, β is m-fold.

    Source: ours (two levels of ring all-reduce are classical).
    """
    inside = VECTOR_BYTES / node_workers
    between = VECTOR_BYTES / (node_workers * node_count)
    added = (node_workers * node_count - 1) * between * merge_seconds
    bound = (
        2 * (node_workers - 1) * (inner_message_seconds + inside * inner_byte_seconds)
        + 2 * (node_count - 1) * (message_seconds + between * byte_seconds)
        + added
    )
    return Statement(
        label="hierarchical_all_reduce",
        title="Seconds of an all-reduce inside nodes and between them",
        assumptions=(*MODEL, *NODES, *VALUES, *PARTS),
        relation=sympy.Eq(collective_seconds, bound),
        domain=(),
        source="classical; in these terms ours",
        derivation=(
            Step("(m − 1)/m and then (g − 1)/(mg) of a vector are added: (n − 1)/n of it", _added_parts),
            Step("with one link for both, the ring takes 2(m − 1)(g − 1)α more", lambda: _fewer_rounds(bound)),
            Step(
                "rings of m add and share parts of d/m values; between, rings of g add and share parts of d/n",
                lambda: difference(
                    bound,
                    rounds(node_workers - 1, inside, added=True, inner=True),
                    rounds(node_count - 1, between, added=True),
                    rounds(node_count - 1, between),
                    rounds(node_workers - 1, inside, inner=True),
                ),
                concludes=bound,
                argued=TOGETHER,
            ),
        ),
    )


def hierarchical_gather() -> Statement:
    """2(m − 1)α₁ + (m − 1)(k + U)eβ₁ + (g − 1)(α + ueβ) + ((m − 1)k + (g − 1)u)eγ with e = s + j bytes an entry.

    u coordinates are selected in a node and U in all: leaders collect entries one worker after the other, pass their
    sums round a ring, and tell the total.

    Source: ours.
    """
    added = (node_workers - 1) * k + (node_count - 1) * node_union_size
    bound = (
        (node_workers - 1) * (2 * inner_message_seconds + (k + union_size) * ENTRY_BYTES * inner_byte_seconds)
        + (node_count - 1) * (message_seconds + node_union_size * ENTRY_BYTES * byte_seconds)
        + added * ENTRY_BYTES * merge_seconds
    )
    return Statement(
        label="hierarchical_gather",
        title="Seconds of adding payloads inside nodes, and nodes' sums between them",
        assumptions=(*MODEL, *NODES, *ENTRIES, r"in every node $u$ coordinates are selected, in all $|\bigcup_i S_i|$"),
        relation=sympy.Eq(collective_seconds, bound),
        domain=(
            sympy.Le(k, node_union_size),
            sympy.Le(node_union_size, node_workers * k),
            sympy.Le(node_union_size, union_size),
            sympy.Le(union_size, node_count * node_union_size),
        ),
        source="ours",
        derivation=(
            Step(
                "m − 1 messages to the leader, g − 1 rounds of leaders, m − 1 messages from the leader",
                lambda: difference(
                    bound,
                    rounds(node_workers - 1, k * ENTRY_BYTES, added=True, inner=True),
                    rounds(node_count - 1, node_union_size * ENTRY_BYTES, added=True),
                    rounds(node_workers - 1, union_size * ENTRY_BYTES, inner=True),
                ),
                concludes=bound,
                argued="that leaders, of whom all do as much, take part in every message, one after the other",
            ),
        ),
    )


def _added_parts() -> sympy.Expr:
    workers = node_workers * node_count
    return difference((workers - 1) / workers, (node_workers - 1) / node_workers, (node_count - 1) / workers)


def _fewer_rounds(bound: sympy.Expr) -> sympy.Expr:
    same = bound.subs({inner_message_seconds: message_seconds, inner_byte_seconds: byte_seconds})
    ring = ring_all_reduce().bound.subs(n, node_workers * node_count)
    return sympy.expand(ring - same - 2 * (node_workers - 1) * (node_count - 1) * message_seconds)


STATEMENTS = by_label(__name__, hierarchical_all_reduce, hierarchical_gather)
"""The statements of this file."""
