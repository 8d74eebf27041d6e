"""What evidence is there for the rates of `theory/feedback/rates.py`, besides their derivations?

On f = Lx²/2 with C(u) = (1 − λ)u, |λ| ≤ a drawn at every step, error feedback is linear, so that E x², E xe and E e²
are followed exactly, in fractions. The run of `runs/adversarial_runs.py` nearly attains the rates with a bounded second
moment; simulations are in `runs/simulations.py`, queries in `queries.py`. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import sympy
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at, substituted
from sparsync.verify.feedback.queries import lyapunov_queries, rate_queries, root_rate_queries
from sparsync.verify.feedback.runs.adversarial_runs import SaturatedRun
from sparsync.verify.feedback.runs.near_limit import near_limit_check
from sparsync.verify.feedback.runs.simulations import simulation_check
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import smt_check

LARGEST_STEP_COUNT = 12
"""Longest run that a search draws."""
RESTING_COUNT = 100
"""Length of the runs that noise keeps from descending."""

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

    def smallest_energy(self) -> Fraction:
        """min_t E|f'(x_t)|²."""
        return min(self.gradient_energies())

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


Run = LinearRun | SaturatedRun
"""Either has `smallest_energy` and `parameters`."""


def rate_margin(run: Run, *, label: str, bounded: str) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact; 1 where the bound is zero and met."""
    smallest = run.smallest_energy()
    bound = bound_at(label, run.parameters(bounded=bounded))
    return 1 - smallest / bound if bound else 1 - smallest


def root_margin(run: Run) -> Fraction:
    """The same for `nonconvex_rate_minkowski`, irrational: the float read is within half a unit in the last place."""
    smallest = run.smallest_energy()
    bound = bound_at("nonconvex_rate_minkowski", run.parameters(bounded="second moment"))
    # A bound attained exactly could be rounded below the energy: allow for that one rounding.
    rounded_up = bound * (1 + Fraction(1, 2**52))
    return 1 - smallest / rounded_up if bound else 1 - smallest


def stationary_margin(root: Fraction, share: Fraction, smoothness: Fraction, second_moment: Fraction) -> Fraction:
    """−|L² E x² − bound| with the moments solved from `moments_after`, which knows the noise, not E g² = σ²."""
    statement = STATEMENTS["stationary_gradient"]
    step = share * 2 * (1 - root) / (smoothness * (1 + root))
    energy = statement.fraction(delta=1 - root**2, step_size=step, smoothness=smoothness, second_moment=second_moment)
    kept = 1 - substituted(statement.given("amplification"), {"delta": 1 - root**2})
    noise = substituted(statement.given("second_moment"), {"second_moment": second_moment}) - energy

    def after(moments: Moments) -> Moments:
        return moments_after(moments, kept=kept, step=step, smoothness=smoothness, noise=noise)

    shift = after((Fraction(0), Fraction(0), Fraction(0)))
    units = [tuple(Fraction(int(a == b)) for a in range(3)) for b in range(3)]
    columns = [[new - old for new, old in zip(after((u[0], u[1], u[2])), shift, strict=True)] for u in units]
    system = sympy.Matrix(3, 3, lambda row, column: sympy.Rational(str(columns[column][row]))) - sympy.eye(3)
    at_rest = system.LUsolve(-sympy.Matrix([sympy.Rational(str(value)) for value in shift]))
    found = Fraction(int(at_rest[0].p), int(at_rest[0].q)) * smoothness**2
    return -abs(found - energy) if noise >= 0 else Fraction(-1)


HALF_RUN_COUNT = 600
"""Updates of the run that refutes ηLσ²/2 for the middle term."""
HALVING_COUNT = 50
"""Updates in which the run halves its distance from the value at rest, and more."""


def half_constant_run(update_count: int) -> tuple[list[Fraction], Fraction]:
    """E|f'(x_t)|² for t < T in an exact run, and 2(f(x_0) − f*)/(ηT) + ηLσ²/2 + 4(1 − δ)η²L²σ²/δ² there.

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
    half = start**2 / (step * update_count) + step / 2 + 4 * root**2 * step**2 / (1 - root**2) ** 2
    return energies, half


