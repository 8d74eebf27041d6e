"""What evidence is there for momentum beside error feedback, `theory/feedback/momentum.py`, besides the derivations?

Both algorithms are run in fractions, with anything sent for the paths, and with |λ| ≤ a in C(u) = (1 − λ)u for the
bounds; a constant gradient attains the residual and both lags. Linear runs on a quadratic are followed exactly. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    L,
    T,
    beta,
    delta,
    eta,
    gap,
    gradient,
    sigma_squared,
    variance,
    virtual_iterate,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at, substituted
from sparsync.verify.feedback.runs.adversarial_runs import SaturatedRun
from sparsync.verify.feedback.runs.linear_moments import (
    LinearCase,
    Row,
    combined,
    gradient_energies,
    linear_cases,
    mean,
    single_case,
)
from sparsync.verify.feedback.runs.momentum_simulations import lag_check, noise_check, rate_check, residual_check
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

PATHS = ("momentum_after_path", "momentum_before_path")
RATES = ("momentum_rate_after", "momentum_rate_before")
RESIDUAL, NOISE, LAG = "momentum_residual", "momentum_noise_residual", "momentum_lag"

_a, _c, _h, _s, _A, _y, _r, _m = sympy.symbols("a c h s A y r m", real=True)
_ROOT, _MOMENTUM, _SIGMA, _STEP = sympy.symbols("a c s h", positive=True)
_START = sympy.Symbol("A", nonnegative=True)
_PLAIN = {_ROOT: _a, _MOMENTUM: _c, _SIGMA: _s, _STEP: _h, _START: _A}
_DOMAIN = (_a > 0, _a < 1, _c >= 0, _c < 1, _h > 0, _s >= 0)


def _sides(expression: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator in plain symbols, the denominator positive; a = √(1 − δ), c = γ, h = η or ηL, s = σ."""
    values = {delta: 1 - _ROOT**2, beta: _MOMENTUM, sigma_squared: _SIGMA**2, variance: _SIGMA**2}
    cancelled = sympy.cancel(expression.subs(values, simultaneous=True))
    numerator, denominator = (part.xreplace(_PLAIN) for part in sympy.fraction(cancelled))
    sign = sympy.sign(denominator.subs(dict.fromkeys(denominator.free_symbols, sympy.S.Half)))
    return sympy.expand(sign * numerator), sympy.expand(sign * denominator)


def _at_most(claim: str, left: sympy.Expr, sides: tuple[sympy.Expr, sympy.Expr], *premises: Any) -> Query:
    stated = sympy.expand(left * sides[1])
    return Query(claim, premises, stated <= sides[0], 2 * stated <= sides[0])


def _equal(claim: str, left: sympy.Expr, sides: tuple[sympy.Expr, sympy.Expr], *premises: Any) -> Query:
    stated = sympy.expand(left * sides[1])
    return Query(
        claim,
        premises,
        sympy.Eq(stated, sides[0], evaluate=False),
        sympy.Eq(stated, 2 * sides[0] + 1, evaluate=False),
    )


def path_queries(label: str) -> tuple[Query, ...]:
    """One worker sends any w; z⁺ and z are multiplied by 1 − γ."""
    x, e, m, g, w, z = sympy.symbols("x e m g w z", real=True)
    values = {virtual_iterate: z, gradient: g, eta: _STEP}
    numerator, denominator = _sides(STATEMENTS[label].bound.subs(values, simultaneous=True))
    left = 1 - _c
    if label == "momentum_after_path":
        before, moved, kept = left * x - _c * m - e, _c * m + w, e + _h * g - w
        after = left * (x - moved) - _c * moved - kept
    else:
        moved = _c * m + g
        before, kept = left * (x - e) - _c * _h * m, e + _h * moved - w
        after = left * (x - w - kept) - _c * _h * moved
    premises = (_c >= 0, _c < 1, sympy.Eq(left * z, before, evaluate=False))
    return (_equal("(1 − γ)z⁺", after, (left * numerator, denominator), *premises),)


def residual_queries() -> tuple[Query, ...]:
    """‖e‖² ≤ bound is kept by e⁺ = a(e + ησ/(1 − γ)), the largest residual that is allowed."""
    numerator, denominator = _sides(STATEMENTS[RESIDUAL].bound.subs(eta, _STEP))
    push = _h * _s
    pushed = sympy.Eq(_y * (1 - _c), push, evaluate=False)
    below = sympy.Le(sympy.expand(_r**2 * denominator), numerator)
    premises = (*_DOMAIN, _r >= 0, below, pushed)
    return (_at_most("‖e‖² ≤ bound is kept", _a**2 * (_r + _y) ** 2, (numerator, denominator), *premises),)


