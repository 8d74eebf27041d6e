"""What evidence is there for error feedback on convex functions of `theory/feedback/convex_rates.py`, besides proofs?

Linear runs of several workers are followed exactly; one of them rests under noise, where SGD attains the bounds. Two
solvers prove the bounds from one step of the Lyapunov function, without its squares. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy
from hypothesis import strategies as st

from sparsync.theory.feedback.convex_rates import CONVEX_SHARE
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    dissimilarity,
    epsilon,
    eta,
    mu,
    n,
    residual_weight,
    start_distance,
    variance,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import Number, admitting, bound_at, substituted
from sparsync.verify.feedback.runs.convex_simulations import convex_check, last_check, strongly_convex_check
from sparsync.verify.feedback.runs.linear_moments import (
    LinearCase,
    Matrix,
    Row,
    combined,
    linear_cases,
    mean,
    single_case,
)
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

CONVEX, STRONG, LAST = "convex_feedback_rate", "strongly_convex_feedback_rate", "feedback_at_tight_rate"

_h, _t, _w, _v, _z, _n, _A, _m = sympy.symbols("h t w v z n A m", real=True)
_p, _q, _r, _D, _c, _x = sympy.symbols("p q r D c x", real=True)
_PLAIN = {eta: _h, delta: _t, residual_weight: _w, variance: _v, dissimilarity: _z**2, n: _n, mu: _m, L: sympy.S.One}


def _sides(bound: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator, positive where h is small, at L = 1."""
    plain = bound.subs(_PLAIN, simultaneous=True)
    numerator, denominator = sympy.fraction(sympy.cancel(plain))
    inside = {_h: sympy.Rational(1, 1000), _m: sympy.Rational(1, 1000)}
    sign = sympy.sign(denominator.subs(dict.fromkeys(denominator.free_symbols, sympy.S.Half) | inside))
    return sign * numerator, sign * denominator


def _assumed(label: str) -> tuple[sympy.Expr, ...]:
    """What is kept back, the noise and the heterogeneity, as assumed at most."""
    return tuple(STATEMENTS[label].given(name).subs(_PLAIN) for name in ("kept_back", "variance", "dissimilarity"))


def convex_queries() -> tuple[Query, ...]:
    """What pays for p = ‖mean e_i‖ and for the deviations r; and the bound on both sides of H = 1, H the share stated.

    q = ‖∇f‖ with q² ≤ 2D, A the start, h = ηL, L = 1.
    """
    bound = STATEMENTS[CONVEX].bound.subs(start_distance, 2 * eta * T * _A)
    (least,) = bound.atoms(sympy.Min)
    cost, limit = sympy.fraction(sympy.cancel(CONVEX_SHARE.subs(_PLAIN, simultaneous=True)))
    domain = (_t > 0, _t <= 1, _h > 0, _w > 0)
    kept, moment, spread = _assumed(CONVEX)
    paid = 2 * _h * _p * _q + (_h * _q) ** 2 + _w * (kept * (_p + _h * _q) ** 2 - _p**2)
    deviation = _t * (kept * (_r + _h * _z) ** 2 - _r**2)
    noise = _h * (moment * _t + _n * _w * (1 - _t) * (moment * _t + spread))
    signs = (_n >= 1, _A >= 0, _v >= 0, _z >= 0, _D >= 0)
    beyond = 2 * _n * _t * ((2 - _c) * _D - _A) <= noise
    return (
        _paid("p and q are paid", limit * paid, cost * _h * _q**2, *domain, _p >= 0, _q >= 0),
        _paid("deviations are paid", deviation, (1 - _t) * (_h * _z) ** 2, *domain, _r >= 0, _z >= 0),
        _paid(
            "2D(2 − H) ≤ 2D + (1 − H)q²", 2 * _D * (2 - _c), 2 * _D + (1 - _c) * _q**2, _c >= 1, _c < 2, _q**2 <= 2 * _D
        ),
        _at_most(
            "D ≤ bound, H ≤ 1", _D, _sides(bound.subs(least, 1)), *domain, *signs, 2 * _n * _t * (_D - _A) <= noise
        ),
        _at_most(
            "D ≤ bound, 1 ≤ H < 2", _D, _sides(bound.subs(least, 2 - _c)), *domain, *signs, _c >= 1, _c < 2, beyond
        ),
    )


