"""Which wrong statements about contraction must the evidence notice? The mutants, and what is wrong with each.

Errors that are easily made: an exponent or an index off by one, ε for δ, a head for a tail, a wider class with the
same bound, a true bound that is not attained where equality is claimed, a wrong sign. Ours.
"""

from collections.abc import Callable
from dataclasses import replace

import sympy

from sparsync.theory.contraction.profile import cell_average_step, exponent_bound
from sparsync.theory.contraction.tail import inclusion_step, ratio_steps
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    d,
    energy,
    i,
    k,
    layer_count,
    layer_size,
    p,
    tail_area,
    v,
    w,
)
from sparsync.verify.contraction import chunk_mutants, ladder
from sparsync.verify.contraction.certificates import CERTIFIED_CLASSES, Certificate, rationalise
from sparsync.verify.contraction.solution import WorstCase
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, Weights, cube_difference, odd, ramp, squared_ramp
from sparsync.verify.ledger.mutation import Mutant, Swap, wrong_bound, wrong_step
from sparsync.verify.tools.outcome import Grade


def wrong_class(label: str, change: str, weights: Weights, *killed_by: Grade) -> Mutant:
    """The statement about another class of vectors: its linear programmes and its search use other weights."""
    swaps: tuple[Swap, ...] = ((CLASS_WEIGHTS, label, weights), (CERTIFIED_CLASSES, label, weights))
    return Mutant(label, change, lambda: swaps, killed_by)


def wrong_certificate(label: str, change: str, wrong: Callable[[Certificate], Certificate]) -> Mutant:
    """The statement with certificates that are wrong in one field."""

    def mutated(solution: WorstCase, *, class_name: str) -> Certificate:
        return wrong(rationalise(solution, class_name=class_name))

    return Mutant(label, change, lambda: ((ladder.__dict__, "rationalise", mutated),), ("rational",))


def _wrong_probability() -> sympy.Expr:
    return sympy.combsimp(sympy.binomial(d, k - 1) / sympy.binomial(d, k) - k / d)


def _wrong_sign() -> sympy.Expr:
    return sympy.expand(w[2] * (v[1] + v[2]) - v[2] * (w[1] + w[2]) + (v[1] * w[2] - v[2] * w[1]))


def _later_first(right: Certificate) -> Certificate:
    return replace(right, multipliers=(*right.multipliers[1:], *right.multipliers[:1]))