def half_constant_check(_profile: Profile) -> Outcome:
    """`rational`: a run from e_0 = 0 comes to the value stated, and so stays above the rate with half the middle term.

    A sequence that halves its distance from a value again and again can have no other limit.
    """
    energies, half = half_constant_run(HALF_RUN_COUNT)
    numbers = {"delta": 1 - Fraction(1, 256), "step_size": Fraction(1, 4), "smoothness": 1, "second_moment": 1}
    value = STATEMENTS["stationary_gradient"].fraction(**numbers)
    distances = [abs(energy - value) for energy in energies[::HALVING_COUNT]]
    approaches = all(2 * later <= earlier for earlier, later in pairwise(distances))
    proved = STATEMENTS["nonconvex_rate"].fraction(**numbers, gap=Fraction(9, 128), T=HALF_RUN_COUNT)
    return Outcome(
        earned=approaches and half < min(energies) <= proved,
        detail={
            "updates_count": HALF_RUN_COUNT,
            "smallest_energy": float(min(energies)),
            "last_distance": float(distances[-1]),
            "half_constant_bound": float(half),
            "proved_bound": float(proved),
        },
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


def resting_runs() -> st.SearchStrategy[tuple[LinearRun]]:
    """C(u) = (1 + a)u with noise 1; for a = 0, where η = 2/5 and L = 1, E|f'(x_t)|² = 1/4 does not change."""
    return st.sampled_from([Fraction(0), Fraction(1, 32), Fraction(1, 4)]).map(
        lambda root: (
            LinearRun(
                root=root,
                step=Fraction(2, 5),
                smoothness=Fraction(1),
                start=Fraction(1, 2),
                actions=[(Fraction(-1), Fraction(1))] * RESTING_COUNT,
            ),
        )
    )


def saturated_runs() -> st.SearchStrategy[tuple[SaturatedRun]]:
    """Short and long runs for weak and strong compressors."""
    roots = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(7, 8), Fraction(255, 256)])
    sizes = st.sampled_from([Fraction(1), Fraction(3)])
    return st.builds(SaturatedRun, roots, sizes, sizes, st.sampled_from([1, 1000, 10**6])).map(lambda run: (run,))


def _second_moment_runs() -> st.SearchStrategy[Any]:
    return st.one_of(linear_runs(), saturated_runs())


def _variance_runs() -> st.SearchStrategy[Any]:
    return st.one_of(linear_runs(), resting_runs())


def _rest_cases() -> st.SearchStrategy[Any]:
    return st.tuples(_ROOTS, st.integers(1, 15).map(lambda numerator: Fraction(numerator, 16)), _SIZES, _SIZES)


_STEP_LIMIT = "smoothness*step_size*(sqrt(1 - delta) + 1)/(2 - 2*sqrt(1 - delta)) < 1"
_BEYOND_ONE: dict[str, Fraction | int] = {"T": 8, "delta": Fraction(33, 32), "gap": 1, "smoothness": 4, "step_size": 10}

EDGES: dict[str, tuple[Remark, ...]] = {
    "nonconvex_rate": (Edge("delta <= 1", {**_BEYOND_ONE, "second_moment": 4}),),
    "nonconvex_rate_minkowski": (Edge("delta <= 1", {**_BEYOND_ONE, "second_moment": 4}),),
    "stationary_gradient": (
        Unneeded("delta <= 1", "beyond it the condition on the step size has no meaning"),
        Edge(
            _STEP_LIMIT,
            {"delta": 1, "second_moment": 2, "smoothness": 2, "step_size": Fraction(33, 32)},
            # The square of a mean, E|f'(x)|², is at most E g².
            left=lambda: Fraction(2),
        ),
    ),
    "descent_without_bounded_gradients": (
        Unneeded("delta <= 1", "beyond it the condition on the step size has no meaning"),
        Edge(
            _STEP_LIMIT,
            {"T": 1, "delta": 1, "gap": 1, "smoothness": 2, "step_size": Fraction(33, 32), "variance": 0},
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "nonconvex_rate": {
        "smt": smt_check(rate_queries),
        "property": property_check(
            _second_moment_runs, partial(rate_margin, label="nonconvex_rate", bounded="second moment")
        ),
        "simulated": partial(simulation_check, label="nonconvex_rate", worker_count=2),
    },
    "nonconvex_rate_minkowski": {
        "smt": smt_check(root_rate_queries),
        "property": property_check(_second_moment_runs, root_margin),
        "simulated": partial(simulation_check, label="nonconvex_rate_minkowski", worker_count=2),
    },
    "stationary_gradient": {
        "rational": half_constant_check,
        "numeric": at_rest_check,
        "property": property_check(_rest_cases, stationary_margin),
    },
    "descent_without_bounded_gradients": {
        "smt": smt_check(lyapunov_queries),
        "numeric": partial(near_limit_check, label="descent_without_bounded_gradients"),
        "property": property_check(
            _variance_runs, partial(rate_margin, label="descent_without_bounded_gradients", bounded="variance")
        ),
        "simulated": partial(simulation_check, label="descent_without_bounded_gradients", worker_count=1),
    },
}
"""Every check of these statements, by label and grade."""
