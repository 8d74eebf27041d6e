"""Which wrong statements about hypersteps, products and buckets must the evidence notice? `mutants.py` collects them.

Ours.
"""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    backward_total,
    barrier_cost,
    block_side,
    bucket_backward,
    bucket_count,
    bucket_sending,
    core_count,
    fetch_cost,
    first_backward,
    forward_time,
    grid_side,
    hyperstep_count,
    hyperstep_work,
    last_sending,
    matrix_side,
    message_latency,
    mismatch_total,
    outer_count,
    relation_size,
    sending_total,
    streamed_time,
    token_words,
    word_cost,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step


def _in_sequence(bound: sympy.Expr) -> sympy.Expr:
    """The largest of two as their sum."""
    return bound.replace(sympy.Max, sympy.Add)


MUTANTS: dict[str, Mutant] = {
    "bsp_superstep_both_ways": wrong_bound(
        "bsp_superstep",
        "words that are sent and words that are taken both count",
        lambda bound: bound + word_cost * relation_size,
        "rational",
        "property",
    ),
    "bsp_superstep_barrier": wrong_bound(
        "bsp_superstep", "a barrier for every second", lambda bound: bound - barrier_cost / 2, "rational", "property"
    ),
    "streamed_hypersteps_sum": wrong_bound(
        "streamed_hypersteps", "one thing at a time", lambda bound: 2 * bound - mismatch_total, "rational", "property"
    ),
    "streamed_hypersteps_totals": wrong_bound(
        "streamed_hypersteps",
        "the larger of two totals, as if no hyperstep waited for its own words",
        lambda bound: bound.subs(mismatch_total, sympy.Symbol("computing_total", nonnegative=True)),
        "rational",
        "property",
    ),
    "unoverlapped_hypersteps_twice": wrong_bound(
        "unoverlapped_hypersteps", "always twice", lambda _bound: 2 * streamed_time, "rational", "property"
    ),
    "whole_stream_start": wrong_bound(
        "whole_stream",
        "the first words come for nothing",
        lambda bound: bound - sympy.Min(hyperstep_work, fetch_cost * token_words),
        "rational",
        "property",
    ),
    "whole_stream_end": wrong_bound(
        "whole_stream",
        "the last hyperstep fetches as well",
        lambda _bound: fetch_cost * token_words + hyperstep_count * sympy.Max(hyperstep_work, fetch_cost * token_words),
        "rational",
        "property",
    ),
    "streamed_inner_product_additions": wrong_bound(
        "streamed_inner_product", "p additions", lambda bound: bound + 1, "rational", "property"
    ),
    "streamed_inner_product_tree": wrong_bound(
        "streamed_inner_product",
        "one word each in the end",
        lambda bound: bound - (core_count - 2) * word_cost,
        "rational",
        "property",
    ),
    "streamed_cannon_shifts": wrong_bound(
        "streamed_cannon",
        "N shifts",
        lambda bound: bound.subs(2 * grid_side - 2, 2 * grid_side),
        "rational",
        "property",
    ),
    "streamed_cannon_sum": wrong_bound("streamed_cannon", "nothing is hidden", _in_sequence, "rational", "property"),
    "streamed_cannon_unskewed": wrong_step(
        "streamed_cannon",
        "blocks are multiplied where they lie",
        lambda: (Step("a grid of two a side multiplies", lambda: _unskewed()),),
    ),
    "cannon_words_shifts": wrong_bound(
        "cannon_words", "N shifts", lambda bound: bound + 2 * outer_count * matrix_side**2, "rational", "property"
    ),
    "cannon_words_resident": wrong_bound(
        "cannon_words",
        "the left outer block stays for a whole row of the product",
        lambda bound: bound / 2 + bound / (2 * outer_count),
        "rational",
        "property",
    ),
    "cannon_tokens_written": wrong_bound(
        "cannon_tokens", "the product is not written", lambda bound: bound - matrix_side**2, "rational", "property"
    ),
    "cannon_crossover_barrier": wrong_bound(
        "cannon_crossover",
        "one barrier a hyperstep",
        lambda bound: bound - (grid_side - 1) * grid_side**2 * barrier_cost / (2 * block_side**2),
        "rational",
        "property",
    ),
    "cannon_window_square": wrong_bound(
        "cannon_window",
        "twice the side where the best is",
        lambda bound: bound * sympy.Rational(4, 3),
        "rational",
        "property",
    ),
    "equal_buckets_hidden": wrong_bound(
        "equal_buckets",
        "the last bucket is hidden",
        lambda _bound: forward_time + bucket_count * sympy.Max(bucket_backward, bucket_sending),
        "rational",
        "property",
    ),
    "equal_buckets_sequence": wrong_bound("equal_buckets", "nothing is hidden", _in_sequence, "rational", "property"),
    "bucket_floor_both": wrong_bound(
        "bucket_floor",
        "the first is made and the last is sent while the longer of two totals passes",
        lambda _bound: forward_time + first_backward + last_sending + sympy.Max(backward_total, sending_total),
        "rational",
        "property",
    ),
    "bucket_cap_end": wrong_bound(
        "bucket_cap", "the last bucket is hidden", lambda bound: bound - last_sending / 2, "rational", "property"
    ),
    "bucket_optimum_root": wrong_bound(
        "bucket_optimum",
        "⌊√(W/α)⌋",
        lambda _bound: sympy.floor(sympy.sqrt(backward_total / message_latency)),
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""


def _unskewed() -> sympy.Expr:
    left = sympy.Matrix(2, 2, sympy.symbols("a:4", real=True))
    right = sympy.Matrix(2, 2, sympy.symbols("b:4", real=True))
    shifted = left[:, ::-1].multiply_elementwise(right[::-1, :])
    return sympy.Add(*(sympy.Abs(gap) for gap in left.multiply_elementwise(right) + shifted - left * right))