def strong_queries() -> tuple[Query, ...]:
    """What pays for the residual, and the bound; x = χ, c = 1 + ω(1 − δ), A the start, h = ηL, L = 1."""
    bound = STATEMENTS[STRONG].bound
    start = sympy.expand(bound).coeff(start_distance)
    sides = _sides(bound.subs(start_distance, _A / start))
    room = sympy.expand(_w * _t - _h * _m * (1 + _w / 2))
    domain = (_t > 0, _t <= 1, _h > 0, _w > 0, _m > 0, _m < 1)
    left = (_x > 0, sympy.Eq(_w * _x, room, evaluate=False))
    charge = sympy.Eq(_c, 1 + _w * (1 - _t), evaluate=False)
    paid = _h * _c * (2 * _p * _q + _h * _q**2) - _w * _x * _p**2
    small = _h * _c * (_w * _x + _c) <= _w * _x
    kept, moment, spread = _assumed(STRONG)
    deviation = kept * (_r + _h * _z) ** 2 - (1 - _h * _m / 2) * _r**2
    noise = _h * (moment * room + _n * _w * (1 - _t) * (moment * room + _w * spread))
    gain = 2 * (1 - _m) * _n * room * (_D - _A)
    return (
        _paid("p and q are paid", paid, _h * _q**2, *domain, *left, charge, small, _p >= 0, _q >= 0),
        _paid("deviations are paid", _x * deviation, (1 - _t) * (_h * _z) ** 2, *domain, *left, _r >= 0, _z >= 0),
        _at_most(
            "D ≤ bound", _D, sides, *domain, room > 0, _n >= 1, _A >= 0, _v >= 0, _z >= 0,
            sympy.expand(gain) <= sympy.expand(noise),
        ),
    )  # fmt: skip


def _paid(claim: str, left: sympy.Expr, right: sympy.Expr, *premises: Any) -> Query:
    smaller, larger = sympy.expand(left), sympy.expand(right)
    return Query(claim, premises, smaller <= larger, 2 * smaller <= larger)


def last_queries() -> tuple[Query, ...]:
    """Two updates: r and q are V after them, D before; w = θ, t = √ε, v = σ₀², and μ = L(1 − z)/(1 + z) at L = 1.

    (1 − √ε)zθ = θ² − √ε, so that the root in θ is (θ² + √ε)/θ.
    """
    root, factor = sympy.symbols("t w", positive=True)
    ratio = (factor**2 - root) / ((1 - root) * factor)
    values = {T: 2, L: 1, epsilon: root**2, mu: (1 - ratio) / (1 + ratio), variance: _v, start_distance: _D}
    bound = STATEMENTS[LAST].bound.subs(values, simultaneous=True)
    roots = (power for power in bound.atoms(sympy.Pow) if power.exp == sympy.S.Half)
    rational = sympy.together(bound.xreplace({power: sympy.sqrt(sympy.factor(power.base)) for power in roots}))
    numerator, denominator = sympy.fraction(sympy.cancel(rational).xreplace({root: _t, factor: _w}))
    given = STATEMENTS[LAST].given
    step = sympy.cancel(given("step_size").subs(values, simultaneous=True)).xreplace({root: _t, factor: _w})
    kept = given("kept_back").subs(epsilon, _t**2)
    # η²σ₀² is added to E‖x̃ − x*‖², what is kept back of it to E‖e‖².
    scale = _w**2 * (1 + _t)
    noise = sympy.cancel(scale * step**2 * given("variance").subs(variance, _v) * (1 + kept / _t))
    sign = sympy.sign(denominator.subs({_t: sympy.Rational(1, 4), _w: sympy.Rational(3, 4)}))
    premises = (
        _t >= 0, _t < 1, _w > 0, _w < 1, _w**2 > _t, _v >= 0, _D >= 0,
        sympy.expand(scale * (_r - _w**2 * _D)) <= sympy.expand(noise),
        sympy.expand(scale * (_q - _w**2 * _r)) <= sympy.expand(noise),
    )  # fmt: skip
    return (_at_most("V_2 ≤ bound", _q, (sign * numerator, sign * denominator), *premises),)


def _at_most(claim: str, left: sympy.Expr, sides: tuple[sympy.Expr, sympy.Expr], *premises: Any) -> Query:
    numerator, denominator = map(sympy.expand, sides)
    stated = sympy.expand(left * denominator)
    return Query(claim, premises, stated <= numerator, 2 * stated <= numerator)


def feedback_update(
    case: LinearCase, state: Sequence[Row], noises: Sequence[Row], kept: Sequence[Fraction]
) -> list[Row]:
    """Error feedback: the state is 1, x and every worker's residual."""
    corrected = [
        combined((Fraction(1), state[2 + worker]), (case.step, case.gradient(worker, state, noises)))
        for worker in range(len(kept))
    ]
    sent = [combined((1 - share, row)) for share, row in zip(kept, corrected, strict=True)]
    residuals = [combined((share, row)) for share, row in zip(kept, corrected, strict=True)]
    return [state[0], combined((Fraction(1), state[1]), (Fraction(-1), mean(sent))), *residuals]


