"""How much energy may a k-contraction leave behind? The six statements, each with its executed derivation.

v_1 ≥ … ≥ v_d are the sorted squares of u, so the relative error of Top-k is tail(v)/total(v), the tail being the ranks
above k. Each class of vectors is "v_i/w_i is non-increasing" for a weight w, and `tail_lemma` makes w extremal.
Sources are named per statement; the finite classes, and exponent 3, are ours.
"""

from itertools import combinations

import sympy

from sparsync.theory.contraction.profile import (
    bell_shape_steps,
    cell_average_step,
    cell_class_step,
    convexity_step,
    exponent_bound,
    exponent_theorem,
    uniform_law_step,
)
from sparsync.theory.contraction.tail import (
    TOP_K,
    convex_sequence_step,
    inclusion_step,
    is_nonnegative_polynomial,
    ratio_steps,
    tail_lemma,
)
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, expected_ratio, i, k, m, ratio, v

COUNT_DOMAIN = (sympy.Le(k, d),)
"""1 ≤ k ≤ d; the lower end comes with the symbol."""

CELLS, POINTS = "((d-i+1)^a-(d-i)^a)", "(d+1-i)^a"
"""Weights: cell averages of a power of a line that ends at zero, and its values where it is zero one past the end."""
ENUMERATED_DIMENSION = 5
"""Largest d for which the expectation over random_k is also summed over all subsets."""


def random_k() -> Statement:
    """E‖u − Rand_k(u)‖² = (1 − k/d)‖u‖² for every u, the expectation over the k coordinates drawn.

    Source: Stich, Cordonnier and Jaggi 2018, Sparsified SGD with memory.
    """
    bound = 1 - k / d
    return Statement(
        label="random_k",
        title="k coordinates drawn uniformly, any vector",
        assumptions=(r"$u\neq0$, and the $k$ coordinates sent are drawn uniformly without replacement",),
        relation=sympy.Eq(expected_ratio, bound),
        domain=COUNT_DOMAIN,
        source="Stich, Cordonnier and Jaggi 2018",
        derivation=(
            Step(
                "a coordinate is sent with probability C(d−1, k−1)/C(d, k) = k/d",
                _inclusion_probability,
                argued="that C(d−1, k−1) of the C(d, k) choices send it",
            ),
            Step("linearity: Σ_i v_i (1 − k/d) = (1 − k/d) Σ_i v_i", lambda: _linearity(bound), concludes=bound),
            Step(f"summed over all subsets for k ≤ d ≤ {ENUMERATED_DIMENSION}", lambda: _enumeration(bound)),
        ),
    )


def top_k() -> Statement:
    """‖u − Top_k(u)‖² ≤ (1 − k/d)‖u‖² for every u, with equality for equal magnitudes.

    Source: Stich, Cordonnier and Jaggi 2018, Sparsified SGD with memory.
    """
    bound = 1 - k / d
    return Statement(
        label="top_k",
        title="Top-k, any vector",
        assumptions=(TOP_K,),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=COUNT_DOMAIN,
        source="Stich, Cordonnier and Jaggi 2018",
        derivation=(*tail_lemma(), *ratio_steps(_constant, d - k, bound)),
    )


