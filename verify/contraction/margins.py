"""By how much does a statement hold for one vector? Margins in exact rational arithmetic: ≥ 0 means it holds.

Floats convert to fractions without rounding, so no tolerance appears. Each margin first checks its statement's own
hypothesis. The bound is read from `theory/`, so a wrong bound there shows up here as a negative margin. Ours.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, is_star_shaped, tail_ratio

Margin = Callable[[Sequence[Fraction], int], Fraction]
"""Sorted squares v [d] and the count k to the margin."""

ENUMERATION_LIMIT = 12
"""Largest d for which every subset is enumerated: C(12, 6) = 924 of them."""


def exact_bound(label: str, *, dimension: int, count: int) -> Fraction:
    """The bound of a statement at d and k, as a fraction.

    Raises:
        ValueError: k is not in 1..d.
    """
    return STATEMENTS[label].fraction(d=dimension, k=count)


def random_k_margin(squares: Sequence[Fraction], count: int) -> Fraction:
    """−|mean over all k-subsets of the relative error − bound|: zero iff the equality holds.

    Args:
        squares: [d], non-increasing, d ≤ ENUMERATION_LIMIT.
        count: k, the number of coordinates sent.

    Raises:
        ValueError: squares are not non-increasing and ≥ 0, k is not in 1..d, or d is too large to enumerate.
    """
    _require_sorted_squares(squares)
    dimension = len(squares)
    if dimension > ENUMERATION_LIMIT:
        raise ValueError(f"random_k: dimension must be at most {ENUMERATION_LIMIT} to enumerate, got {dimension}")
    bound = exact_bound("random_k", dimension=dimension, count=count)
    total = sum(squares, Fraction(0))
    errors = [total - sum(sent, Fraction(0)) for sent in combinations(squares, count)]
    return -abs(sum(errors, Fraction(0)) / len(errors) - bound * total) / (total or 1)


def top_k_margin(squares: Sequence[Fraction], count: int, *, label: str) -> Fraction:
    """bound − tail/total for a statement about Top-k; the zero vector, whose error is zero, has margin = bound.

    Args:
        squares: [d], non-increasing, in the statement's class.
        count: k, the number of coordinates sent.
        label: the statement.

    Raises:
        ValueError: squares are not non-increasing and ≥ 0, not in the class, or k is not in 1..d.
    """
    _require_sorted_squares(squares)
    if not is_star_shaped(squares, CLASS_WEIGHTS[label](len(squares))):
        raise ValueError(f"{label}: the squares are not in the class of the statement: {[str(v) for v in squares]}")
    return exact_bound(label, dimension=len(squares), count=count) - tail_ratio(squares, count)


MARGINS: dict[str, Margin] = {
    "random_k": random_k_margin,
    "top_k": partial(top_k_margin, label="top_k"),
    "square_convex": partial(top_k_margin, label="square_convex"),
    "bell_shaped": partial(top_k_margin, label="bell_shaped"),
    "square_convex_discrete": partial(top_k_margin, label="square_convex_discrete"),
    "bell_shaped_discrete": partial(top_k_margin, label="bell_shaped_discrete"),
}
"""The margin of every statement, by label."""


def _require_sorted_squares(squares: Sequence[Fraction]) -> None:
    if not squares:
        raise ValueError("squares must not be empty, got []")
    if squares[-1] < 0 or any(larger < smaller for larger, smaller in pairwise(squares)):
        raise ValueError(f"squares must be non-increasing and non-negative, got {[str(v) for v in squares]}")