def _moments(case: LinearCase) -> list[Matrix]:
    return case.moments(feedback_update, 2 + len(case.offsets))


def _numbers(case: LinearCase) -> dict[str, Fraction | int]:
    return {
        "delta": 1 - case.root**2,
        "step_size": case.step,
        "smoothness": case.smoothness,
        "start_distance": case.start**2,
        "T": len(case.actions),
        "n": len(case.offsets),
        "variance": case.variance,
        "dissimilarity": sum((offset**2 for offset in case.offsets), Fraction(0)) / len(case.offsets),
        "residual_weight": case.weight,
    }


def convex_margin(case: LinearCase) -> Fraction:
    """1 − mean_t E(f(x_t) − f*)/bound, exact."""
    values = [case.smoothness * moments[1][1] / 2 for moments in _moments(case)[:-1]]
    bound = bound_at(CONVEX, _numbers(case))
    excess = sum(values, Fraction(0)) / len(values)
    return 1 - excess / bound if bound else 1 - excess


def strong_margin(case: LinearCase, convexity: Fraction) -> Fraction:
    """1 − Σ w_t E(f(x_t) − f*)/(Σ w_t · bound), exact, for μ = convexity·L."""
    strong = convexity * case.smoothness
    ratio = 1 - case.step * strong / 2
    weights = [ratio ** (-place - 1) for place in range(len(case.actions))]
    values = [case.smoothness * moments[1][1] / 2 for moments in _moments(case)[:-1]]
    excess = sum((weight * value for weight, value in zip(weights, values, strict=True)), Fraction(0)) / sum(weights)
    bound = bound_at(STRONG, _numbers(case) | {"mu": strong})
    return 1 - excess / bound if bound else 1 - excess


def last_margin(case: LinearCase, smaller: Fraction, larger: Fraction) -> Fraction:
    """1 − V_T/bound for f = mx²/2, μ ≤ m ≤ L; m is the case's smoothness. V is E(x − e)² + E e²/s at s = a."""
    final = _moments(case)[-1]
    residual = final[2][2] / case.root if case.root else Fraction(0)
    virtual = final[1][1] - 2 * final[1][2] + final[2][2]
    numbers: dict[str, Number] = {
        "epsilon": case.root**2,
        "mu": smaller,
        "smoothness": larger,
        "start_distance": case.start**2,
        "T": len(case.actions),
        "variance": case.variance,
    }
    bound = Fraction(STATEMENTS[LAST].evaluate(**admitting(LAST, numbers)))
    # A bound attained exactly could be rounded below: allow for that one rounding.
    return 1 - (virtual + residual) / (bound * (1 + Fraction(1, 2**52)))


def largest_convex_step(root: Fraction, smoothness: Fraction, weight: Fraction) -> Fraction:
    """The step size with h = 2."""
    kept = root**2
    return 2 * weight * (1 - kept) / (smoothness * (1 + weight) * (1 + weight * kept))


def largest_strong_step(root: Fraction, smoothness: Fraction, weight: Fraction) -> Fraction:
    """A step size that is admitted for μ ≤ L/8: half of δ is left there."""
    kept = root**2
    charge = 1 + weight * kept
    paid = 1 / (charge * (1 + 2 * charge / (weight * (1 - kept))))
    return min(paid, 4 * (1 - kept) / (1 / weight + Fraction(1, 2))) / smoothness


_WEIGHTS = (Fraction(1, 4), Fraction(1), Fraction(16))
_HUGE = Fraction(10**6)
_SIZES = st.sampled_from([Fraction(1, 4), Fraction(3)])


def convex_cases() -> st.SearchStrategy[tuple[LinearCase]]:
    """Linear runs; one look at x_0, and a run at rest under noise, in which everything is sent, with η = 1/L."""
    linear = linear_cases(largest_convex_step, _WEIGHTS).map(lambda case: (case,))
    return st.one_of(
        linear, _SIZES.map(lambda size: (single_case(step=1 / size, smoothness=size, weight=_HUGE),)), _resting()
    )


def _resting() -> st.SearchStrategy[tuple[LinearCase]]:
    return _SIZES.map(
        lambda size: (
            replace(
                single_case(step=1 / size, smoothness=size, weight=_HUGE),
                start=1 / size,
                actions=[([Fraction(0)], Fraction(1))] * 100,
            ),
        )
    )


