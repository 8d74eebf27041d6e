"""What evidence is there for n workers with a decaying memory, `theory/feedback/decayed_descent.py`, but derivations?

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
    variance,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.queries import _plain, _quotient
from sparsync.verify.feedback.runs.decayed_runs import ONE, ZERO, Numbers, Resting, contraction, scale
from sparsync.verify.feedback.runs.simulations import DIMENSION, STANDARD_ERRORS, share_of_bound, top_k_rows
from sparsync.verify.feedback.worker_rates import Matrix, _outer, _sum, _transformed
from sparsync.verify.tools.edges import Edge, Remark
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
    """The parts of the Lyapunov function's change, and that the bound is what they leave.

    t = δ, h = ηL; p and r are the residual's mean and deviation over η, x = ⟨∇f(x), ē⟩/η, and A is the start.
    """
    t, h, b, w, p, q, r, x, z = sympy.symbols("t h residual_decay memory_weight p q r x z", real=True)
    lost, kept = 1 - b, w * (1 - t)
    change = -(q**2) + h * p * q + lost * (x + h * p**2) + h / 2 * (q**2 - 2 * lost * x + lost**2 * p**2)
    change += kept * (b**2 * p**2 + 2 * b * x + q**2) - w * p**2
    size, square = sympy.Symbol("size", real=True), w * (1 - b**2 * (1 - t)) - lost * (3 - b) * h / 2
    aligned = lost * (1 - h) + 2 * kept * b
    left = 4 * square * (1 - h / 2 - kept) - (h + size) ** 2
    room = 1 - b**2 * (1 - t)
    domain = (t > 0, t <= 1, b >= 0, b <= 1, h > 0, w > 0)
    deviation = ((1 - t) * (b * r + z) ** 2 - r**2) * room
    # y is what replacing bx by |b|pq adds, |b| is `size`, and m is 1 − h/2 − w(1 − t).
    c, d, m, y = sympy.symbols("c d m y", real=True)
    reduced = -m * q**2 + c * p * q - y - d * p**2
    written = {c: h + size, d: square, m: 1 - h / 2 - kept, y: size * p * q - aligned * x}
    difference = sympy.expand(change - reduced.xreplace(written))
    return (
        Query("the change in p, q and x", (), sympy.Eq(difference, 0), sympy.Eq(difference, 1)),
        Query(
            "the mean's part is at most −(1 − h)q²",
            (d > 0, y >= 0),
            4 * d * reduced <= -(4 * d * m - c**2) * q**2,
            4 * d * reduced <= -(4 * d * m - c**2) * q**2 - 1,
        ),
        Query(
            "the deviations' part",
            (*domain, r >= 0, z >= 0),
            deviation <= (1 - t) * z**2,
            2 * deviation <= (1 - t) * z**2,
        ),
        _identity(left, room, square),
    )


def _identity(left: sympy.Expr, room: sympy.Expr, square: sympy.Expr) -> Query:
    """The bound is (A + hv/(2n) + w(1 − t)(v + z²/(1 − b²(1 − t))))/(1 − h), times 4d·2n·room above and below."""
    start, step = sympy.symbols("A h", positive=True)
    values = {
        delta: sympy.Symbol("t", positive=True),
        eta: step / L,
        gap: start * step * T / L,
        dissimilarity: sympy.Symbol("z", nonnegative=True) ** 2,
    }
    size = sympy.Symbol("size", positive=True)
    bound = STATEMENTS[LABEL].bound.subs(values, simultaneous=True).replace(sympy.Abs, lambda _part: size)
    numerator, denominator = _quotient(bound)
    t, z, whole, h, count, v, w = (
        _plain(part) for part in (values[delta], sympy.Symbol("z"), start, step, n, variance, memory_weight)
    )
    cost = room * (2 * count * whole + h * v) + 2 * count * w * (1 - t) * (room * v + z**2)
    difference = sympy.expand(numerator * 2 * count * room * left - 4 * square * cost * denominator)
    return Query("the bound is what is left", (), sympy.Eq(difference, 0), sympy.Eq(difference, 1))


def simulated_runs(_profile: Profile) -> Outcome:
    """`simulated`: Top-k of two workers that differ, with noise, on a function not convex; and a resting run."""
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
_POINT = {
    "delta": 1, "residual_decay": 0, "step_size": Fraction(1, 2), "smoothness": 1, "gap": 1, "T": 1, "n": 1,
    "variance": 0, "dissimilarity": 0, "memory_weight": 1,
}  # fmt: skip
_GROWING = Fraction(17, 16)
_SQUARE, _SHARE = (str(condition) for condition in STATEMENTS[LABEL].domain[2:])


def _first_energy() -> Fraction:
    """|f'(x_0)|² = 2L(f(x_0) − f*) of f = x²/2, for a run of one step."""
    return Fraction(2)


EDGES: dict[str, tuple[Remark, ...]] = {
    LABEL: (
        Edge(
            "delta <= 1",
            _POINT | {"delta": Fraction(33, 32), "gap": 0, "dissimilarity": 1, "step_size": Fraction(1, 8)},
        ),
        Edge(
            "residual_decay <= 1",
            _POINT | {
                "residual_decay": _GROWING, "delta": 1 - Fraction(101, 100) / _GROWING**2, "gap": 0,
                "dissimilarity": 1, "step_size": Fraction(1, 17), "memory_weight": Fraction(1, 32),
            },
        ),
        # Here d = −1/32, and h is below 0.
        Edge(_SQUARE, _POINT | {"memory_weight": Fraction(23, 32)}, _first_energy),
        # β = 1, δ = 1: h = ηL/2 + (ηL)²/(4w) is 33/32.
        Edge(_SHARE, _POINT | {"residual_decay": 1, "step_size": 1, "memory_weight": Fraction(8, 17)}),
    ),
}  # fmt: skip
"""Of every condition a point beyond it at which the statement is false."""
