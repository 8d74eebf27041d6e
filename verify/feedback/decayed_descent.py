"""What evidence is there for `theory/feedback/decayed_descent.py`, n workers with a decaying memory, but its derivation?

On f_i = Lx²/2 + b_i x, Σ b_i = 0, with C_i(u) = (1 − λ_i)u and every λ_i in [−a, a] drawn at every step, the update of
(1, x, e_1, …, e_n) is linear, so that its second moments are followed exactly, in fractions. `Resting` runs attain the
floor for β = 0, and come near to it before for β > 0 (`decay_floors.py`). Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    dissimilarity,
    eta,
    gap,
    memory_weight,
    n,
    residual_decay,
    variance,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.decayed_runs import ONE, ZERO, Numbers, Resting, contraction, scale
from sparsync.verify.feedback.queries import _plain, bound_sides
from sparsync.verify.feedback.simulations import DIMENSION, STANDARD_ERRORS, share_of_bound, top_k_rows
from sparsync.verify.feedback.worker_rates import Matrix, _outer, _sum, _transformed
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

LABEL = "decayed_descent_of_workers"
LARGEST_STEP_COUNT, LARGEST_WORKER_COUNT = 5, 3
"""Longest run that a search draws, and its largest n."""
SIMULATED_RUNS = ((2, 0.5, 0.01, 300), (5, 0.9, 0.05, 300), (20, 0.0, 0.2, 200), (5, 1.0, 0.05, 300))
"""k, β, η and the number of updates."""
SIMULATED_NOISE, SIMULATED_SPREAD, REPEAT_COUNT, WEIGHT = 0.1, 0.1, 30, 0.25
"""Of every coordinate of a gradient: its random sign's size, and how far workers differ; and w."""


@dataclass(frozen=True)
class DecayedRun:
    """A run of n workers with a memory that decays.

    Args:
        root: a = √(1 − δ).
        decay: β.
        step: η.
        smoothness: L.
        start: x_0.
        offsets: b_1, …, b_n, of sum zero.
        actions: at every step λ_i/a in [−1, 1] for every worker, and the variance of every worker's noise.
    """

    root: Fraction
    decay: Fraction
    step: Fraction
    smoothness: Fraction
    start: Fraction
    offsets: Sequence[Fraction]
    actions: Sequence[tuple[Sequence[Fraction], Fraction]]

    def smallest_energy(self) -> Fraction:
        """min_t E|f'(x_t)|²."""
        state = [ONE, self.start, *(ZERO for _ in self.offsets)]
        moments = [[one * other for other in state] for one in state]
        energies = []
        for shares, noise in self.actions:
            energies.append(self.smoothness**2 * moments[1][1])
            update, pushes = self._update([self.root * share for share in shares])
            moments = _sum(_transformed(update, moments), [_outer(push, noise) for push in pushes])
        return min(energies)

    def _update(self, kept: Sequence[Fraction]) -> tuple[Matrix, Matrix]:
        """The matrix of the update, and for every worker the direction in which its noise moves the state."""
        count = len(self.offsets)
        still, one = ([Fraction(int(place == at)) for place in range(count + 2)] for at in (1, 0))
        corrected = []
        for worker, offset in enumerate(self.offsets):
            memory = [self.decay * int(worker == other) for other in range(count)]
            corrected.append([self.step * offset, self.step * self.smoothness, *memory])
        sent = [[(1 - share) * value / count for value in row] for share, row in zip(kept, corrected, strict=True)]
        moved = [value - sum(column) for value, column in zip(still, zip(*sent, strict=True), strict=True)]
        residuals = [[share * value for value in row] for share, row in zip(kept, corrected, strict=True)]
        pushes = [
            [ZERO, -(1 - share) * self.step / count, *(share * self.step * int(at == worker) for at in range(count))]
            for worker, share in enumerate(kept)
        ]
        return [one, moved, *residuals], pushes

    def numbers(self) -> Numbers:
        """What the statement is made with, but for the weight."""
        return {
            "residual_decay": self.decay,
            "step_size": self.step,
            "gap": self.smoothness * self.start**2 / 2,
            "T": len(self.actions),
            "n": len(self.offsets),
            **_classes(
                root=self.root,
                smoothness=self.smoothness,
                noise=max(noise for _, noise in self.actions),
                spread=sum((offset**2 for offset in self.offsets), ZERO) / len(self.offsets),
            ),
        }


