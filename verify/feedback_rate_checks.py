"""What evidence is there for the rates of `theory/feedback_rates.py`, besides their derivations?

On f = Lx²/2 with C(u) = (1 − λ)u, |λ| ≤ a drawn at every step, error feedback is linear, so that E x², E xe and E e²
are followed exactly, in fractions. A simulation runs Top-k on a function that is not convex. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import property_check
from sparsync.verify.smt import Query, smt_check

LARGEST_STEP_COUNT = 12
"""Longest run that a search draws."""
LARGEST_SLOPE = 3 * math.sqrt(3) / 8
"""max |d/dx x²/(1 + x²)|, at x = 1/√3."""

Moments = tuple[Fraction, Fraction, Fraction]
"""E x², E xe, E e²."""


def moments_after(
    moments: Moments, *, kept: Fraction, step: Fraction, smoothness: Fraction, noise: Fraction
) -> Moments:
    """The moments after x⁺ = x − (1 − λ)u, e⁺ = λu, u = e + η(Lx + noise).

    Args:
        moments: before.
        kept: λ.
        step: η.
        smoothness: L.
        noise: variance of the noise.
    """
    xx, xe, ee = moments
    push = step * smoothness
    xu = xe + push * xx
    uu = ee + 2 * push * xe + push**2 * xx + step**2 * noise
    sent = 1 - kept
    return xx - 2 * sent * xu + sent**2 * uu, kept * xu - sent * kept * uu, kept**2 * uu


@dataclass(frozen=True)
class LinearRun:
    """A run on f = Lx²/2.

    Args:
        root: a = √(1 − δ).
        step: η.
        smoothness: L.
        start: x_0.
        actions: at every step λ/a in [−1, 1] and the variance of the noise.
    """

    root: Fraction
    step: Fraction
    smoothness: Fraction
    start: Fraction
    actions: Sequence[tuple[Fraction, Fraction]]

    def gradient_energies(self) -> list[Fraction]:
        """E|f'(x_t)|² for t = 0, …, T − 1."""
        moments: Moments = (self.start**2, Fraction(0), Fraction(0))
        energies = []
        for share, noise in self.actions:
            energies.append(self.smoothness**2 * moments[0])
            moments = moments_after(
                moments, kept=self.root * share, step=self.step, smoothness=self.smoothness, noise=noise
            )
        return energies

    def parameters(self, *, bounded: str) -> dict[str, Fraction | int]:
        """The numbers of the statement; σ² or σ₀² is what this run needs."""
        noises = [noise for _, noise in self.actions]
        values: dict[str, Fraction | int] = {
            "delta": 1 - self.root**2,
            "step_size": self.step,
            "smoothness": self.smoothness,
            "gap": self.smoothness * self.start**2 / 2,
            "T": len(self.actions),
        }
        if bounded == "variance":
            return values | {"variance": max(noises)}
        energies = self.gradient_energies()
        return values | {"second_moment": max(map(sum, zip(energies, noises, strict=True)))}


