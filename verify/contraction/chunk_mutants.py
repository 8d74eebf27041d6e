"""Which wrong statements about chunks and rounded values must the evidence notice? Collected by `mutants.py`.

Errors that are easily made: the whole vector for a chunk, a share rounded the wrong way, a shape of the chunk where
only the vector has it, losses that are added where they multiply, a scale that is one bit off. Ours.
"""

import sympy

from sparsync.theory.contraction import chunk_orders, two_bit
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    chunk_number,
    chunk_size,
    d,
    k,
    selected_ratio,
    value_count,
    value_error,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step

MUTANTS: dict[str, Mutant] = {
    "chunk_wise_whole": wrong_bound(
        "chunk_wise", "k + 1 for k", lambda bound: bound.subs(k, k + 1), "rational", "property"
    ),
    "chunk_rounding_up": wrong_bound(
        "chunk_rounding",
        "every share rounded up",
        lambda bound: bound.replace(sympy.floor, sympy.ceiling),
        "rational",
        "property",
    ),
    "chunk_rounding_not": wrong_bound(
        "chunk_rounding", "shares not rounded: 1 − k/d", lambda _bound: 1 - k / d, "rational", "property"
    ),
    "chunk_shapes_count": wrong_bound(
        "chunk_shapes", "k + 1 for k", lambda bound: bound.subs(k, k + 1), "rational", "property"
    ),
    "chunk_star_shaped_in_chunks": wrong_bound(
        "chunk_star_shaped",
        "the shape within a chunk",
        lambda bound: bound.subs(chunk_number, 1),
        "rational",
        "property",
    ),
    "chunk_star_shaped_last": wrong_step(
        "chunk_star_shaped",
        "one rank less for a sent entry",
        lambda: (Step("(c − 1)k + i entries sent: the last has a rank < (c − 1)b + i", _one_rank_less),),
    ),
    "chunk_convex_in_chunks": wrong_bound(
        "chunk_convex", "the shape within a chunk", lambda bound: bound.subs(chunk_number, 1), "rational", "property"
    ),
    "chunk_against_whole_share": wrong_bound(
        "chunk_against_whole", "the smaller of k/b and 1/m left out", lambda _bound: 1 - k / chunk_size, "rational"
    ),
    "chunk_mean_excess_binomial": wrong_bound(
        "chunk_mean_excess",
        "chunks drawn with replacement: the limit of many chunks, which is larger",
        lambda _bound: (1 - k / chunk_size) * _binomial(),
        "rational",
    ),
    "chunk_mean_excess_rate_half": wrong_bound(
        "chunk_mean_excess_rate",
        "4πk for 2πk",
        lambda bound: bound / sympy.sqrt(2),
        "numeric",
        "property",
    ),
    "quantised_selection_product": wrong_bound(
        "quantised_selection", "q(1 − r) forgotten", lambda _bound: selected_ratio, "smt", "property"
    ),
    "quantised_selection_shares": wrong_bound(
        "quantised_selection",
        "the larger share alone",
        lambda _bound: sympy.Max(selected_ratio, value_error),
        "property",
    ),
    "eight_bit_values_cut": wrong_bound(
        "eight_bit_values",
        "the largest value never at a half step",
        lambda _bound: (value_count - 1) / (value_count + 16383),
        "rational",
        "property",
    ),
    "eight_bit_values_step": wrong_bound(
        "eight_bit_values",
        "steps half as long",
        lambda _bound: sympy.Max(value_count / (value_count + 66176), (value_count - 1) / (value_count + 65535)),
        "rational",
        "property",
    ),
    "two_bit_values_count": wrong_bound(
        "two_bit_values",
        "n − 3 for n − 2",
        lambda _bound: (value_count - 3) / (value_count + 6),
        "rational",
        "property",
    ),
    "two_bit_values_levels": wrong_step(
        "two_bit_values",
        "a value keeps c(v − c) at the level c",
        lambda: (Step("v² − (v − c)² = c(v − c)", _half_kept),),
    ),
    "two_bit_codec_kept": wrong_bound(
        "two_bit_codec",
        "the share that the largest block keeps, doubled",
        lambda bound: 1 - 2 * (1 - bound),
        "numeric",
        "property",
    ),
}
"""Every mutant of these statements, by name."""


def _binomial() -> sympy.Expr:
    share = k / chunk_size
    return sympy.binomial(chunk_size, k) * share**k * (1 - share) ** (chunk_size - k)


def _one_rank_less() -> sympy.Expr:
    step = chunk_orders.worst_assignment()[0]
    assert step.compute is not None
    return step.compute() - 1


def _half_kept() -> sympy.Expr:
    value, level = two_bit.UPPER, two_bit.LOWER
    return sympy.expand(value**2 - (value - level) ** 2 - level * (value - level))