def _classes(*, root: Fraction, smoothness: Fraction, noise: Fraction, spread: Fraction) -> Numbers:
    """δ, L, σ₀² and ζ² as the assumptions of the statement read."""
    return {
        "delta": contraction(LABEL, root),
        "smoothness": smoothness / scale(LABEL, "lipschitz"),
        "variance": noise / scale(LABEL, "noise"),
        "dissimilarity": spread / scale(LABEL, "spread"),
    }


def margin(run: DecayedRun | Resting, weight: Fraction) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact; 1 where the statement is not made of this run."""
    if isinstance(run, Resting):
        smallest = run.smallest_energy
        numbers: Numbers = {
            "residual_decay": run.decay, "step_size": run.step, "gap": run.gap, "T": run.update_count, "n": 2,
            **_classes(root=run.root, smoothness=run.smoothness, noise=ZERO, spread=run.dissimilarity),
        }  # fmt: skip
    else:
        smallest, numbers = run.smallest_energy(), run.numbers()
    if not STATEMENTS[LABEL].admits(**numbers, memory_weight=weight):
        return ONE
    bound = STATEMENTS[LABEL].fraction(**numbers, memory_weight=weight)
    return 1 - smallest / bound if bound else ONE - smallest


def queries() -> tuple[Query, ...]:
    """q² ≤ bound from the Lyapunov function, summed; r is the deviations' residual, p that of the mean, over η.

    t = δ, h = ηL, A the start; s = ⟨∇f(x), ē⟩/η is at most pq. The means over t are those of constants.
    """
    start, step = sympy.symbols("A h", positive=True)
    kept = sympy.Symbol("t", positive=True)
    spread = sympy.Symbol("z", nonnegative=True)
    values = {delta: kept, eta: step / L, gap: start * step * T / L, dissimilarity: spread**2}
    numerator, denominator = bound_sides(LABEL, values)
    t, h, whole, z, b, w, v, count = (
        _plain(part) for part in (kept, step, start, spread, residual_decay, memory_weight, variance, n)
    )
    p, q, r, x = sympy.symbols("p q r x", real=True)
    lost = 1 - b
    change = -(q**2) + h * p * q + lost * (x + h * p**2) + h / 2 * (q**2 - 2 * lost * x + lost**2 * p**2)
    change += w * ((1 - t) * (b**2 * p**2 + 2 * b * x + q**2 + (b * r + z) ** 2 + v) - p**2 - r**2)
    product, square = b * h + lost + 2 * w * (1 - t) * b, w * (1 - b**2 * (1 - t)) - lost * (3 - b) * h / 2
    share = 4 * square * (h / 2 + w * (1 - t)) + product**2
    domain = (t > 0, t <= 1, b >= 0, b <= 1, h > 0, w > 0, count >= 1, square > 0, share < 4 * square)
    signs = (whole >= 0, v >= 0, z >= 0, p >= 0, q >= 0, r >= 0, x <= p * q, lost * (1 - h) + 2 * w * (1 - t) * b >= 0)
    summed = -whole <= change + h * v / (2 * count)
    return (
        Query(
            claim="q² ≤ bound",
            premises=(*domain, *signs, summed),
            conclusion=sympy.Le(q**2 * denominator, numerator),
            false_twin=sympy.Le(2 * q**2 * denominator, numerator),
        ),
    )


def simulated_runs(_profile: Profile) -> Outcome:
    """`simulated`: Top-k of two workers that differ, with noise, on a function that is not convex; and a resting run."""
    shares = []
    for count, decay, step, update_count in SIMULATED_RUNS:
        means, errors, start = _energies(count=count, decay=decay, step=step, update_count=update_count)
        numbers = {
            "delta": count / DIMENSION, "residual_decay": decay, "step_size": step, "smoothness": 1, "n": 2,
            "T": update_count, "variance": DIMENSION * SIMULATED_NOISE**2, "memory_weight": WEIGHT,
            "dissimilarity": DIMENSION * SIMULATED_SPREAD**2,
        }  # fmt: skip
        if STATEMENTS[LABEL].admits(**numbers, gap=start):
            shares.append(share_of_bound(LABEL, (means, errors, start), numbers))
    extreme = 1 - float(margin(*_resting(Fraction(1, 2), ONE)))
    return Outcome(
        earned=len(shares) > 1 and max(*shares, extreme) <= 1,
        detail={
            "runs_count": len(shares) + 1,
            "largest_share_of_bound_with_top_k": max(shares),
            "share_of_resting_run": extreme,
            "allowed_standard_errors": STANDARD_ERRORS,
        },
    )


def _energies(*, count: int, decay: float, step: float, update_count: int) -> tuple[Any, Any, float]:
    generator = numpy.random.default_rng(40)
    weights = numpy.linspace(0.1, 0.5, DIMENSION)
    x = numpy.tile(numpy.linspace(0.4, 1.5, DIMENSION), (REPEAT_COUNT, 1))
    start = float(numpy.sum(weights * x[0] ** 2 / (1 + x[0] ** 2)))
    residuals = numpy.zeros((2, REPEAT_COUNT, DIMENSION))
    offsets = SIMULATED_SPREAD * numpy.array([1.0, -1.0])[:, None, None]
    energies = numpy.empty((update_count, REPEAT_COUNT))
    for update in range(update_count):
        gradient = weights * 2 * x / (1 + x**2) ** 2
        energies[update] = numpy.sum(gradient**2, axis=1)
        signs = generator.choice([-1.0, 1.0], size=residuals.shape)
        corrected = decay * residuals + step * (gradient + offsets + SIMULATED_NOISE * signs)
        sent = top_k_rows(corrected, count)
        residuals = corrected - sent
        x = x - sent.mean(axis=0)
    return energies.mean(axis=1), energies.std(axis=1, ddof=1) / math.sqrt(REPEAT_COUNT), start


_SIZES = (Fraction(1, 4), ONE, Fraction(3))
_SHARES = st.sampled_from([-ONE, ONE, ZERO, Fraction(1, 2)])
_NOISES = st.sampled_from([ZERO, ONE, Fraction(1, 4)])


def cases() -> st.SearchStrategy[Any]:
    """One to three workers, alike or not; a resting run; noise without compression, which stays where it is."""
    resting = st.tuples(st.sampled_from([Fraction(1, 2), Fraction(7, 8)]), st.sampled_from(_SIZES))
    return st.one_of(
        st.integers(1, LARGEST_WORKER_COUNT).flatmap(_cases_of),
        resting.map(lambda pair: _resting(*pair)),
        st.sampled_from([1, 2]).map(_noisy),
    )


def _cases_of(count: int) -> st.SearchStrategy[Any]:
    actions = st.tuples(st.lists(_SHARES, min_size=count, max_size=count), _NOISES)
    drawn = st.tuples(
        st.integers(0, 7).map(lambda numerator: Fraction(numerator, 8)),
        st.integers(0, 8).map(lambda numerator: Fraction(numerator, 8)),
        st.integers(1, 16).map(lambda numerator: Fraction(numerator, 64)),
        st.sampled_from(_SIZES),
        st.sampled_from(_SIZES),
        st.sampled_from([Fraction(1, 16), Fraction(1, 4), Fraction(1, 2), ONE]),
        st.lists(st.integers(-2, 2), min_size=count - 1, max_size=count - 1),
        st.lists(actions, min_size=1, max_size=LARGEST_STEP_COUNT),
    )
    return drawn.map(_case)


def _case(drawn: Any) -> tuple[DecayedRun, Fraction]:
    root, decay, product, smoothness, start, weight, offsets, actions = drawn
    run = DecayedRun(
        root=root,
        decay=decay,
        step=product / smoothness,
        smoothness=smoothness,
        start=start,
        offsets=[*map(Fraction, offsets), -Fraction(sum(offsets))],
        actions=actions,
    )
    return run, weight


def _resting(root: Fraction, slope: Fraction) -> tuple[Resting, Fraction]:
    """With the weight that is best for β = 0 and small steps, 1/2."""
    run = Resting(root=root, slope=slope, step=Fraction(1, 10**5), smoothness=ONE, update_count=10**9)
    return run, Fraction(1, 2)


def _noisy(count: int) -> tuple[DecayedRun, Fraction]:
    """C(u) = u, η = 1/10, L = 1 and noise 1: E x² = η/(n(2 − η)) does not change, here less by a little."""
    start = Fraction({1: 229, 2: 162}[count], 1000)
    actions = [([ZERO] * count, ONE)] * (400 * count)
    run = DecayedRun(ZERO, ONE, Fraction(1, 10), ONE, start, [ZERO] * count, actions)
    return run, Fraction(10)


CHECKS: dict[str, dict[Grade, Check]] = {
    LABEL: {
        "smt": smt_check(queries),
        "property": property_check(cases, margin),
        "simulated": simulated_runs,
    },
}
"""Every check of this statement, by grade."""
EDGES: dict[str, tuple[Remark, ...]] = {}
