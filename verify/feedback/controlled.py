"""What evidence is there for EControl of `theory/feedback/controlled.py`, besides its derivation?

Runs in fractions, with anything sent for the path, linear ones for the rate; two solvers prove the sign of each
coefficient in the change of the Lyapunov function, and the bound from them. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    estimate_energy,
    eta,
    gap,
    gradient,
    n,
    variance,
    virtual_iterate,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.feedback.runs.difference_simulations import (
    TOP_K_RUNS,
    WORKER_COUNT,
    Method,
    Rows,
    share_of,
    top_k_energies,
)
from sparsync.verify.feedback.runs.linear_moments import (
    LinearCase,
    Row,
    combined,
    gradient_energies,
    linear_cases,
    mean,
)
from sparsync.verify.feedback.runs.simulations import DIMENSION, top_k_rows
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

PATH, RATE = "econtrol_path", "econtrol_rate"

_t, _h, _y, _n, _A, _S, _s, _q = sympy.symbols("t h y n A S s q", real=True)
_TAU = sympy.Symbol("t", positive=True)


def path_queries() -> tuple[Query, ...]:
    """One worker sends any w: with h and e, x − ηe."""
    x, e, g, h, w, step = sympy.symbols("x e g h w step", real=True)
    positive = sympy.Symbol("step", positive=True)
    stated = STATEMENTS[PATH].bound.subs({virtual_iterate: x - step * e, gradient: g, eta: positive}, simultaneous=True)
    stated = stated.xreplace({positive: step})
    after = (x - step * (h + w)) - step * (e + g - h - w)
    return (
        Query(
            claim="x̃⁺ = x̃ − ηg",
            premises=(),
            conclusion=sympy.Eq(sympy.expand(after), sympy.expand(stated), evaluate=False),
            false_twin=sympy.Eq(sympy.expand(after), sympy.expand(stated) + 1, evaluate=False),
        ),
    )


def rate_queries() -> tuple[Query, ...]:
    """t = τ, h = ηL, y = ηL̃: signs of the coefficients over what makes them polynomials, then the bound from them."""
    domain = (_t > 0, _t <= 1, _h > 0, _h <= _y, 12 * _y <= _t)
    kept = sympy.expand(STATEMENTS[RATE].given("kept_back").subs(delta, 1 - (1 - _t) ** 2))
    control = _t / 4
    weight, other, rest = 8 * _h**2 / _t, 64 * _h**2 / _t**3, 4 / _t
    moves = other * rest * 4 * _y**2
    first = 1 - 3 * _t / 4
    slopes = -sympy.S.Half + _h / 2 + moves
    errors = _h**2 / 2 - weight * control + other * rest * control**4 + moves * control**2
    lacks = weight * kept / control + other * (first - 1) + moves * kept
    noise = weight * kept / control + other * (first + rest) + moves * (1 + kept)
    return (
        _contracts(first, (1 + control) ** 2 * kept, *domain),
        _negative("q²", (slopes + sympy.Rational(2, 5)) * _t**4, *domain),
        _negative("‖e‖²", errors * _t**2 / _h**2, *domain),
        _negative("w²", lacks * _t**4 / _h**2, *domain),
        _negative("σ₀²", (noise - 320 * _h**2 / _t**4) * _t**4 / _h**2, *domain),
        _bound_query(*domain),
    )


def _contracts(first: sympy.Expr, kept: sympy.Expr, *premises: Any) -> Query:
    """What is lost of w² pays for Jensen's weight of R."""
    stated = sympy.expand(kept)
    return Query("(1 + α)²‖R‖² ≤ (1 − 3τ/4)²(w² + σ₀²)", premises, stated <= first**2, 2 * stated <= first**2)


def _negative(claim: str, coefficient: sympy.Expr, *premises: Any) -> Query:
    stated = sympy.expand(coefficient)
    return Query(f"coefficient of {claim}", premises, stated <= 0, stated >= 0)


def _bound_query(*domain: Any) -> Query:
    """(2/5)q² ≤ A + 64h²S/t³ + (h/(2n) + 320h²/t⁴)s², s = σ₀, with T = 1."""
    root = 1 - sympy.sqrt(1 - delta)
    values = {gap: _A * eta, T: 1, variance: _s**2, estimate_energy: _S, n: _n}
    bound = STATEMENTS[RATE].bound.subs(root, _TAU).subs(eta, sympy.Symbol("h", positive=True) / L)
    bound = bound.subs(values | {gap: _A * sympy.Symbol("h", positive=True) / L}, simultaneous=True)
    plain = {symbol: sympy.Symbol(symbol.name, real=True) for symbol in bound.free_symbols}
    numerator, denominator = sympy.fraction(sympy.cancel(bound.xreplace(plain)))
    scale = 2 * _n * _t**4
    noise = STATEMENTS[RATE].given("variance").subs(variance, _s**2)
    right = scale * _A + 128 * _n * _t * _h**2 * _S + (_h * _t**4 + 640 * _n * _h**2) * noise
    return Query(
        claim="q² ≤ bound",
        premises=(*domain, _n >= 1, _A >= 0, _S >= 0, _s >= 0, 2 * scale * _q**2 <= 5 * sympy.expand(right)),
        conclusion=sympy.Le(_q**2 * denominator, numerator),
        false_twin=sympy.Le(2 * _q**2 * denominator, numerator),
    )


