"""Why does a shape hypothesis bound the energy that Top-k leaves behind? One lemma for every class of vectors.

Lemma (ours; for weights 1 it is the classical averaging argument). If v_i = r_i w_i with r non-increasing, then
tail(v)·total(w) ≤ tail(w)·total(v), where tail sums the ranks above k. So the ratio tail/total of v is at most that
of w, and w itself attains it. Proof: the difference is Σ_{i≤k<j} (v_i w_j − v_j w_i), a sum of non-negative terms.
"""

from collections.abc import Callable
from itertools import product

import sympy

from sparsync.theory.language.statement import written
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, i, j, k, m, v, w

Weight = Callable[[sympy.Expr], sympy.Expr]
"""A reference weight as a function of the rank i."""

TOP_K = r"$C$ is Top-$k$, $u\neq0$"
"""What all bounds on Top-k assume; the ratio of u = 0 is not defined."""
EXPLICIT_DIMENSION = 6
"""Largest d for which the lemma's identity is also expanded term by term."""


def tail_lemma() -> tuple[Step, ...]:
    """The steps of the lemma, for symbolic k and d and arbitrary v and w."""
    return (
        Step("a total is the head (ranks up to k) plus the tail", _total_splits),
        Step("tail(w)·total(v) − tail(v)·total(w) = head(v)·tail(w) − head(w)·tail(v)", _heads_cancel),
        Step("head(v)·tail(w) − head(w)·tail(v) = Σ_{i≤k<j} (v_i w_j − v_j w_i)", _product_is_double_sum),
        Step(f"the two identities, written out for all k ≤ d ≤ {EXPLICIT_DIMENSION}", _explicit_dimensions),
        Step("v_i w_j − v_j w_i = (r_i − r_j) w_i w_j ≥ 0 where v = r·w and r_i ≥ r_j", _terms_are_nonnegative),
        Step("v = w makes every term zero, so w attains the ratio", _weights_attain),
    )


def ratio_steps(weight: Weight, closed_tail: sympy.Expr, closed_ratio: sympy.Expr) -> tuple[Step, ...]:
    """The steps that turn the lemma into a bound: tail(w) and total(w) in closed form, and their ratio.

    Args:
        weight: w_i as a function of the rank.
        closed_tail: Σ_{i>k} w_i in closed form, in k and d.
        closed_ratio: tail(w)/total(w) in closed form, in k and d.
    """
    return (
        Step(
            f"Σ_{{i>k}} w_i = {written(closed_tail)} for w_i = {written(weight(i))}",
            lambda: _sum_above(weight, k) - closed_tail,
        ),
        Step(
            f"tail(w)/total(w) = {written(closed_ratio)}",
            lambda: _sum_above(weight, sympy.Integer(0)) * closed_ratio - _sum_above(weight, k),
            concludes=closed_ratio,
        ),
    )


def is_nonnegative_polynomial(expression: sympy.Expr, *generators: sympy.Symbol) -> sympy.Basic:
    """True iff every coefficient of the polynomial is non-negative, which suffices for non-negative generators."""
    coefficients = sympy.Poly(sympy.expand(expression), *generators).coeffs()
    return sympy.true if all(c.is_nonnegative for c in coefficients) else sympy.false


def inclusion_step(smaller: Weight, larger: Weight) -> Step:
    """smaller_i / larger_i is non-increasing for 1 ≤ i < d, so the class of `smaller` lies inside that of `larger`."""

    def cross_difference() -> sympy.Basic:
        rank, following = d - m - 1, d - m
        difference = smaller(rank) * larger(following) - smaller(following) * larger(rank)
        return is_nonnegative_polynomial(difference, m)

    return Step(f"({written(smaller(i))})/({written(larger(i))}) is non-increasing in i", cross_difference)


def convex_sequence_step() -> Step:
    """A convex sequence with x_d = 0 has x_i/(d − i) non-increasing for i < d; used for x = v and for x = √v.

    Each gap x_i − x_{i+1} is at least the mean of the d − i − 1 later gaps, which sum to x_{i+1} − x_d = x_{i+1}.
    """

    def cross_difference() -> sympy.Basic:
        mean_gap, slack = sympy.symbols("mean_gap slack", nonnegative=True)
        following = (m + 1) * mean_gap
        current = following + mean_gap + slack
        return is_nonnegative_polynomial(current * (m + 1) - following * (m + 2), m, slack, mean_gap)

    return Step(
        "x convex in i, x_d = 0: x_i/(d − i) is non-increasing in i",
        cross_difference,
        argued="that a gap of a convex sequence is at least the mean of the later ones",
    )


def _head(sequence: sympy.IndexedBase) -> sympy.Expr:
    return sympy.Sum(sequence[i], (i, 1, k))


def _tail(sequence: sympy.IndexedBase) -> sympy.Expr:
    return sympy.Sum(sequence[j], (j, k + 1, d))


def _sum_above(weight: Weight, cut: sympy.Expr) -> sympy.Expr:
    return sympy.summation(weight(i), (i, cut + 1, d))


def _total_splits() -> sympy.Basic:
    return _head(v) + _tail(v).xreplace({j: i}) - sympy.Sum(v[i], (i, 1, d))


def _heads_cancel() -> sympy.Basic:
    difference = _tail(w) * (_head(v) + _tail(v)) - _tail(v) * (_head(w) + _tail(w))
    return sympy.expand(difference - (_head(v) * _tail(w) - _head(w) * _tail(v)))


def _product_is_double_sum() -> sympy.Basic:
    double_sum = sympy.Sum(v[i] * w[j] - v[j] * w[i], (i, 1, k), (j, k + 1, d))
    factored = sympy.Add(*(term.factor() for term in sympy.Add.make_args(double_sum.expand())))
    return sympy.expand(factored - (_head(v) * _tail(w) - _head(w) * _tail(v)))


def _explicit_dimensions() -> sympy.Basic:
    cuts = product(range(1, EXPLICIT_DIMENSION + 1), repeat=2)
    return sympy.And(*(_explicit_identity(cut, dimension) for cut, dimension in cuts if cut <= dimension))


def _explicit_identity(cut: int, dimension: int) -> sympy.Basic:
    heads, tails = range(1, cut + 1), range(cut + 1, dimension + 1)
    tail_v, tail_w = sympy.Add(*(v[b] for b in tails)), sympy.Add(*(w[b] for b in tails))
    total_v = sympy.Add(*(v[a] for a in (*heads, *tails)))
    total_w = sympy.Add(*(w[a] for a in (*heads, *tails)))
    terms = sympy.Add(*(v[a] * w[b] - v[b] * w[a] for a, b in product(heads, tails)))
    return sympy.Eq(sympy.expand(tail_w * total_v - tail_v * total_w - terms), 0)


def _terms_are_nonnegative() -> sympy.Basic:
    smaller, difference = sympy.symbols("r_j r_i-r_j", nonnegative=True)
    shape = {v[i]: (smaller + difference) * w[i], v[j]: smaller * w[j]}
    term = sympy.factor((v[i] * w[j] - v[j] * w[i]).subs(shape, simultaneous=True))
    return sympy.true if term.is_nonnegative else sympy.false


def _weights_attain() -> sympy.Basic:
    return (v[i] * w[j] - v[j] * w[i]).subs({v[i]: w[i], v[j]: w[j]}, simultaneous=True)
