"""What evidence is there for the rate and the floor of EF21 of `theory/feedback/difference_rates.py`, besides their
derivations?

The run of `runs/difference_runs.py` attains both; linear runs of several workers are followed exactly. Two solvers are
asked for the rate from its one-step inequality, and for the largest bias that noise can become. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    estimate_energy,
    eta,
    free_share,
    gap,
    mean_smoothness,
    variance,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at, rational_root, substituted
from sparsync.verify.feedback.queries import bound_sides
from sparsync.verify.feedback.runs.difference_runs import FloorRun, difference_update
from sparsync.verify.feedback.runs.difference_simulations import floor_check, rate_check
from sparsync.verify.feedback.runs.linear_moments import (
    LinearCase,
    gradient_energies,
    linear_cases,
    root_above,
    single_case,
)
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

RATE, FLOOR = "ef21_rate", "ef21_floor"

_t, _r, _k, _s, _A = sympy.symbols("t r k s A", real=True)
_b, _v, _q, _x, _m = sympy.symbols("b v q x m", real=True)


def rate_queries() -> tuple[Query, ...]:
    """t = δ, k and r as stated, s = σ₀, A the start; x = E‖v − ξ‖ ≤ v + s in norms, m = (1 − δ)(1 + s' + k/(2λ)).

    The first is what noise costs, the second the bound from the change of Φ. L̃ is put in from k.
    """
    square = (_k - eta * L) * delta**2 * free_share * (1 - free_share)
    square = square / (eta**2 * (1 - delta) * (1 - delta * (1 - free_share)))
    bound = STATEMENTS[RATE].bound.subs(mean_smoothness, sympy.sqrt(square)).subs(estimate_energy, 0)
    values = {delta: _t, free_share: _r, gap: _A * eta * T, variance: _s**2}
    numerator, denominator = sympy.fraction(sympy.cancel(sympy.cancel(bound).subs(values, simultaneous=True)))
    sign = sympy.sign(denominator.subs(dict.fromkeys((_t, _r, _k), sympy.S.Half)))
    cost = _m * (1 - _m) * _x**2 - (1 - _m) * _v**2
    kept = STATEMENTS[RATE].given("kept_back").subs(delta, _t)
    charged = sympy.cancel(kept * (1 - _t + _r * _t + _k * _t * (1 - _r)) / (1 - _t))
    # The change of Φ with the cost of noise, which is m/(1 − m) of s², over λ/(1 − δ).
    descent = (_q**2 - 2 * _A) * _t * (1 - _r) * (1 - charged) - ((1 - _t) * (1 - charged) + charged) * _s**2
    return (
        Query(
            claim="mx² ≤ v² + ms²/(1 − m)",
            premises=(_m > 0, _m < 1, _s >= 0, _v >= 0, _x >= 0, _x <= _v + _s),
            conclusion=sympy.expand(cost) <= _m * _s**2,
            false_twin=2 * sympy.expand(cost) <= _m * _s**2,
        ),
        Query(
            claim="q² ≤ bound",
            premises=(_t > 0, _t < 1, _r > 0, _r < 1, _k > 0, _k < 1, _s >= 0, _A >= 0, sympy.expand(descent) <= 0),
            conclusion=sympy.Le(_q**2 * sign * denominator, sign * numerator),
            false_twin=sympy.Le(2 * _q**2 * sign * denominator, sign * numerator),
        ),
    )


def floor_queries() -> tuple[Query, ...]:
    """b is the mean of what is kept back, v the rest, which may lie against the noise s: how large can b be at rest?"""
    numerator, denominator = bound_sides(FLOOR, {delta: _t, variance: _s**2})
    domain = (_t > 0, _t <= 1, _s > 0, _v >= 0)
    rests = (1 - _t) * (_b**2 + (_s + _v) ** 2 + _s**2)
    largest = sympy.Eq(_b**2 * denominator, numerator, evaluate=False)
    return (
        Query(
            claim="b² ≤ bound",
            premises=(*domain, _b**2 + _v**2 <= rests),
            conclusion=sympy.Le(_b**2 * denominator, numerator),
            false_twin=sympy.Le(2 * _b**2 * denominator, numerator),
        ),
        Query(
            claim="the bound is reached with v = (1 − δ)s/δ",
            premises=(*domain, largest, sympy.Eq(_v * _t, (1 - _t) * _s)),
            conclusion=_b**2 + _v**2 <= sympy.expand(rests),
            false_twin=_b**2 + 2 * _v**2 + _s**2 <= sympy.expand(rests),
        ),
    )


def rate_margin(case: LinearCase | FloorRun, share: Fraction) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact."""
    if isinstance(case, FloorRun):
        smallest, numbers = min(case.gradient_energies()), case.parameters(share=share, update_count=LONG_RUN)
    else:
        count = len(case.offsets)
        smallest = min(gradient_energies(case, case.moments(difference_update, 2 + count)))
        numbers = case.numbers | {"free_share": share}
    bound = bound_at(RATE, numbers)
    return 1 - smallest / bound if bound else 1 - smallest


def largest_step(root: Fraction, smoothness: Fraction, share: Fraction) -> Fraction:
    """A step size with k < 1 for this r."""
    factor = 1 - root**2
    square = root**2 * (1 - factor * (1 - share)) / (factor**2 * share * (1 - share))
    return 1 / (smoothness * (1 + root_above(square)))


LONG_RUN = 10**15
"""Updates after which nothing is left of the start; at rest the gradient is the same at each."""
SMALL_STEP, SMALL_SHARE = Fraction(1, 10**6), Fraction(1, 10**4)


def rate_cases() -> st.SearchStrategy[tuple[LinearCase | FloorRun, Fraction]]:
    """Linear runs, one update in which nothing is lost, and the floor with a small step size."""
    shares = [Fraction(1, 8), Fraction(1, 2), Fraction(3, 4)]
    linear = linear_cases(largest_step, shares).map(lambda case: (case, case.weight))
    single = st.sampled_from([Fraction(1, 4), Fraction(3)]).map(
        lambda size: (single_case(step=Fraction(1023, 1024) / size, smoothness=size), Fraction(1, 2))
    )
    return st.one_of(linear, single, floor_runs(SMALL_STEP).map(lambda run: (run, SMALL_SHARE)))


def floor_runs(step: Fraction | None = None) -> st.SearchStrategy[FloorRun]:
    """Runs at rest of one to three workers; δ between 4/5 and 1/32, or 1."""
    signs = st.integers(1, 3).flatmap(
        lambda count: st.lists(
            st.lists(st.sampled_from([-1, 1]), min_size=count, max_size=count), min_size=2, max_size=6
        )
    )
    steps = st.sampled_from([Fraction(1, 8), Fraction(1), Fraction(5)]) if step is None else st.just(step)
    odds = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 8), Fraction(1, 64)] + ([Fraction(1)] if step is None else [])
    sizes = st.sampled_from([Fraction(1), Fraction(2)])
    return st.builds(FloorRun, st.sampled_from(odds), sizes, steps, st.just(Fraction(1)), signs)