def strong_cases() -> st.SearchStrategy[tuple[LinearCase, Fraction]]:
    """Linear runs with μ = L/8 and less; one look at x_0, and a run at rest, for hardly any convexity."""
    linear = st.tuples(linear_cases(largest_strong_step, _WEIGHTS), st.sampled_from([Fraction(1, 8), Fraction(1, 64)]))
    nearly = Fraction(1, 10**4)

    def shrunk(drawn: tuple[LinearCase]) -> tuple[LinearCase, Fraction]:
        return replace(drawn[0], step=drawn[0].step * Fraction(999, 1000)), nearly

    single = _SIZES.map(lambda size: shrunk((single_case(step=1 / size, smoothness=size, weight=_HUGE),)))
    return st.one_of(linear, single, _resting().map(shrunk))


def last_cases() -> st.SearchStrategy[tuple[LinearCase, Fraction, Fraction]]:
    """One worker, L = 1, any μ and m between; and nothing kept back, m = μ or L, the same noise at each step."""

    def case(drawn: Any) -> tuple[LinearCase, Fraction, Fraction]:
        root, strong, share, actions = drawn
        numbers = {"mu": strong, "smoothness": Fraction(1), "epsilon": root**2}
        step = substituted(STATEMENTS[LAST].given("step_size"), numbers)
        curvature = strong + share * (1 - strong)
        made = single_case(step=step, smoothness=curvature)
        return replace(made, root=root, actions=[([kept], noise) for kept, noise in actions]), strong, Fraction(1)

    noises = st.sampled_from([Fraction(0), Fraction(1)])
    kept = st.sampled_from([Fraction(-1), Fraction(1), Fraction(0), Fraction(1, 2)])
    varied = st.lists(st.tuples(kept, noises), min_size=1, max_size=8)
    steady = st.tuples(noises, st.integers(1, 8)).map(lambda drawn: [(Fraction(-1), drawn[0])] * drawn[1])
    roots = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(3, 4)])
    strengths = st.sampled_from([Fraction(1, 16), Fraction(1, 2)])
    shares = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3)])
    return st.tuples(roots, strengths, shares, st.one_of(varied, steady)).map(case)


CHECKS: dict[str, dict[Grade, Check]] = {
    CONVEX: {
        "smt": smt_check(convex_queries),
        "property": property_check(convex_cases, convex_margin),
        "simulated": convex_check,
    },
    STRONG: {
        "smt": smt_check(strong_queries),
        "property": property_check(strong_cases, strong_margin),
        "simulated": strongly_convex_check,
    },
    LAST: {
        "smt": smt_check(last_queries),
        "property": property_check(last_cases, last_margin),
        "simulated": last_check,
    },
}
"""Every check of these statements, by label and grade."""

_AT: dict[str, object] = {
    "delta": 1, "step_size": Fraction(1, 2), "smoothness": 1, "start_distance": 0, "T": 1, "n": 1, "variance": 0,
    "dissimilarity": 1, "residual_weight": 10**6,
}  # fmt: skip
_STRONG_AT = _AT | {"mu": Fraction(1, 10**9)}
EDGES: dict[str, Sequence[Remark]] = {
    CONVEX: (
        Edge("delta <= 1", _AT | {"delta": 1 + Fraction(1, 10**7)}),
        Edge(str(STATEMENTS[CONVEX].domain[1]), _AT | {"step_size": Fraction(33, 16), "start_distance": 1}),
    ),
    STRONG: (
        Edge("delta <= 1", _STRONG_AT | {"delta": 1 + Fraction(1, 10**7)}),
        Edge("mu < smoothness", _STRONG_AT | {"step_size": Fraction(1, 16), "mu": Fraction(33, 32), "variance": 1}),
        Unneeded(str(STATEMENTS[STRONG].domain[2]), "where it fails, the condition on the step size is no condition"),
        Edge(
            str(STATEMENTS[STRONG].domain[3]),
            _STRONG_AT | {"step_size": Fraction(33, 32), "start_distance": 1, "dissimilarity": 0},
            # f(x_0) − f* of f = x²/2 at x_0 = 1, T = 1.
            lambda: Fraction(1, 2),
        ),
    ),
    LAST: (
        Unneeded("mu <= smoothness", "beyond it no function is smooth and strongly convex"),
        Edge("epsilon < 1", {"mu": 1, "smoothness": 1, "epsilon": 1, "start_distance": 1, "T": 1, "variance": 1}),
    ),
}
"""Points just beyond the conditions."""
