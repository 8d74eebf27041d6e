"""What evidence is there for EF21 with momentum of `theory/feedback/averaged_rates.py`, besides its derivation?

Linear runs of several workers are followed exactly; two solvers prove each part of the Lyapunov function's descent, and
the bound from their sum. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import T, averaging, delta, estimate_energy, eta, gap, n, variance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.feedback.runs.difference_runs import averaged_update
from sparsync.verify.feedback.runs.difference_simulations import (
    TOP_K_RUNS,
    WORKER_COUNT,
    averaged_method,
    floor_energies,
    share_of,
    top_k_energies,
)
from sparsync.verify.feedback.runs.linear_moments import (
    LinearCase,
    gradient_energies,
    linear_cases,
    root_above,
    single_case,
)
from sparsync.verify.feedback.runs.simulations import DIMENSION
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

LABEL = "ef21_momentum_rate"

_ROOT, _WEIGHT = sympy.symbols("a alpha", positive=True)
_a, _c, _b, _s, _A, _q, _w, _k, _n = sympy.symbols("a alpha b s A q w k n", real=True)
_e, _p, _y, _d, _S = sympy.symbols("e p y d S", real=True)


def momentum_queries() -> tuple[Query, ...]:
    """The parts, b = (1 − α)², d = ‖Δ‖, y = α‖p − Δ‖; and the bound from them, A the start, s = σ₀."""
    lost = (1 - _b) ** 2
    domain = (_b >= 0, _b < 1, _p >= 0, _d >= 0)
    mean = 2 * _b * (1 - _b) * (_p + _d) ** 2 - 2 * (1 - _b) * _p**2 + lost * _p**2
    single = (1 - _b**2) * (_p + _d) ** 2 - 2 * (1 - _b) * _p**2
    kept_back = sympy.expand(STATEMENTS[LABEL].given("kept_back").subs(delta, 1 - _a**2))
    kept = (1 - _a) * (kept_back * (_e + _y) ** 2 - _e**2) + (1 - _a) ** 2 * _e**2
    return (
        _at_most("mean momentum", mean, 2 * _b * (1 + _b) * _d**2, *domain),
        _at_most("one worker's momentum", single, 2 * (1 + _b) * _d**2, *domain),
        _at_most("errors", kept, _a**2 * _y**2, _a >= 0, _a < 1, _e >= 0, _y >= 0),
        _bound_query(),
    )


def _at_most(claim: str, left: sympy.Expr, right: sympy.Expr, *premises: sympy.Basic) -> Query:
    smaller, larger = sympy.expand(left), sympy.expand(right)
    return Query(claim, premises, smaller <= larger, 2 * smaller <= larger)


def _bound_query() -> Query:
    """q² + (1 − k)w² ≤ 2A + 2(λ_p + λ_q)S + 2(noise charged to the three weights), with T = 1."""
    values = {
        delta: 1 - _ROOT**2, averaging: _WEIGHT, gap: _A * eta, T: 1, variance: _s**2, estimate_energy: _S, n: _n,
    }  # fmt: skip
    plain = {_ROOT: _a, _WEIGHT: _c}
    bound = STATEMENTS[LABEL].bound.subs(values, simultaneous=True).xreplace(plain)
    numerator, denominator = sympy.fraction(sympy.cancel(bound))
    sign = sympy.sign(denominator.subs({_a: sympy.S.Half, _c: sympy.S.Half, _n: 1}))
    push, lost = (_a * _c) ** 2, _c * (2 - _c)
    # All terms times n(1 − a)²α(2 − α).
    scale = _n * (1 - _a) ** 2 * lost
    start = 2 * _A * scale + 4 * _n * ((1 - _a) ** 2 + push) * _S
    moment = STATEMENTS[LABEL].given("variance").subs(variance, _s**2)
    noise = 2 * moment * (2 * _c**2 * (1 - _a) ** 2 + _n * push * (1 - _a) * lost + 2 * _n * push * _c**2)
    return Query(
        claim="q² ≤ bound",
        premises=(
            _a >= 0, _a < 1, _c > 0, _c < 2, _n >= 1, _A >= 0, _S >= 0, _s >= 0, _k > 0, _k <= 1,
            sympy.expand(scale * (_q**2 + (1 - _k) * _w**2)) <= sympy.expand(start + noise),
        ),
        conclusion=sympy.Le(_q**2 * sign * denominator, sign * numerator),
        false_twin=sympy.Le(2 * _q**2 * sign * denominator, sign * numerator),
    )  # fmt: skip


def momentum_margin(case: LinearCase) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact."""
    smallest = min(gradient_energies(case, case.moments(averaged_update, 2 + 2 * len(case.offsets))))
    bound = bound_at(LABEL, _numbers(case))
    return 1 - smallest / bound if bound else 1 - smallest