def floor_margin(run: FloorRun) -> Fraction:
    """−max_t ||∇f(x_t)|² − bound|."""
    stated = STATEMENTS[FLOOR].fraction(delta=run.delta, variance=run.noise**2)
    return -max(abs(energy - stated) for energy in _assumed(run).gradient_energies())


def _assumed(run: FloorRun) -> FloorRun:
    """The run with the start and the estimates that are assumed at its δ and σ₀."""
    numbers = {"delta": run.delta, "variance": run.noise**2}
    start, held = (substituted(STATEMENTS[FLOOR].given(name), numbers) for name in ("start", "estimate"))
    return replace(run, start=rational_root(start), held=rational_root(held))


def _floor_cases() -> st.SearchStrategy[tuple[FloorRun]]:
    return floor_runs().map(lambda run: (run,))


CHECKS: dict[str, dict[Grade, Check]] = {
    RATE: {
        "smt": smt_check(rate_queries),
        "property": property_check(rate_cases, rate_margin),
        "simulated": rate_check,
    },
    FLOOR: {
        "smt": smt_check(floor_queries),
        "property": property_check(_floor_cases, floor_margin),
        "simulated": floor_check,
    },
}
"""Every check of these statements, by label and grade."""

_BEYOND: dict[str, object] = {
    "delta": 1, "step_size": Fraction(1, 4), "smoothness": 1, "mean_smoothness": 1, "gap": 0, "estimate_energy": 1,
    "T": 1, "variance": 0, "free_share": Fraction(1, 2),
}  # fmt: skip
EDGES: dict[str, Sequence[Remark]] = {
    RATE: (
        Edge("delta <= 1", _BEYOND | {"delta": Fraction(33, 32)}),
        Edge("free_share < 1", _BEYOND | {"delta": Fraction(1, 2), "free_share": Fraction(33, 32)}),
        Edge(
            str(STATEMENTS[RATE].domain[2]),
            _BEYOND | {"step_size": Fraction(33, 32), "estimate_energy": 0, "variance": 1},
        ),
    ),
    FLOOR: (Edge("delta <= 1", {"delta": Fraction(33, 32), "variance": 1}),),
}
"""Points just beyond the conditions, at which the bounds are negative."""