def square_convex() -> Statement:
    """‖u − Top_k(u)‖² ≤ (1 − k/d)²‖u‖² if v_i/(2(d − i) + 1) is non-increasing, with equality for v_i = 2(d − i) + 1.

    The class holds the vectors whose squares are convex in rank and vanish at rank d, and those whose squares are the
    cell averages of a profile with π² convex and π(1) = 0. The bound is the published one; we have not read its
    printed hypotheses, so the ones here are ours. That π² lies below the line from (0, 1) to (1, 0), which is how we
    understand the published wording, is not enough: see `verify/contraction/counterexamples.py`.

    Source: Shi, Chu, Cheung and See 2019 (arXiv 1911.08772) for the bound; hypotheses and both proofs ours.
    """
    bound = exponent_bound(sympy.Integer(2))
    end_point_ratio = (d - k) * (d - k - 1) / (d * (d - 1))
    return Statement(
        label="square_convex",
        title="Top-k, squares convex in rank and zero at the end",
        assumptions=(
            TOP_K,
            falls(CELLS, 2),
            r"which holds where $v_i$ is convex in $i$ with $v_d=0$, or averages over cell $i$ of $d$ a profile "
            r"$\pi^2(t)$ with $\pi^2(t)/(1-t)$ non-increasing",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=COUNT_DOMAIN,
        source="bound: Shi, Chu, Cheung and See 2019; hypotheses and proofs: ours",
        derivation=(
            *exponent_theorem(),
            convexity_step(),
            cell_class_step(),
            cell_average_step(sympy.Integer(2), _odd(i), 2 * d),
            *tail_lemma(),
            *ratio_steps(_odd, (d - k) ** 2, bound),
            convex_sequence_step(),
            inclusion_step(_ramp_to_zero, _odd),
            *ratio_steps(_ramp_to_zero, (d - k) * (d - k - 1) / 2, end_point_ratio),
            Step("(d−k)(d−k−1)/(d(d−1)) ≤ (1 − k/d)²", lambda: _is_smaller(end_point_ratio, bound)),
        ),
    )


def bell_shaped() -> Statement:
    """‖u − Top_k(u)‖² ≤ (1 − k/d)³‖u‖² if v_i/((d − i + 1)³ − (d − i)³) is non-increasing; equality for that weight.

    The class holds the cell averages of π² for every law that is symmetric about zero with a density non-increasing
    in |u| (the uniform law attains the bound), and every v with √v_i convex in rank and v_d = 0. It is a statement
    about such v: an independent sample of such a law is only close to it for large d.

    Source: ours.
    """
    bound = exponent_bound(sympy.Integer(1))
    tail = (d - k) * (d - k - 1) * (2 * (d - k) - 1) / 6
    end_point_ratio = tail / tail.subs(k, 0)
    return Statement(
        label="bell_shaped",
        title="Top-k, symmetric unimodal law",
        assumptions=(
            TOP_K,
            falls(CELLS, 3),
            r"which holds where $\sqrt{v_i}$ is convex in $i$ with $v_d=0$, or $v_i$ averages over cell $i$ of $d$ "
            r"the squared quantiles of $|u|$ under a law symmetric about $0$ with density non-increasing in $|u|$",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=COUNT_DOMAIN,
        source="ours",
        derivation=(
            *bell_shape_steps(),
            convexity_step(),
            *exponent_theorem(),
            uniform_law_step(),
            cell_class_step(),
            cell_average_step(sympy.Integer(1), _cube_difference(i), 3 * d**2),
            *tail_lemma(),
            *ratio_steps(_cube_difference, (d - k) ** 3, bound),
            convex_sequence_step(),
            inclusion_step(lambda rank: _ramp_to_zero(rank) ** 2, _cube_difference),
            *ratio_steps(lambda rank: _ramp_to_zero(rank) ** 2, tail, end_point_ratio),
            Step("(d−k)(d−k−1)(2(d−k)−1)/(d(d−1)(2d−1)) ≤ (1 − k/d)³", lambda: _is_smaller(end_point_ratio, bound)),
        ),
    )


def square_convex_discrete() -> Statement:
    """‖u − Top_k(u)‖² ≤ (1 − k/d)(1 − k/(d+1))‖u‖² if v_i/(d+1−i) is non-increasing; equality for v_i = d+1−i.

    The class holds the squares that are convex in rank and reach zero at rank d + 1, one past the end.

    Source: ours.
    """
    bound = (1 - k / d) * (1 - k / (d + 1))
    return Statement(
        label="square_convex_discrete",
        title="Top-k, squares convex in rank and zero one past the end",
        assumptions=(TOP_K, falls(POINTS, 1)),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=COUNT_DOMAIN,
        source="ours",
        derivation=(*tail_lemma(), *ratio_steps(_ramp, (d - k) * (d - k + 1) / 2, bound)),
    )


def bell_shaped_discrete() -> Statement:
    """Ratio ≤ (d−k)(d−k+1)(2(d−k)+1)/(d(d+1)(2d+1)) if v_i/(d+1−i)² is non-increasing; equality for v_i = (d+1−i)².

    The class holds the vectors whose magnitudes √v_i are convex in rank and reach zero at rank d + 1.

    Source: ours.
    """
    tail = (d - k) * (d - k + 1) * (2 * (d - k) + 1) / 6
    bound = tail / tail.subs(k, 0)
    return Statement(
        label="bell_shaped_discrete",
        title="Top-k, magnitudes convex in rank and zero one past the end",
        assumptions=(TOP_K, falls(POINTS, 2)),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=COUNT_DOMAIN,
        source="ours",
        derivation=(*tail_lemma(), *ratio_steps(lambda rank: _ramp(rank) ** 2, tail, bound)),
    )


def falls(weight: str, power: int) -> Given:
    """The hypothesis on the shape: v_i over the weight of this power is non-increasing."""
    words = f"$v_i/{weight}$ is non-increasing in the rank $i$ for {{}}"
    return Given("power", "a", "=", sympy.Integer(power), words=words)


def _constant(_rank: sympy.Expr) -> sympy.Expr:
    return sympy.Integer(1)


def _ramp(rank: sympy.Expr) -> sympy.Expr:
    return d + 1 - rank


def _ramp_to_zero(rank: sympy.Expr) -> sympy.Expr:
    return d - rank


def _odd(rank: sympy.Expr) -> sympy.Expr:
    return 2 * (d - rank) + 1


def _cube_difference(rank: sympy.Expr) -> sympy.Expr:
    return sympy.expand(3 * (d - rank) * (d - rank + 1)) + 1


def _is_smaller(smaller: sympy.Expr, larger: sympy.Expr) -> sympy.Basic:
    """smaller ≤ larger for 1 ≤ k < d: the difference is a quotient of polynomials in k − 1 and m = d − k − 1.

    All their coefficients are non-negative, which decides the sign.
    """
    one_less = sympy.Symbol("k_1", integer=True, nonnegative=True)
    shifted = {k: one_less + 1, d: one_less + 1 + m + 1}
    numerator, denominator = sympy.fraction(sympy.cancel((larger - smaller).subs(shifted, simultaneous=True)))
    return sympy.And(
        is_nonnegative_polynomial(numerator, one_less, m), is_nonnegative_polynomial(denominator, one_less, m)
    )


def _inclusion_probability() -> sympy.Expr:
    return sympy.combsimp(sympy.binomial(d - 1, k - 1) / sympy.binomial(d, k) - k / d)


def _linearity(bound: sympy.Expr) -> sympy.Expr:
    return sympy.Sum(v[i] * bound, (i, 1, d)).factor() - bound * sympy.Sum(v[i], (i, 1, d))


def _enumeration(bound: sympy.Expr) -> sympy.Basic:
    pairs = combinations(range(ENUMERATED_DIMENSION + 1), 2)
    return sympy.And(*(_mean_error_equals(bound, count=lower + 1, dimension=upper) for lower, upper in pairs))


def _mean_error_equals(bound: sympy.Expr, *, count: int, dimension: int) -> sympy.Basic:
    ranks = range(1, dimension + 1)
    total = sympy.Add(*(v[rank] for rank in ranks))
    kept_back = [total - sympy.Add(*(v[rank] for rank in sent)) for sent in combinations(ranks, count)]
    mean = sympy.Add(*kept_back) / len(kept_back)
    return sympy.Eq(sympy.expand(mean - bound.subs({k: count, d: dimension}) * total), 0)


STATEMENTS = by_label(
    __name__, random_k, top_k, square_convex, bell_shaped, square_convex_discrete, bell_shaped_discrete
)
"""The statements of this file."""
