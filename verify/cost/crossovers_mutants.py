"""Which wrong statements about crossovers must the evidence notice? `mutants.py` collects them. Ours."""

import sympy

from sparsync.theory.language.symbols import (
    doubling_count,
    index_bytes,
    merge_seconds,
    message_seconds,
    n,
    node_union_ratio,
    union_ratio,
    value_bytes,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
    "gather_crossover_rounds": wrong_bound(
        "gather_crossover",
        "as if both had as many rounds",
        lambda bound: bound.subs(message_seconds, 0),
        "rational",
        "property",
    ),
    "gather_crossover_additions": wrong_bound(
        "gather_crossover",
        "additions cost nothing",
        lambda bound: bound.subs(merge_seconds, 0),
        "rational",
        "property",
    ),
    "doubling_crossover_ring": wrong_bound(
        "doubling_crossover",
        "the rounds of rings",
        lambda bound: bound.subs(doubling_count, n - 1),
        "rational",
        "property",
    ),
    "global_top_k_crossover_bytes": wrong_bound(
        "global_top_k_crossover",
        "as if both had as many rounds",
        lambda bound: bound.subs(message_seconds, 0),
        "rational",
        "property",
    ),
    "global_top_k_doubling_crossover_tree": wrong_bound(
        "global_top_k_doubling_crossover",
        "against a tree of whole vectors",
        lambda _bound: value_bytes / (value_bytes + index_bytes),
        "rational",
        "property",
    ),
    "balanced_crossover_alike": wrong_bound(
        "balanced_crossover",
        "as if all workers selected alike",
        lambda bound: bound.subs(union_ratio, 1),
        "rational",
        "property",
    ),
    "hierarchical_crossover_alike": wrong_bound(
        "hierarchical_crossover",
        "as if workers of a node selected alike",
        lambda bound: bound.subs(node_union_ratio, 1),
        "rational",
        "property",
    ),
    "gather_crossover_limit_zero": wrong_bound(
        "gather_crossover_limit",
        "with many workers nothing is left",
        lambda _bound: sympy.S.Zero,
        "rational",
        "property",
    ),
    "gather_crossover_bandwidth_half": wrong_bound(
        "gather_crossover_bandwidth",
        "the all-reduce sends its vector once",
        lambda bound: bound / 2,
        "rational",
        "property",
    ),
    "global_top_k_crossover_limit_positions": wrong_bound(
        "global_top_k_crossover_limit",
        "positions travel for nothing",
        lambda bound: bound.subs(index_bytes, 0),
        "rational",
        "property",
    ),
    "balanced_crossover_limit_additions": wrong_bound(
        "balanced_crossover_limit",
        "additions cost nothing",
        lambda bound: bound.subs(merge_seconds, 0),
        "rational",
        "property",
    ),
    "gather_workers_rounds": wrong_bound(
        "gather_workers",
        "as if both had as many rounds",
        lambda bound: bound.subs(message_seconds, 0),
        "rational",
        "property",
    ),
    "gather_workers_share": wrong_bound(
        "gather_workers",
        "positions travel for nothing",
        lambda bound: bound.subs(index_bytes, 0),
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
