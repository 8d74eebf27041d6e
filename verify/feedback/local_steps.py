"""What evidence is there for the rate of local steps of `theory/feedback/local_steps.py`, besides its derivation?

Runs of `runs/decayed_runs.py` in fractions; the saturated run of `runs/adversarial_runs.py`, which attains the rate for
β = 1 and one local step; a resting run, which attains it for β = 0; and simulations of Top-k with local steps, workers
that differ, and noise. Ours.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.language.symbols import L, T, delta, eta, gap, local_count, residual_decay, sigma_squared
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.queries import _plain, _quotient
from sparsync.verify.feedback.runs.adversarial_runs import SaturatedRun
from sparsync.verify.feedback.runs.decayed_runs import (
    ONE,
    ZERO,
    LocalRun,
    Resting,
    bound_above,
    contraction,
    parameters,
    scale,
)
from sparsync.verify.feedback.runs.simulations import DIMENSION, LARGEST_SLOPE, STANDARD_ERRORS, top_k_rows
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

RATE, BIAS = "local_feedback_rate", "local_gradient_bias"
LARGEST_ROUND_COUNT = 8
"""Longest run that a search draws."""
LARGEST_STEP_COUNT = 4
"""Largest H that a search draws."""
SIMULATED_RUNS = ((2, 0.5, 4, 0.1, 300), (5, 0.9, 2, 0.2, 300), (1, 0.0, 8, 0.05, 200), (20, 1.0, 4, 0.1, 200))
"""k, β, H, η and the number of rounds."""
SIMULATED_NOISE, SIMULATED_SPREAD, REPEAT_COUNT = 0.1, 0.2, 30
"""Of every coordinate of a gradient: the size of its random sign, and by how much workers differ in turn."""


def bias_margin(run: LocalRun) -> Fraction:
    """1 − (mean change/η − f'(x))²/bound at the start of a run; 1 where the bound is zero and met."""
    changes = [run.change(run.start, offset) for offset in run.offsets]
    mean = sum((change for change, _ in changes), ZERO) / len(changes)
    bias = (mean / run.step - run.smoothness * run.start) ** 2
    bound = bound_above(
        BIAS,
        step_size=run.step,
        local_count=run.local_count,
        smoothness=run.smoothness / scale(BIAS, "lipschitz"),
        second_moment=max(slope for _, slope in changes) / scale(BIAS, "second_moment"),
    )
    return 1 - bias / bound if bound else ONE - bias


def two_local_steps(_profile: Profile) -> Outcome:
    """`rational`: of two local steps on Lx²/2 the bias is the bound, exactly."""
    cases = [(Fraction(step, 8), Fraction(smoothness, 2)) for step in range(1, 8) for smoothness in (1, 2, 3)]
    equal = 0
    for step, smoothness in cases:
        change = _plain_run(step, smoothness).change(ONE, ZERO)[0]
        stated = STATEMENTS[BIAS].fraction(
            step_size=step, local_count=2, smoothness=smoothness, second_moment=smoothness**2
        )
        equal += (change / step - smoothness) ** 2 == stated
    return Outcome(earned=equal == len(cases), detail={"runs_count": len(cases), "equal_count": equal})


def _plain_run(step: Fraction, smoothness: Fraction) -> LocalRun:
    return LocalRun(ZERO, ZERO, step, 2, smoothness, ONE, [ZERO], [[ZERO]])


def rate_margin(run: LocalRun | Resting | SaturatedRun) -> Fraction:
    """1 − min_t |f'(x_t)|²/bound; 1 where the bound is zero and met."""
    if isinstance(run, SaturatedRun):
        smallest, numbers = run.smallest_energy(), _saturated(run)
    else:
        smallest, numbers = run.smallest_energy, parameters(RATE, run)
    bound = bound_above(RATE, **numbers)
    return 1 - smallest / bound if bound else ONE - smallest


def _saturated(run: SaturatedRun) -> dict[str, Fraction | int]:
    numbers = run.parameters(bounded="second moment")
    return {
        **numbers,
        "delta": contraction(RATE, run.root),
        "smoothness": run.smoothness / scale(RATE, "lipschitz"),
        "second_moment": numbers["second_moment"] / scale(RATE, "second_moment"),
        "residual_decay": 1,
        "local_count": 1,
    }


def rate_queries() -> tuple[Query, ...]:
    """m² ≤ bound, in three parts: the residual at its largest, the parabola's root, and that the bound is this root.

    t = ‖e‖/η is at most ρ, from which δ is found; `whole` is the start, h = ηL, j = (H − 1)/(2H) any number, and σ = 1.
    """
    rho, step, start, drift = sympy.symbols("rho h A j", positive=True)
    values = {
        delta: 1 - (rho / (1 + residual_decay * rho)) ** 2,
        eta: step / L,
        gap: start * step * T / L,
        sigma_squared: sympy.Integer(1),
        local_count: 1 / (1 - 2 * drift),
    }
    bound = sympy.simplify(STATEMENTS[RATE].bound.subs(values, simultaneous=True))
    roots = [power for power in bound.atoms(sympy.Pow) if power.exp == sympy.Rational(1, 2)]
    if len(roots) != 1:
        raise ValueError(f"{RATE}: expected one square root, got {roots}")
    outer = sympy.Symbol("y", positive=True)
    (radicand, positive), (numerator, denominator) = _quotient(roots[0].base), _quotient(bound.subs(roots[0], outer))
    r, h, whole, j, b, y = (_plain(part) for part in (rho, step, start, drift, residual_decay, outer))
    m, t, k, c = sympy.symbols("m t k c", real=True)
    domain = (r > 0, b >= 0, b <= 1, h > 0, whole >= 0, j >= 0, 2 * j < 1)
    largest = _costs(r, h=h, drift=j, decay=b, start=whole)
    some, most = (cost[1] + m * cost[0] for cost in (_costs(t, h=h, drift=j, decay=b, start=whole), largest))
    root = 4 * numerator - (largest[0] + y) ** 2 * denominator
    square = radicand - (largest[0] ** 2 + 4 * largest[1]) * positive
    return (
        Query("more residual costs more", (*domain, m >= 0, t >= 0, t <= r), some <= most, 2 * some <= most),
        Query(
            "m² ≤ km + c gives 4m² ≤ (k + y)², y² = k² + 4c",
            (k >= 0, c >= 0, m >= 0, y >= 0, m**2 <= k * m + c, sympy.Eq(y**2, k**2 + 4 * c)),
            4 * m**2 <= (k + y) ** 2,
            8 * m**2 <= (k + y) ** 2,
        ),
        Query("the bound is (k + y)²/4", (*domain, y >= 0), sympy.Eq(root, 0), sympy.Eq(root, 1)),
        Query("the square in it is k² + 4c", domain, sympy.Eq(square, 0), sympy.Eq(square, 1)),
    )


def _costs(
    kept: sympy.Expr, *, h: sympy.Expr, drift: sympy.Expr, decay: sympy.Expr, start: sympy.Expr
) -> tuple[sympy.Expr, sympy.Expr]:
    """What the descent lemma, summed, costs per m and besides, where ‖e‖ = η·kept."""
    lost, far = 1 - decay, h * decay * kept
    linear = far + h * drift + lost * kept
    return linear, start + far * h * drift + lost * far * kept + h / 2 * (1 + lost * kept) ** 2


def local_energies(
    *, count: int, decay: float, local: int, step: float, round_count: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]:
    """Mean ‖∇f(x_t)‖² and its standard error [T] of two workers with Top-k, and f(x_0) − f*.

    f = Σ w_i x_i²/(1 + x_i²) with 2 max w_i = 1, not convex; every gradient has noise and is above or below that of f.
    """
    generator = numpy.random.default_rng(39)
    weights = numpy.linspace(0.1, 0.5, DIMENSION)
    x = numpy.tile(numpy.linspace(0.4, 1.5, DIMENSION), (REPEAT_COUNT, 1))
    start = float(numpy.sum(weights * x[0] ** 2 / (1 + x[0] ** 2)))
    residuals = numpy.zeros((2, REPEAT_COUNT, DIMENSION))
    offsets = SIMULATED_SPREAD * numpy.array([1.0, -1.0])[:, None, None]
    energies = numpy.empty((round_count, REPEAT_COUNT))
    for turn in range(round_count):
        energies[turn] = numpy.sum((weights * 2 * x / (1 + x**2) ** 2) ** 2, axis=1)
        places = numpy.broadcast_to(x, residuals.shape).copy()
        for _ in range(local):
            signs = generator.choice([-1.0, 1.0], size=residuals.shape)
            slopes = weights * 2 * places / (1 + places**2) ** 2 + offsets + SIMULATED_NOISE * signs
            places -= step / local * slopes
        corrected = decay * residuals + (x - places)
        sent = top_k_rows(corrected, count)
        residuals = corrected - sent
        x = x - sent.mean(axis=0)
    return energies.mean(axis=1), energies.std(axis=1, ddof=1) / math.sqrt(REPEAT_COUNT), start


def simulated_runs(_profile: Profile) -> Outcome:
    """`simulated`: min_t of the mean ‖∇f(x_t)‖², raised by its standard errors, is below the bound in every run.

    And in the saturated and the resting run, where it is nearly the bound.
    """
    slopes = float(numpy.sum((numpy.linspace(0.1, 0.5, DIMENSION) * LARGEST_SLOPE + SIMULATED_SPREAD) ** 2))
    shares = []
    for count, decay, local, step, round_count in SIMULATED_RUNS:
        means, errors, start = local_energies(count=count, decay=decay, local=local, step=step, round_count=round_count)
        bound = STATEMENTS[RATE].evaluate(
            delta=count / DIMENSION, residual_decay=decay, local_count=local, step_size=step, smoothness=1,
            # Σ (slope + spread)² and, on average over its sign, the square of the noise.
            second_moment=slopes + DIMENSION * SIMULATED_NOISE**2, gap=start, T=round_count,
        )  # fmt: skip
        shares.append(float(numpy.min(means + STANDARD_ERRORS * errors)) / bound)
    extreme = [1 - float(rate_margin(run)) for run in (_saturated_run(), _resting_run())]
    return Outcome(
        earned=max(*shares, *extreme) <= 1,
        detail={
            "runs_count": len(shares) + len(extreme),
            "largest_share_of_bound_with_top_k": max(shares),
            "smallest_share_of_extreme_runs": min(extreme),
        },
    )


def _saturated_run() -> SaturatedRun:
    return SaturatedRun(root=Fraction(1, 2), step=ONE, slope=ONE, cycle_count=10**6)


def _resting_run(root: Fraction = Fraction(1, 2), slope: Fraction = ONE) -> Resting:
    return Resting(root=root, slope=slope, step=Fraction(1, 10**5), smoothness=ONE, update_count=10**9)


_SIZES = st.sampled_from([Fraction(1, 4), ONE, Fraction(3)])


def local_runs() -> st.SearchStrategy[LocalRun]:
    """One to three workers, one to four local steps, any decay, ηL up to 1."""
    return st.integers(1, 3).flatmap(_runs_of)


def _runs_of(count: int) -> st.SearchStrategy[LocalRun]:
    eighths = st.integers(0, 8).map(lambda numerator: Fraction(numerator, 8))
    shares = st.lists(st.sampled_from([-ONE, ONE, ZERO, Fraction(1, 2)]), min_size=count, max_size=count)
    drawn = st.tuples(
        st.integers(0, 7).map(lambda numerator: Fraction(numerator, 8)),
        eighths,
        st.integers(1, 16).map(lambda numerator: Fraction(numerator, 16)),
        st.integers(1, LARGEST_STEP_COUNT),
        _SIZES,
        _SIZES,
        st.lists(st.integers(-2, 2), min_size=count - 1, max_size=count - 1),
        st.lists(shares, min_size=1, max_size=LARGEST_ROUND_COUNT),
    )
    return drawn.map(_local_run)


def _local_run(drawn: Any) -> LocalRun:
    root, decay, product, local, smoothness, start, offsets, actions = drawn
    last = -Fraction(sum(offsets))
    return LocalRun(
        root, decay, product / smoothness, local, smoothness, start, [*map(Fraction, offsets), last], actions
    )


def _rate_cases() -> st.SearchStrategy[Any]:
    saturated = st.sampled_from([ZERO, Fraction(1, 2), Fraction(63, 64)]).map(
        lambda root: SaturatedRun(root=root, step=ONE, slope=ONE, cycle_count=10**6)
    )
    resting = st.tuples(st.sampled_from([Fraction(1, 2), Fraction(7, 8)]), _SIZES).map(lambda pair: _resting_run(*pair))
    return st.one_of(local_runs(), saturated, resting).map(lambda run: (run,))


def _bias_cases() -> st.SearchStrategy[Any]:
    two = st.tuples(st.integers(1, 8).map(lambda numerator: Fraction(numerator, 8)), _SIZES)
    return st.one_of(local_runs(), two.map(lambda pair: _plain_run(pair[0] / pair[1], pair[1]))).map(lambda run: (run,))


CHECKS: dict[str, dict[Grade, Check]] = {
    BIAS: {
        "rational": two_local_steps,
        "property": property_check(_bias_cases, bias_margin),
    },
    RATE: {
        "smt": smt_check(rate_queries),
        "property": property_check(_rate_cases, rate_margin),
        "simulated": simulated_runs,
    },
}
"""Every check of these statements, by label and grade."""

_NUMBERS = {"step_size": 1, "smoothness": 1, "second_moment": 1, "gap": 0, "T": 1, "local_count": 1}
EDGES: dict[str, tuple[Remark, ...]] = {
    RATE: (
        Edge("delta <= 1", _NUMBERS | {"delta": Fraction(33, 32), "residual_decay": 1}),
        Edge(
            "residual_decay <= 1",
            _NUMBERS | {"delta": 1 - Fraction(32, 33) ** 2, "residual_decay": Fraction(33, 32)},
        ),
    ),
}
"""Of every condition a point beyond it at which the statement is false, or why it is not needed."""
