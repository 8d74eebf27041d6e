"""Which wrong statements about regular samples and global Top-k must the evidence notice? `mutants.py` collects them.

Ours.
"""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    d,
    index_bytes,
    k,
    n,
    oversampling,
    segment_count,
    segment_length,
    telling_rounds,
    value_bytes,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step

_DOUBT = (n - 1) * (segment_length - 1)

MUTANTS: dict[str, Mutant] = {
    "sample_rank_two_ranks": wrong_bound(
        "sample_rank",
        "two ranks of n have keys behind their last sample",
        lambda bound: 2 * bound / n,
        "rational",
        "property",
    ),
    "sample_rank_whole": wrong_bound(
        "sample_rank", "the doubt on both sides, half of it each", lambda bound: bound / 2, "rational", "property"
    ),
    "largest_bucket_exact_shares": wrong_bound(
        "largest_bucket",
        "as if n divided the number of samples",
        lambda bound: bound - (n - 1) * segment_length / n,
        "rational",
        "property",
    ),
    "oversampled_bucket_once": wrong_bound(
        "oversampled_bucket",
        "(1 + 1/(rn))d/n + 1: one rank's doubt for all",
        lambda _bound: (1 + 1 / (oversampling * n)) * d / n + 1,
        "rational",
        "property",
    ),
    "received_keys_share": wrong_bound(
        "received_keys",
        "of n − 2 ranks one n-th is in doubt",
        lambda _bound: segment_count * segment_length + (n - 2) * (segment_length - 1) / n,
        "rational",
        "property",
    ),
    "sort_relation_samples_once": wrong_bound(
        "sort_relation",
        "samples are sent to one rank",
        lambda bound: bound - (n - 2) * segment_count * value_bytes,
        "rational",
        "property",
    ),
    "sort_relation_keys_alone": wrong_bound(
        "sort_relation",
        "only keys that a rank has too much travel with their indices",
        lambda bound: bound - index_bytes * segment_count * segment_length,
        "rational",
        "property",
    ),
    "best_sort_segment_share": wrong_bound(
        "best_sort_segment",
        "the keys' share of the bytes once more, outside the root",
        lambda bound: bound * value_bytes / (value_bytes + index_bytes),
        "rational",
        "property",
    ),
    "best_sort_segment_ranks": wrong_bound(
        "best_sort_segment", "times n, which is in the root", lambda bound: bound * n, "rational", "property"
    ),
    "threshold_rank_sample": wrong_bound(
        "threshold_rank", "half of all doubt", lambda bound: bound / 2, "rational", "property"
    ),
    "threshold_rank_doubt": wrong_bound(
        "threshold_rank", "the samples' own doubt alone", lambda _bound: _DOUBT / 2, "rational", "property"
    ),
    "sampled_candidates_doubt": wrong_bound(
        "sampled_candidates", "the doubt of one of the two samples", lambda _bound: _DOUBT, "rational", "property"
    ),
    "sampled_candidates_rounded": wrong_bound(
        "sampled_candidates",
        "(n − 1)L for what lies between the samples",
        lambda _bound: (n - 1) * segment_length + _DOUBT,
        "rational",
        "property",
    ),
    "exact_selection_bytes_root": wrong_bound(
        "exact_selection_bytes",
        "samples go to one rank, as if it told the others nothing",
        lambda bound: bound - (n - 2) * value_bytes * n * k / segment_length,
        "rational",
        "property",
    ),
    "samples_of_rounds_shard": wrong_bound(
        "samples_of_rounds",
        "k entries can be selected, not k of each rank",
        lambda _bound: telling_rounds * ((2 * n) ** (telling_rounds - 1) * k) ** (1 / telling_rounds),
        "rational",
        "property",
    ),
    "samples_of_rounds_one_side": wrong_step(
        "samples_of_rounds",
        "of nL entries in doubt, not 2nL",
        lambda: (
            Step(
                "two rounds tell 2√(n·nk)",
                lambda: 2 * sympy.sqrt(n**2 * k) - 2 * sympy.sqrt(2 * n**2 * k),
            ),
        ),
    ),
    "tree_bytes_up": wrong_bound(
        "tree_bytes",
        "up the tree, and not down",
        lambda bound: bound - (n - 1) * k * (value_bytes + index_bytes),
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