def rate_margin(run: LinearRun, *, label: str, bounded: str) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact; 1 where the bound is zero and met."""
    smallest = min(run.gradient_energies())
    bound = STATEMENTS[label].fraction(**run.parameters(bounded=bounded))
    return 1 - smallest / bound if bound else 1 - smallest


def root_margin(run: LinearRun) -> Fraction:
    """The same for `nonconvex_rate_minkowski`, irrational: the float read is within half a unit in the last place."""
    smallest = min(run.gradient_energies())
    bound = Fraction(STATEMENTS["nonconvex_rate_minkowski"].evaluate(**run.parameters(bounded="second moment")))
    # A bound attained exactly could be rounded below the energy: allow for that one rounding.
    rounded_up = bound * (1 + Fraction(1, 2**52))
    return 1 - smallest / rounded_up if bound else 1 - smallest


def stationary_margin(root: Fraction, share: Fraction, smoothness: Fraction, second_moment: Fraction) -> Fraction:
    """−|L² E x² − bound| with the moments solved from `moments_after`, which knows the noise, not E g² = σ²."""
    step = share * 2 * (1 - root) / (smoothness * (1 + root))
    energy = STATEMENTS["stationary_gradient"].fraction(
        delta=1 - root**2, step_size=step, smoothness=smoothness, second_moment=second_moment
    )
    noise = second_moment - energy

    def after(moments: Moments) -> Moments:
        return moments_after(moments, kept=-root, step=step, smoothness=smoothness, noise=noise)

    shift = after((Fraction(0), Fraction(0), Fraction(0)))
    units = [tuple(Fraction(int(a == b)) for a in range(3)) for b in range(3)]
    columns = [[new - old for new, old in zip(after((u[0], u[1], u[2])), shift, strict=True)] for u in units]
    system = sympy.Matrix(3, 3, lambda row, column: sympy.Rational(str(columns[column][row]))) - sympy.eye(3)
    at_rest = system.LUsolve(-sympy.Matrix([sympy.Rational(str(value)) for value in shift]))
    found = Fraction(int(at_rest[0].p), int(at_rest[0].q)) * smoothness**2
    return -abs(found - energy) if noise >= 0 else Fraction(-1)


HALF_RUN_COUNT = 600
"""Updates of the run that refutes ηLσ²/2 for the middle term."""


def half_constant_run(update_count: int) -> tuple[Fraction, Fraction]:
    """min_t E|f'(x_t)|² of an exact run, and 2(f(x_0) − f*)/(ηT) + ηLσ²/2 + 4(1 − δ)η²L²σ²/δ² there.

    L = σ² = 1, x_0 = 3/8, e_0 = 0, C(u) = (1 + a)u with a = 1/16, η = 1/4, noise of variance 1 − E|f'(x_t)|².
    """
    root, step, start = Fraction(1, 16), Fraction(1, 4), Fraction(3, 8)
    moments: Moments = (start**2, Fraction(0), Fraction(0))
    energies = []
    for _ in range(update_count):
        energies.append(moments[0])
        noise = 1 - moments[0]
        if noise < 0:
            raise ValueError(f"the second moment exceeds 1: E|f'|² = {float(moments[0])}")
        moments = moments_after(moments, kept=-root, step=step, smoothness=Fraction(1), noise=noise)
    printed = start**2 / (step * update_count) + step / 2 + 4 * root**2 * step**2 / (1 - root**2) ** 2
    return min(energies), printed


def half_constant_check(_profile: Profile) -> Outcome:
    """`rational`: an exact run from e_0 = 0 lies above the rate with half the middle term, and below ours."""
    smallest, half = half_constant_run(HALF_RUN_COUNT)
    proved = STATEMENTS["nonconvex_rate"].fraction(
        delta=1 - Fraction(1, 256),
        step_size=Fraction(1, 4),
        smoothness=1,
        second_moment=1,
        gap=Fraction(9, 128),
        T=HALF_RUN_COUNT,
    )
    return Outcome(
        earned=half < smallest <= proved,
        detail={
            "updates_count": HALF_RUN_COUNT,
            "smallest_energy": float(smallest),
            "half_constant_bound": float(half),
            "proved_bound": float(proved),
        },
    )


def top_k_rows(vectors: NDArray[numpy.float64], count: int) -> NDArray[numpy.float64]:
    """Top-k of every row of the last axis."""
    order = numpy.argsort(-numpy.abs(vectors), axis=-1)[..., :count]
    sent = numpy.zeros_like(vectors)
    numpy.put_along_axis(sent, order, numpy.take_along_axis(vectors, order, axis=-1), axis=-1)
    return sent


def simulated_energies(
    *, worker_count: int, dimension: int, count: int, step: float, noise: float, update_count: int, repeat_count: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]:
    """Top-k with error feedback on f = Σ w_i x_i²/(1 + x_i²), 2 max w_i = 1, with signs times `noise` as noise.

    Returns:
        The means [T] of ‖∇f(x_t)‖² over the repeats, their standard errors [T], and f(x_0).
    """
    generator = numpy.random.default_rng(20)
    weights = numpy.linspace(0.1, 0.5, dimension)
    x = numpy.tile(numpy.linspace(0.4, 1.5, dimension), (repeat_count, 1))
    start = float(numpy.sum(weights * x[0] ** 2 / (1 + x[0] ** 2)))
    residuals = numpy.zeros((worker_count, repeat_count, dimension))
    energies = numpy.empty((update_count, repeat_count))
    for update in range(update_count):
        gradient = weights * 2 * x / (1 + x**2) ** 2
        energies[update] = numpy.sum(gradient**2, axis=1)
        signs = generator.choice([-1.0, 1.0], size=residuals.shape)
        corrected = residuals + step * (gradient + noise * signs)
        sent = top_k_rows(corrected, count)
        residuals = corrected - sent
        x = x - sent.mean(axis=0)
    return energies.mean(axis=1), energies.std(axis=1, ddof=1) / math.sqrt(repeat_count), start


def simulation_check(_profile: Profile, *, label: str, worker_count: int) -> Outcome:
    """`simulated`: min_t of the mean ‖∇f(x_t)‖², raised by five standard errors, is below the bound; δ = k/d."""
    dimension, repeat_count, quotients = 20, 50, []
    for count, step, noise, update_count in ((2, 0.05, 0.1, 500), (5, 0.1, 0.3, 300), (20, 0.2, 0.0, 300)):
        means, errors, start = simulated_energies(
            worker_count=worker_count, dimension=dimension, count=count, step=step, noise=noise,
            update_count=update_count, repeat_count=repeat_count,
        )  # fmt: skip
        noise_energy = dimension * noise**2
        slopes = float(numpy.sum((numpy.linspace(0.1, 0.5, dimension) * LARGEST_SLOPE) ** 2))
        bounded = {"variance": noise_energy} if worker_count == 1 else {"second_moment": slopes + noise_energy}
        bound = STATEMENTS[label].evaluate(
            delta=count / dimension, step_size=step, smoothness=1, gap=start, T=update_count, **bounded
        )
        quotients.append(float(numpy.min(means + 5 * errors)) / bound)
    return Outcome(
        earned=max(quotients) <= 1,
        detail={"runs_count": len(quotients) * repeat_count, "largest_share_of_bound": max(quotients)},
    )


def at_rest_check(_profile: Profile) -> Outcome:
    """`numeric`: from x_0 = 1/2, e_0 = 0 the moments, iterated in floats, come to rest at the value stated.

    Tolerance: some 16 roundings of 2⁻⁵³ at every step, damped at the rate 2ηL ≥ 1/20, are 4e-14; 4000 steps leave
    nothing of the start.
    """
    errors = []
    for root in (0.0, 0.125, 0.25, 0.5, 0.75):
        for share in (0.1, 0.4):
            step = share * 2 * (1 - root) / (1 + root)
            xx, xe, ee = 0.25, 0.0, 0.0
            for _ in range(4000):
                xu, uu = xe + step * xx, ee + 2 * step * xe + step**2
                xx, xe, ee = (
                    xx - 2 * (1 + root) * xu + (1 + root) ** 2 * uu,
                    (1 + root) * root * uu - root * xu,
                    root**2 * uu,
                )
            value = STATEMENTS["stationary_gradient"].evaluate(
                delta=1 - root**2, step_size=step, smoothness=1, second_moment=1
            )
            errors.append(abs(xx / value - 1) / 4e-14)
    return Outcome(
        earned=max(errors) <= 1,
        detail={"recursions_count": len(errors), "largest_error_over_tolerance": max(errors)},
    )


_SHARES = st.sampled_from([Fraction(-1), Fraction(1), Fraction(0), Fraction(1, 2)])
_NOISES = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 4)])
_ROOTS = st.integers(0, 7).map(lambda numerator: Fraction(numerator, 8))
_SIZES = st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(3)])


def linear_runs() -> st.SearchStrategy[tuple[LinearRun]]:
    """Runs with a step size below the limit 2(1 − a)/(L(1 + a))."""
    actions = st.one_of(
        st.lists(st.tuples(_SHARES, _NOISES), min_size=1, max_size=LARGEST_STEP_COUNT),
        st.tuples(_SHARES, _NOISES, st.integers(1, LARGEST_STEP_COUNT)).map(lambda drawn: [drawn[:2]] * drawn[2]),
    )
    shares = st.integers(1, 15).map(lambda numerator: Fraction(numerator, 16))

    def run(drawn: Any) -> tuple[LinearRun]:
        root, share, smoothness, start, chosen = drawn
        step = share * 2 * (1 - root) / (smoothness * (1 + root))
        return (LinearRun(root=root, step=step, smoothness=smoothness, start=start, actions=chosen),)

    return st.tuples(_ROOTS, shares, _SIZES, _SIZES, actions).map(run)


def _rest_cases() -> st.SearchStrategy[Any]:
    return st.tuples(_ROOTS, st.integers(1, 15).map(lambda numerator: Fraction(numerator, 16)), _SIZES, _SIZES)


_a, _G, _D, _p, _q, _h, _m, _b, _A = sympy.symbols("a G D p q h m b A", real=True)
HALF_QUERY = Query(
    claim="−(G + D)G ≤ −G²/2 + D²/2",
    premises=(),
    conclusion=-(_G + _D) * _G <= (-(_G**2) + _D**2) / 2,
    false_twin=-(_G + _D) * _G <= (-(_G**2) + _D**2 / 2) / 2,
)
ROOT_QUERIES = (
    Query(
        claim="M ≤ A + √B√M gives M ≤ 2A + B",
        premises=(_m >= 0, _b >= 0, _A >= 0, _m**2 <= _A + _b * _m),
        conclusion=_m**2 <= 2 * _A + _b**2,
        false_twin=_m**2 <= _A + _b**2,
    ),
    Query(
        claim="M ≤ A + √B√M gives 2√M ≤ √B + s with s² = B + 4A",
        premises=(_m >= 0, _b >= 0, _A >= 0, _q >= 0, sympy.Eq(_q**2, _b**2 + 4 * _A), _m**2 <= _A + _b * _m),
        conclusion=2 * _m <= _b + _q,
        false_twin=2 * _m <= _q,
    ),
)
_CHANGE = (
    2 * _a * (1 - _a) * (-_h * _q**2 + _h * _p * _q + _h**2 * _q**2 / 2)
    + (1 - _a) * (_a**2 * (_p + _h * _q) ** 2 - _p**2)
    + 2 * _a * (1 - _a) * _h * _q**2
    - _a * (1 + _a) * _h**2 * _q**2
)
"""2a(1 − a) times the change of Φ plus η(1 − ηL(1 + a)/(2(1 − a)))q², for L = 1 and h = η."""
LYAPUNOV_QUERY = Query(
    claim="the Lyapunov function falls by η(1 − ηL(1 + a)/(2(1 − a)))q² at least",
    premises=(_a > 0, _a < 1, _h > 0, _p >= 0, _q >= 0),
    conclusion=_CHANGE <= 0,
    false_twin=_CHANGE + _a * (1 - _a) * _h**2 * _q**2 / 2 <= 0,
)

CHECKS: dict[str, dict[Grade, Check]] = {
    "nonconvex_rate": {
        "smt": smt_check(HALF_QUERY),
        "property": property_check(linear_runs, partial(rate_margin, label="nonconvex_rate", bounded="second moment")),
        "simulated": partial(simulation_check, label="nonconvex_rate", worker_count=2),
    },
    "nonconvex_rate_minkowski": {
        "smt": smt_check(*ROOT_QUERIES),
        "property": property_check(linear_runs, root_margin),
        "simulated": partial(simulation_check, label="nonconvex_rate_minkowski", worker_count=2),
    },
    "stationary_gradient": {
        "rational": half_constant_check,
        "numeric": at_rest_check,
        "property": property_check(_rest_cases, stationary_margin),
    },
    "descent_without_bounded_gradients": {
        "smt": smt_check(LYAPUNOV_QUERY),
        "property": property_check(
            linear_runs, partial(rate_margin, label="descent_without_bounded_gradients", bounded="variance")
        ),
        "simulated": partial(simulation_check, label="descent_without_bounded_gradients", worker_count=1),
    },
}
"""Every check of these statements, by label and grade."""