RANDOM_K: dict[str, Mutant] = {
    "random_k_count": wrong_bound("random_k", "k + 1 for k", lambda bound: bound.subs(k, k + 1), "property"),
    "random_k_dimension": wrong_bound(
        "random_k", "d + 1 for d, an upper bound in place of the value", lambda bound: bound.subs(d, d + 1), "property"
    ),
    "random_k_delta": wrong_bound("random_k", "δ for ε", lambda bound: 1 - bound, "property"),
    "random_k_probability": wrong_step(
        "random_k",
        "d for d − 1 in the probability that a coordinate is sent",
        lambda: (Step("a coordinate is sent with probability C(d, k−1)/C(d, k) = k/d", _wrong_probability),),
    ),
}
TOP_K: dict[str, Mutant] = {
    "top_k_count": wrong_bound("top_k", "k + 1 for k", lambda bound: bound.subs(k, k + 1), "rational", "property"),
    "top_k_not_attained": wrong_bound(
        "top_k", "k − 1 for k, true but not attained", lambda bound: bound.subs(k, k - 1), "rational"
    ),
    "top_k_exponent": wrong_bound("top_k", "exponent 2 for 1", lambda bound: bound**2, "rational", "property"),
    "top_k_delta": wrong_bound("top_k", "δ for ε", lambda bound: 1 - bound, "rational", "property"),
    "top_k_sign": wrong_step(
        "top_k",
        "the sign of the double sum in the lemma",
        lambda: (Step("tail(w)·total(v) − tail(v)·total(w) = −(v_1 w_2 − v_2 w_1) for d = 2, k = 1", _wrong_sign),),
    ),
    "top_k_head": wrong_step(
        "top_k", "the head k for the tail d − k", lambda: ratio_steps(lambda _rank: sympy.Integer(1), k, k / d)
    ),
    "top_k_multiplier_sign": wrong_certificate(
        "top_k", "−y for y", lambda right: replace(right, multipliers=tuple(-y for y in right.multipliers))
    ),
    "top_k_multiplier_rank": wrong_certificate("top_k", "y_{i+1} for y_i", _later_first),
    "top_k_certificate_count": wrong_certificate(
        "top_k", "the certificate of k − 1 for k", lambda right: replace(right, count=max(1, right.count - 1))
    ),
    "top_k_certificate_bound": wrong_certificate(
        "top_k", "a smaller λ with the same y", lambda right: replace(right, bound=right.bound * (1 - right.bound))
    ),
}
SQUARE_CONVEX: dict[str, Mutant] = {
    "square_convex_exponent": wrong_bound(
        "square_convex", "exponent 3 for 2", lambda _bound: exponent_bound(sympy.Integer(1)), "rational", "property"
    ),
    "square_convex_not_attained": wrong_bound(
        "square_convex", "d + 1 for d, true but not attained", lambda bound: bound.subs(d, d + 1), "rational"
    ),
    "square_convex_end": wrong_class(
        "square_convex", "squares that are zero one past the end, not at the end", ramp, "rational", "property"
    ),
    "square_convex_cell": wrong_step(
        "square_convex",
        "d − i for the cell average 2(d − i) + 1",
        lambda: (cell_average_step(sympy.Integer(2), 2 * (d - i), 2 * d),),
    ),
    "square_convex_weight": wrong_step(
        "square_convex",
        "the weight d − i, whose tail is smaller",
        lambda: ratio_steps(lambda rank: d - rank, (d - k) ** 2, exponent_bound(sympy.Integer(2))),
    ),
    "square_convex_discrete_count": wrong_bound(
        "square_convex_discrete", "d for d + 1", lambda _bound: (1 - k / d) ** 2, "rational", "property"
    ),
    "square_convex_discrete_not_attained": wrong_bound(
        "square_convex_discrete",
        "d + 2 for d + 1, true but not attained",
        lambda _bound: (1 - k / d) * (1 - k / (d + 2)),
        "rational",
    ),
    "square_convex_discrete_head": wrong_bound(
        "square_convex_discrete", "the head for the tail", lambda bound: 1 - bound, "rational", "property"
    ),
}
BELL_SHAPED: dict[str, Mutant] = {
    "bell_shaped_exponent": wrong_bound(
        "bell_shaped", "exponent 4 for 3", lambda bound: bound * (1 - k / d), "rational", "property"
    ),
    "bell_shaped_not_attained": wrong_bound(
        "bell_shaped", "exponent 2 for 3, true but not attained", lambda bound: bound / (1 - k / d), "rational"
    ),
    "bell_shaped_class": wrong_class(
        "bell_shaped", "the squares in the class of the magnitudes", odd, "rational", "property"
    ),
    "bell_shaped_end": wrong_class(
        "bell_shaped", "magnitudes that are zero one past the end", squared_ramp, "rational", "property"
    ),
    "bell_shaped_inclusion": wrong_step(
        "bell_shaped",
        "the inclusion of the classes the other way round",
        lambda: (inclusion_step(lambda rank: 3 * (d - rank) * (d - rank + 1) + 1, lambda rank: (d - rank) ** 2),),
    ),
    "bell_shaped_discrete_count": wrong_bound(
        "bell_shaped_discrete", "k + 1 for k", lambda bound: bound.subs(k, k + 1), "rational", "property"
    ),
    "bell_shaped_discrete_sum": wrong_bound(
        "bell_shaped_discrete",
        "2m − 1 for 2m + 1 in the sum of squares",
        lambda bound: bound * (2 * (d - k) - 1) / (2 * (d - k) + 1),
        "rational",
        "property",
    ),
    "bell_shaped_discrete_class": wrong_class(
        "bell_shaped_discrete", "cell averages, a smaller class", cube_difference, "rational"
    ),
}
SHAPES: dict[str, Mutant] = {
    "exponent_doubled": wrong_bound(
        "exponent", "4/p for 2/p: the squares squared once more", lambda bound: bound.subs(p, p / 2), "property"
    ),
    "exponent_discrete_count": wrong_bound(
        "exponent_discrete", "the exponent 4/p for 2/p", lambda bound: bound.subs(p, p / 2), "rational", "property"
    ),
    "lorenz_cell": wrong_bound("lorenz", "the term 1/d forgotten", lambda bound: bound + 1 / d, "property"),
    "ties_squared": wrong_bound("ties", "the square of the quotient", lambda bound: bound**2, "smt", "property"),
    "layer_wise_count": wrong_bound(
        "layer_wise",
        "one layer more",
        lambda bound: bound.subs(layer_count, layer_count + 1),
        "rational",
        "property",
    ),
    "layer_wise_layer": wrong_bound(
        "layer_wise",
        "the largest layer's size for the smaller of it and k",
        lambda _bound: 1 - layer_count / layer_size,
        "rational",
    ),
    "law_distance_both": wrong_bound(
        "law_distance",
        "the area added to the energy",
        lambda _bound: tail_area / (energy + tail_area),
        "smt",
        "property",
    ),
    "sample_ratio_one_sided": wrong_bound("sample_ratio", "one side only", lambda bound: bound / 2, "property"),
    "gaussian_sample_ratio_dimension": wrong_bound(
        "gaussian_sample_ratio",
        "divided by √d once more",
        lambda bound: bound / sympy.sqrt(d),
        "ball",
        "property",
        "simulated",
    ),
    "small_dimension_failure_dimension": wrong_bound(
        "small_dimension_failure", "d + 1 for d", lambda bound: bound.subs(d, d + 1), "numeric"
    ),
}

MUTANTS: dict[str, Mutant] = {
    **RANDOM_K,
    **TOP_K,
    **SQUARE_CONVEX,
    **BELL_SHAPED,
    **SHAPES,
    **chunk_mutants.MUTANTS,
}
"""Every mutant of these statements, by name."""
