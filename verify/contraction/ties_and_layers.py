"""What evidence is there for `ties` and `layer_wise`, besides their derivations?

Selections are carried out here by sorting small vectors of fractions, and their energies are compared exactly. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import k, tie_count
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

MAX_DIMENSION = 9
"""Largest vector that a search draws."""
MAX_TOTAL = 7
"""Largest total size of the layers that are enumerated."""
MAX_LAYERS_COUNT = 3
"""Most layers that are enumerated or drawn."""
LEVELS = (Fraction(0), Fraction(1), Fraction(1), Fraction(101, 100), Fraction(2))
"""Squares to draw: few, so that ties are common, and two that are nearly tied."""

Squares = tuple[Fraction, ...]
Layer = tuple[Squares, int]
"""The squares of one layer and the number k_l of them that it sends."""


def tie_queries() -> tuple[Query, ...]:
    """(k − a)/(a + b) ≤ bound for real a, b and k, in the cases b ≤ k and b ≥ k."""
    return (
        _tie_query(smaller=tie_count, larger=k),
        _tie_query(smaller=k, larger=tie_count),
    )


def _tie_query(*, smaller: sympy.Symbol, larger: sympy.Symbol) -> Query:
    above = sympy.Symbol("a", real=True)
    cases = {sympy.Min(k, tie_count): smaller, sympy.Max(k, tie_count): larger}
    numerator, denominator = sympy.fraction(STATEMENTS["ties"].bound.subs(cases))
    return Query(
        claim=f"{smaller} ≤ {larger}",
        premises=(
            sympy.Ge(above, 0),
            sympy.Ge(above, k - tie_count),
            sympy.Lt(above, k),
            sympy.Ge(tie_count, 1, evaluate=False),
            sympy.Le(smaller, larger),
        ),
        conclusion=sympy.Le((k - above) * denominator, numerator * (above + tie_count)),
        false_twin=sympy.Le((k - above) * denominator, sympy.Rational(7, 8) * numerator * (above + tie_count)),
    )


def tie_margin(squares: Squares, count: int, shift: int) -> Fraction:
    """bound − (ratio of the strict threshold − ratio of Top-k); negative too if the order of the vector matters.

    Args:
        squares: [d] in any order.
        count: k.
        shift: the vector is also rotated by this number of places, so that ties are broken differently.
    """
    total = sum(squares)
    if not total:
        return Fraction(0)
    tied = sorted(squares, reverse=True)[count - 1]
    strict = sum(square for square in squares if square <= tied)
    excess = (strict - _left_by_top(squares, count)) / Fraction(total)
    rotated = squares[shift:] + squares[:shift]
    disagreement = abs(_left_by_top(rotated, count) - _left_by_top(squares, count))
    bound = STATEMENTS["ties"].exact(k=count, tie_count=squares.count(tied))
    return -disagreement if disagreement else Fraction(int(bound.p), int(bound.q)) - excess


def _left_by_top(squares: Sequence[Fraction], count: int) -> Fraction:
    """Energy left by choosing the positions of the k largest, the earlier first among equals."""
    order = sorted(range(len(squares)), key=lambda position: -squares[position])
    return sum((squares[position] for position in order[count:]), Fraction(0))


def tie_members() -> st.SearchStrategy[tuple[Squares, int, int]]:
    """Vectors with ties, a count, and a rotation."""
    vectors = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=MAX_DIMENSION).map(tuple)
    return vectors.flatmap(
        lambda squares: st.tuples(st.just(squares), st.integers(1, len(squares)), st.integers(0, len(squares) - 1))
    )


def layer_bound(sizes: Sequence[int], counts: Sequence[int]) -> Fraction:
    """The statement's bound at the layer with the smallest k_l/min(d_l, k)."""
    total = sum(counts)
    pairs = zip(sizes, counts, strict=True)
    size, count = min(pairs, key=lambda pair: Fraction(pair[1], min(pair[0], total)))
    bound = STATEMENTS["layer_wise"].exact(k=total, layer_size=size, layer_count=count)
    return Fraction(int(bound.p), int(bound.q))


def layer_excess(layers: Sequence[Layer]) -> Fraction:
    """Ratio of Top-k in each layer minus that of Top-k in the whole vector for the same total; 0 for a zero vector."""
    whole = tuple(square for squares, _ in layers for square in squares)
    total = sum(whole, Fraction(0))
    left = sum((_left_by_top(squares, count) for squares, count in layers), Fraction(0))
    return (left - _left_by_top(whole, sum(count for _, count in layers))) / total if total else Fraction(0)


def layer_margin(*layers: Layer) -> Fraction:
    """bound − excess; the excess itself where it is negative, since the whole vector keeps at least as much."""
    excess = layer_excess(layers)
    bound = layer_bound([len(squares) for squares, _ in layers], [count for _, count in layers])
    return excess if excess < 0 else bound - excess


def _smallness(*layers: Layer) -> int:
    """Among equal margins the case with the largest bound says most."""
    return -int(100 * layer_bound([len(squares) for squares, _ in layers], [count for _, count in layers]))


def layer_members() -> st.SearchStrategy[tuple[Layer, ...]]:
    """One to three layers of few coordinates, each with its count, which may be zero in all but one."""
    vectors = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=MAX_DIMENSION // 2).map(tuple)
    layer = vectors.flatmap(lambda squares: st.tuples(st.just(squares), st.integers(0, len(squares))))
    layers = st.lists(layer, min_size=1, max_size=MAX_LAYERS_COUNT).map(tuple)
    return layers.filter(lambda drawn: any(count for _, count in drawn))


def layer_extremes(profile: Profile) -> Outcome:
    """`rational`: the largest excess over all vectors is the bound, for all small layers and counts.

    Once the order of all squares is fixed, both energies are linear in them: the excess is largest at an extreme ray of
    the ordered vectors, which has n_l equal coordinates in layer l, and zeros. All of these are tried.
    """
    largest_total = min(MAX_TOTAL, max(profile.dimensions))
    cases = [
        (sizes, counts)
        for layers_count in range(1, MAX_LAYERS_COUNT + 1)
        for sizes in product(range(1, largest_total + 1), repeat=layers_count)
        if sum(sizes) <= largest_total
        for counts in product(*(range(size + 1) for size in sizes))
        if any(counts)
    ]
    agrees = [_largest_excess(sizes, counts) == layer_bound(sizes, counts) for sizes, counts in cases]
    return Outcome(earned=bool(agrees) and all(agrees), detail={"shapes_count": len(agrees)})


def _largest_excess(sizes: Sequence[int], counts: Sequence[int]) -> Fraction:
    """max over n_l ≤ d_l of (min(Σ n_l, k) − Σ min(n_l, k_l)) / Σ n_l."""
    rays = (ray for ray in product(*(range(size + 1) for size in sizes)) if any(ray))
    return max(Fraction(min(sum(ray), sum(counts)) - sum(map(min, ray, counts)), sum(ray)) for ray in rays)


CHECKS: dict[str, dict[Grade, Check]] = {
    "ties": {
        "smt": smt_check(tie_queries),
        "property": property_check(tie_members, tie_margin, rank=lambda squares, _count, _shift: -len(squares)),
    },
    "layer_wise": {
        "rational": layer_extremes,
        "property": property_check(layer_members, layer_margin, rank=_smallness),
    },
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "layer_wise": (
        Edge("layer_count <= layer_size", {"k": 12, "layer_count": 5, "layer_size": 4}),
        Edge("layer_count <= k", {"k": 2, "layer_count": 3, "layer_size": 3}),
    ),
}
"""What is said of the conditions, by label."""