def exact_start_margin(smoothness: Fraction) -> Fraction:
    """The same for one look at x_0 with v = f'(x_0), a = 0, α = 1 and η = 1/L."""
    case = single_case(step=1 / smoothness, smoothness=smoothness, weight=Fraction(1))
    bound = STATEMENTS[LABEL].fraction(**_numbers(case) | {"estimate_energy": 0})
    return 1 - (smoothness * case.start) ** 2 / bound


def _numbers(case: LinearCase) -> dict[str, Fraction | int]:
    return case.numbers | {"n": len(case.offsets), "averaging": case.weight}


def largest_step(root: Fraction, smoothness: Fraction, weight: Fraction) -> Fraction:
    """A step size with k ≤ 1 for this α."""
    left, lost = (1 - weight) ** 2, weight * (2 - weight)
    square = 4 * (1 + left) * (left + (root * weight / (1 - root)) ** 2) / lost**2
    return 1 / (smoothness * (1 + root_above(square)))


def momentum_cases() -> st.SearchStrategy[tuple[LinearCase | Fraction]]:
    """Linear runs, and looks at x_0 alone."""
    weights = [Fraction(1, 16), Fraction(1, 2), Fraction(1), Fraction(5, 4)]
    linear = linear_cases(largest_step, weights).map(lambda case: (case,))
    return st.one_of(linear, st.sampled_from([Fraction(1), Fraction(3)]).map(lambda size: (size,)))


def _margin(case: LinearCase | Fraction) -> Fraction:
    return momentum_margin(case) if isinstance(case, LinearCase) else exact_start_margin(case)


def momentum_shares(averages: Sequence[float]) -> list[float]:
    """Shares of the bound with Top-k, for every α, at nearly the largest step size."""
    shares = []
    for weight in averages:
        for count, _, noise, update_count in TOP_K_RUNS:
            root = Fraction(math.sqrt(1 - count / DIMENSION))
            step = 0.9 * float(largest_step(root, Fraction(1), Fraction(weight)))
            means, errors, start = top_k_energies(
                averaged_method(count, step, weight), count=count, noise=noise, update_count=update_count
            )
            numbers = start | {"step_size": step, "averaging": weight, "n": WORKER_COUNT}
            shares.append(share_of(LABEL, means, errors, numbers))
    return shares


def simulation_check(_profile: Profile) -> Outcome:
    """`simulated`: Top-k stays below the rate, and the run on which EF21 rests descends."""
    shares = momentum_shares([0.1, 1.0])
    energies = floor_energies(delta=0.28, step=0.01, averaging=0.05, update_count=3000, worker_count=4)
    floor = STATEMENTS["ef21_floor"].evaluate(delta=0.28, variance=1)
    return Outcome(
        earned=max(shares) <= 1 and min(energies) < floor / 100,
        detail={
            "runs_count": len(shares) + 1,
            "largest_share_of_bound_with_top_k": max(shares),
            "share_of_floor_left": min(energies) / floor,
        },
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    LABEL: {
        "smt": smt_check(momentum_queries),
        "property": property_check(momentum_cases, _margin),
        "simulated": simulation_check,
    },
}
"""Every check of this statement, by grade."""

_BEYOND: dict[str, object] = {
    "delta": 1, "step_size": Fraction(1, 10**6), "smoothness": 1, "mean_smoothness": 1, "gap": 0, "estimate_energy": 0,
    "T": 1, "n": 1, "variance": 1, "averaging": 1,
}  # fmt: skip
EDGES: dict[str, Sequence[Remark]] = {
    LABEL: (
        Unneeded("delta <= 1", "beyond it k is no real number, so that no step size is admitted"),
        Edge("averaging < 2", _BEYOND | {"averaging": Fraction(33, 16)}),
        Edge(
            str(STATEMENTS[LABEL].domain[2]),
            _BEYOND | {"step_size": Fraction(33, 32), "gap": Fraction(1, 2), "variance": 0},
            # |f'(x_0)|² at x_0 = 1 for f = x²/2, T = 1 and v = h = f'(x_0).
            lambda: 1,
        ),
    ),
}
"""Points just beyond the conditions."""