def path_margin(control: Fraction, step: Fraction, run: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """−Σ |x̃⁺ − bound| over a run, whatever is sent, and minus what Σ h and e do not add up to."""
    x, h, e, missed, created, used = Fraction(1), Fraction(0), Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    for slope, sent in run:
        before = x - step * e
        corrected = control * e + slope - h
        h += sent * corrected
        e += slope - h
        x -= step * h
        created, used = created + slope, used + h
        stated = STATEMENTS[PATH].fraction(virtual_iterate=before, step_size=step, gradient=slope)
        missed += abs(x - step * e - stated)
    return -missed - abs(used + e - created)


def controlled_update(
    case: LinearCase, state: Sequence[Row], noises: Sequence[Row], kept: Sequence[Fraction]
) -> list[Row]:
    """EControl, α the case's weight: the state is 1, x, every worker's h_i, and every worker's e_i."""
    count = len(kept)
    one = Fraction(1)
    estimates, residuals = [], []
    for worker, share in enumerate(kept):
        old, residual = state[2 + worker], state[2 + count + worker]
        slope = case.gradient(worker, state, noises)
        corrected = combined((case.weight, residual), (one, slope), (-one, old))
        estimates.append(combined((one, old), (1 - share, corrected)))
        residuals.append(combined((one, residual), (one, slope), (-one, estimates[-1])))
    return [state[0], combined((one, state[1]), (-case.step, mean(estimates))), *estimates, *residuals]


def rate_margin(case: LinearCase) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact; α is that of the statement."""
    found = stated_case(case).moments(controlled_update, 2 + 2 * len(case.offsets))
    smallest = min(gradient_energies(case, found))
    bound = bound_at(RATE, case.numbers | {"n": len(case.offsets)})
    return 1 - smallest / bound if bound else 1 - smallest


def stated_case(case: LinearCase) -> LinearCase:
    """The case with the α that is assumed."""
    factor = 1 - case.root**2
    value = STATEMENTS[RATE].given("control").subs(delta, sympy.Rational(factor.numerator, factor.denominator))
    return LinearCase(
        case.root, case.step, case.smoothness, case.start, case.offsets, case.actions,
        weight=Fraction(int(value.p), int(value.q)),
    )  # fmt: skip


def largest_step(root: Fraction, smoothness: Fraction, _weight: Fraction) -> Fraction:
    """The largest step size that is admitted."""
    return (1 - root) / (12 * smoothness)


def controlled_method(count: int, step: float, control: float) -> Method:
    """EControl with Top-k."""

    def update(x: Rows, memory: Rows, gradients: Callable[[Rows], Rows]) -> tuple[Rows, Rows]:
        estimates, residuals = memory
        slopes = gradients(x)
        after = estimates + top_k_rows(control * residuals + slopes - estimates, count)
        return x - step * after.mean(axis=0), numpy.stack([after, residuals + slopes - after])

    return update


def simulation_check(_profile: Profile) -> Outcome:
    """`simulated`: Top-k at the largest step size stays below the bound."""
    shares = []
    for count, _, noise, update_count in TOP_K_RUNS:
        root = 1 - math.sqrt(1 - count / DIMENSION)
        step, control = 0.999 * root / 12, float(STATEMENTS[RATE].given("control").subs(delta, count / DIMENSION))
        means, errors, start = top_k_energies(
            controlled_method(count, step, control), count=count, noise=noise, update_count=update_count
        )
        shares.append(share_of(RATE, means, errors, start | {"step_size": step, "n": WORKER_COUNT}))
    return Outcome(
        earned=max(shares) <= 1,
        detail={"runs_count": len(shares), "largest_share_of_bound_with_top_k": max(shares)},
    )


def _path_cases() -> st.SearchStrategy[Any]:
    small = st.integers(-4, 4).map(lambda numerator: Fraction(numerator, 2))
    sizes = st.sampled_from([Fraction(1, 8), Fraction(1)])
    return st.tuples(sizes, sizes, st.lists(st.tuples(small, small), min_size=1, max_size=6))


def _rate_cases() -> st.SearchStrategy[tuple[LinearCase]]:
    return linear_cases(largest_step, [Fraction(0)]).map(lambda case: (case,))


CHECKS: dict[str, dict[Grade, Check]] = {
    PATH: {"smt": smt_check(path_queries), "property": property_check(_path_cases, path_margin)},
    RATE: {
        "smt": smt_check(rate_queries),
        "property": property_check(_rate_cases, rate_margin),
        "simulated": simulation_check,
    },
}
"""Every check of these statements, by label and grade."""

_BEYOND: dict[str, object] = {
    "delta": 1, "step_size": 2, "smoothness": 1, "mean_smoothness": 1, "gap": Fraction(1, 2), "estimate_energy": 0,
    "T": 1, "n": 1, "variance": 0,
}  # fmt: skip
EDGES: dict[str, Sequence[Remark]] = {
    RATE: (
        Unneeded("delta <= 1", "beyond it 1 − √(1 − δ) is no real number, so that no step size is admitted"),
        Unneeded("smoothness <= mean_smoothness", "L̃ is a Lipschitz constant of ∇f, so that L may be replaced by it"),
        Unneeded(
            str(STATEMENTS[RATE].domain[2]),
            "the constants leave room: with one worker that sends everything it is false from ηL = 5/4 on",
            widened=True,
        ),
        # |f'(x_0)|² at x_0 = 1 for f = x²/2, T = 1 and h = f'(x_0).
        Edge(str(STATEMENTS[RATE].domain[2]), _BEYOND, lambda: 1),
    )
}
"""Why the conditions are there, and a point far beyond the largest step size."""
SLACK: dict[str, dict[str, str]] = {
    RATE: {"control": "the constants leave room: with α a sixteenth more or less the proof gives other constants"}
}
"""Assumed numbers that may be a little other."""