def noise_queries() -> tuple[Query, ...]:
    """The only second moments that the update leaves as they are: y = E m², m = E me, r = E e²."""
    sides = _sides(STATEMENTS[NOISE].bound.subs(eta, _STEP))
    rest = (
        sympy.Eq(_y, _c**2 * _y + _s**2, evaluate=False),
        sympy.Eq(_m, sympy.expand(_a * (_c * _m + _h * (_c**2 * _y + _s**2))), evaluate=False),
        sympy.Eq(_r, sympy.expand(_a**2 * (_r + 2 * _h * _c * _m + _h**2 * (_c**2 * _y + _s**2))), evaluate=False),
    )
    return (_equal("E e² = bound", _r, sides, *_DOMAIN, *rest),)


def lag_queries() -> tuple[Query, ...]:
    """After, y = (1 − γ)‖x − z‖ is kept; before, the sum of the two largest norms. r = ‖e‖."""
    numerator, denominator = _sides(STATEMENTS[LAG].bound.subs(eta, _STEP))
    sides = sympy.expand((1 - _c) ** 2 * numerator), denominator
    moved = _c * _y + _c * _h * _s + (1 - _c) * _r
    domain = (*_DOMAIN, _r >= 0, sympy.Eq(_r * (1 - _a), _a * _h * _s, evaluate=False))
    below = sympy.Le(sympy.expand(_y**2 * denominator), sides[0])
    pushed = sympy.Eq(_y * (1 - _c), _h * _s, evaluate=False)
    return (
        _at_most("after", moved**2, sides, *domain, _y >= 0, below),
        _at_most("before", (_r + _c * _y) ** 2, sides, *domain, pushed),
    )


def rate_queries(label: str) -> tuple[Query, ...]:
    """M = m² is the mean of q², r is at least L‖x − z‖, A the start, h = ηL; y is the root in the bound."""
    start = _START * eta * T / (1 - beta)
    bound = STATEMENTS[label].bound.subs(gap, start).subs(eta, _STEP / L)
    bound = bound.subs({delta: 1 - _ROOT**2, beta: _MOMENTUM, sigma_squared: _SIGMA**2}, simultaneous=True)
    roots = [power for power in bound.atoms(sympy.Pow) if power.exp == sympy.S.Half and not power.base.is_Symbol]
    if len(roots) != 1:
        raise ValueError(f"{label}: expected one square root, got {roots}")
    outer = sympy.Symbol("y", positive=True)
    radicand, positive = _sides(roots[0].base)
    numerator, denominator = _sides(bound.subs(roots[0], outer))
    plain = {outer: _y}
    sides = numerator.xreplace(plain), denominator.xreplace(plain)
    lag = sympy.Eq(_r * (1 - _c) ** 2 * (1 - _a), _h * _s * (_a * (1 - _c) + _c * (1 - _a)), evaluate=False)
    descent = (1 - _c) * (_m**2 - _r * _m - _A) <= _h * _s**2 / 2
    root = (_y >= 0, sympy.Eq(sympy.expand(_y**2 * positive), radicand, evaluate=False))
    return (_at_most("M ≤ bound", _m**2, sides, *_DOMAIN, _A >= 0, _m >= 0, _r >= 0, lag, descent, *root),)


def path_margin(
    momentum: Fraction, run: Sequence[tuple[Fraction, Fraction]], step: Fraction, *, label: str
) -> Fraction:
    """−Σ |z⁺ − bound| over a run of gradients and of what is sent, whatever that is."""
    x, m, e, missed = Fraction(1), Fraction(0), Fraction(0), Fraction(0)
    for slope, sent in run:
        before = _virtual(label, momentum, step, (x, m, e))
        if label == "momentum_after_path":
            m = momentum * m + sent
            x, e = x - m, e + step * slope - sent
        else:
            m = momentum * m + slope
            x, e = x - sent, e + step * m - sent
        stated = STATEMENTS[label].fraction(virtual_iterate=before, step_size=step, gradient=slope, momentum=momentum)
        missed += abs(_virtual(label, momentum, step, (x, m, e)) - stated)
    return -missed


def _virtual(label: str, momentum: Fraction, step: Fraction, state: tuple[Fraction, Fraction, Fraction]) -> Fraction:
    x, m, e = state
    if "after" in label:
        return x - (momentum * m + e) / (1 - momentum)
    return x - e - momentum * step * m / (1 - momentum)


def norm_margin(
    root: Fraction, momentum: Fraction, actions: Sequence[tuple[Fraction, Fraction]], *, label: str
) -> Fraction:
    """1 − the largest square/bound in runs with η = σ = 1: of e for momentum before, of x − z for both orders."""
    largest = Fraction(0)
    for order in ("before",) if label == RESIDUAL else ("after", "before"):
        x, m, e = Fraction(0), Fraction(0), Fraction(0)
        for slope, share in actions:
            if order == "after":
                corrected = e + slope
                m = momentum * m + (1 - root * share) * corrected
                x, e = x - m, root * share * corrected
            else:
                m = momentum * m + slope
                corrected = e + m
                x, e = x - (1 - root * share) * corrected, root * share * corrected
            lag = x - _virtual(order, momentum, Fraction(1), (x, m, e))
            largest = max(largest, e**2 if label == RESIDUAL else lag**2)
    bound = bound_at(label, {"delta": 1 - root**2, "momentum": momentum, "step_size": 1, "second_moment": 1})
    return 1 - largest / bound if bound else -largest


def noise_margin(root: Fraction, momentum: Fraction, step: Fraction) -> Fraction:
    """−|E e² − bound| where the update leaves the bound's E e² as it is, with E m² and E me solved by hand."""
    kept = substituted(STATEMENTS[NOISE].given("kept"), {"delta": 1 - root**2})
    noise = substituted(STATEMENTS[NOISE].given("variance"), {"variance": Fraction(1)})
    energy = noise / (1 - momentum**2)
    product = kept * step * energy / (1 - kept * momentum)
    stated = STATEMENTS[NOISE].fraction(delta=1 - root**2, momentum=momentum, step_size=step, variance=1)
    after = kept**2 * (stated + 2 * step * momentum * product + step**2 * (momentum**2 * energy + noise))
    return -abs(after - stated)


def after_update(case: LinearCase, state: Sequence[Row], noises: Sequence[Row], kept: Sequence[Fraction]) -> list[Row]:
    """Momentum after aggregation, γ the case's weight: the state is 1, x, every worker's e_i, and m."""
    count = len(kept)
    corrected = [
        combined((Fraction(1), state[2 + worker]), (case.step, case.gradient(worker, state, noises)))
        for worker in range(count)
    ]
    sent = mean([combined((1 - share, row)) for share, row in zip(kept, corrected, strict=True)])
    moved = combined((case.weight, state[2 + count]), (Fraction(1), sent))
    residuals = [combined((share, row)) for share, row in zip(kept, corrected, strict=True)]
    return [state[0], combined((Fraction(1), state[1]), (Fraction(-1), moved)), *residuals, moved]


def before_update(case: LinearCase, state: Sequence[Row], noises: Sequence[Row], kept: Sequence[Fraction]) -> list[Row]:
    """Momentum before compression: the state is 1, x, every worker's e_i, and every worker's m_i."""
    count = len(kept)
    moved = [
        combined((case.weight, state[2 + count + worker]), (Fraction(1), case.gradient(worker, state, noises)))
        for worker in range(count)
    ]
    corrected = [combined((Fraction(1), state[2 + worker]), (case.step, moved[worker])) for worker in range(count)]
    sent = mean([combined((1 - share, row)) for share, row in zip(kept, corrected, strict=True)])
    residuals = [combined((share, row)) for share, row in zip(kept, corrected, strict=True)]
    return [state[0], combined((Fraction(1), state[1]), (Fraction(-1), sent)), *residuals, *moved]


def rate_margin(case: LinearCase | SaturatedRun, *, label: str) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound; the float read is within half a unit in the last place of the bound."""
    if isinstance(case, SaturatedRun):
        smallest, numbers = case.smallest_energy(), case.parameters(bounded="second moment") | {"momentum": 0}
    else:
        update, extra = (after_update, 1) if label == RATES[0] else (before_update, len(case.offsets))
        found = case.moments(update, 2 + len(case.offsets) + extra)
        energies = gradient_energies(case, found)
        numbers = {
            "delta": 1 - case.root**2,
            "step_size": case.step,
            "smoothness": case.smoothness,
            "gap": case.gap,
            "T": len(case.actions),
            "momentum": case.weight,
            "second_moment": _largest_second_moment(case, energies),
        }
        smallest = min(energies)
    bound = Fraction(STATEMENTS[label].evaluate(**numbers))
    # A bound attained exactly could be rounded below the energy: allow for that one rounding.
    return 1 - smallest / (bound * (1 + Fraction(1, 2**52))) if bound else 1 - smallest


def _largest_second_moment(case: LinearCase, energies: Sequence[Fraction]) -> Fraction:
    """The largest E|g_i|², bounded by 2E|f'|² + 2 max b_i² + noise where the workers differ."""
    widest = max(offset**2 for offset in case.offsets)
    factor = 2 if widest else 1
    pairs = zip(energies, case.actions, strict=True)
    return max(factor * energy + 2 * widest + noise for energy, (_, noise) in pairs)


_ROOTS = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(15, 16)])
_MOMENTA = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(9, 10)])
_SMALL = st.integers(-4, 4).map(lambda numerator: Fraction(numerator, 2))
_SIZES = st.sampled_from([Fraction(1, 4), Fraction(3)])


def _path_cases() -> st.SearchStrategy[Any]:
    return st.tuples(_MOMENTA, st.lists(st.tuples(_SMALL, _SMALL), min_size=1, max_size=6), _SIZES)


def _norm_cases() -> st.SearchStrategy[Any]:
    """Gradients of size one or less and any shares; or a constant gradient for long, with roots that stay small."""
    shares = st.sampled_from([Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1)])
    slopes = st.sampled_from([Fraction(-1), Fraction(1), Fraction(1, 2)])
    varied = st.lists(st.tuples(slopes, shares), min_size=1, max_size=8)
    constant = st.just([(Fraction(1), Fraction(1))] * 60)
    steady = st.tuples(
        st.sampled_from([Fraction(1, 4), Fraction(3, 4)]), st.sampled_from([Fraction(0), Fraction(3, 4)]), constant
    )
    return st.one_of(st.tuples(_ROOTS, _MOMENTA, varied), steady)


def _noise_cases() -> st.SearchStrategy[Any]:
    return st.tuples(st.sampled_from([Fraction(1, 4), Fraction(3, 4)]), _MOMENTA, _SIZES)


def _largest_step(_root: Fraction, smoothness: Fraction, weight: Fraction) -> Fraction:
    """H = 1/L: beyond it a run may well leave the second moment small and the bound large."""
    return (1 - weight) / smoothness


def _rate_cases() -> st.SearchStrategy[tuple[LinearCase | SaturatedRun]]:
    linear = linear_cases(_largest_step, [Fraction(0), Fraction(1, 2), Fraction(9, 10)], offset=1)
    single = _SIZES.map(lambda size: single_case(step=1 / size, smoothness=size))
    saturated = st.sampled_from([Fraction(1, 2), Fraction(7, 8)]).map(
        lambda root: SaturatedRun(root, Fraction(1), Fraction(1), 10**6)
    )
    resting = _SIZES.map(
        lambda size: replace(
            single_case(step=Fraction(1, 8) / size, smoothness=size, weight=Fraction(1, 2)),
            root=Fraction(1, 2),
            actions=[([Fraction(-1)], Fraction(1))] * 20,
        )
    )
    return st.one_of(linear, single, saturated, resting).map(lambda case: (case,))


def _rate_checks(label: str) -> dict[Grade, Check]:
    return {
        "smt": smt_check(partial(rate_queries, label)),
        "property": property_check(_rate_cases, partial(rate_margin, label=label)),
        "simulated": partial(rate_check, label=label),
    }


def _norm_checks(label: str, queries: Callable[[], Sequence[Query]], simulated: Check) -> dict[Grade, Check]:
    return {
        "smt": smt_check(queries),
        "property": property_check(_norm_cases, partial(norm_margin, label=label)),
        "simulated": simulated,
    }


CHECKS: dict[str, dict[Grade, Check]] = {
    **{
        label: {
            "smt": smt_check(partial(path_queries, label)),
            "property": property_check(_path_cases, partial(path_margin, label=label)),
        }
        for label in PATHS
    },
    RESIDUAL: _norm_checks(RESIDUAL, residual_queries, residual_check),
    NOISE: {
        "smt": smt_check(noise_queries),
        "property": property_check(_noise_cases, noise_margin),
        "simulated": noise_check,
    },
    LAG: _norm_checks(LAG, lag_queries, lag_check),
    **{label: _rate_checks(label) for label in RATES},
}
"""Every check of these statements, by label and grade."""

_AT: dict[str, object] = {"delta": Fraction(1, 2), "momentum": Fraction(1, 2), "step_size": 1}
_OTHERS: dict[str, dict[str, object]] = {
    RESIDUAL: {"second_moment": 1},
    LAG: {"second_moment": 1},
    NOISE: {"variance": 1},
    **{label: {"second_moment": 1, "gap": 1, "T": 1, "smoothness": 1} for label in RATES},
}
EDGES: dict[str, Sequence[Remark]] = {
    **{
        label: (Edge("momentum < 1", {"momentum": 1, "step_size": 1, "gradient": 1, "virtual_iterate": 0}),)
        for label in PATHS
    },
    **{
        label: (
            Edge("delta <= 1", _AT | others | {"delta": Fraction(33, 32)}),
            Edge("momentum < 1", _AT | others | {"momentum": 1}),
        )
        for label, others in _OTHERS.items()
    },
}
"""Points just beyond the conditions, at which no bound is a number."""
