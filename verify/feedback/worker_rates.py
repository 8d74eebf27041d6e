"""What evidence is there for the rate of n workers of `theory/feedback/worker_rates.py`, besides its derivation?

On f_i = Lx²/2 + b_i x, Σ b_i = 0, with C_i(u) = (1 − λ_i)u and every λ_i in [−a, a] drawn at every step, the update of
(1, x, e_1, …, e_n) is linear, so that its second moments are followed exactly, in fractions. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from hypothesis import strategies as st

from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.feedback.queries import worker_queries
from sparsync.verify.feedback.runs.near_limit import apart_check
from sparsync.verify.feedback.runs.simulations import simulation_check
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import smt_check

LARGEST_STEP_COUNT = 5
"""Longest run that a search draws."""
LARGEST_WORKER_COUNT = 3
"""Largest n that a search draws."""

Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class WorkerRun:
    """A run of n workers.

    Args:
        root: a = √(1 − δ).
        step: η.
        smoothness: L.
        start: x_0.
        offsets: b_1, …, b_n, of sum zero.
        actions: at every step λ_i/a in [−1, 1] for every worker, and the variance of every worker's noise.
    """

    root: Fraction
    step: Fraction
    smoothness: Fraction
    start: Fraction
    offsets: Sequence[Fraction]
    actions: Sequence[tuple[Sequence[Fraction], Fraction]]

    def gradient_energies(self) -> list[Fraction]:
        """E|f'(x_t)|² for t = 0, …, T − 1."""
        state = [Fraction(1), self.start, *(Fraction(0) for _ in self.offsets)]
        moments = [[one * other for other in state] for one in state]
        energies = []
        for shares, noise in self.actions:
            energies.append(self.smoothness**2 * moments[1][1])
            update, pushes = self._update([self.root * share for share in shares])
            moments = _sum(_transformed(update, moments), [_outer(push, noise) for push in pushes])
        return energies

    def parameters(self, *, weight: Fraction) -> dict[str, Fraction | int]:
        """The numbers of the statement; σ₀² and ζ² are what this run needs."""
        return {
            "delta": 1 - self.root**2,
            "step_size": self.step,
            "smoothness": self.smoothness,
            "gap": self.smoothness * self.start**2 / 2,
            "T": len(self.actions),
            "n": len(self.offsets),
            "variance": max(noise for _, noise in self.actions),
            "dissimilarity": sum((offset**2 for offset in self.offsets), Fraction(0)) / len(self.offsets),
            "residual_weight": weight,
        }

    def _update(self, kept: Sequence[Fraction]) -> tuple[Matrix, Matrix]:
        """The matrix of the update, and for every worker the direction in which its noise moves the state."""
        count, slope = len(self.offsets), self.step * self.smoothness
        corrected = [
            [
                self.step * offset,
                slope,
                *(Fraction(int(worker == other)) for other in range(count)),
            ]
            for worker, offset in enumerate(self.offsets)
        ]
        sent = [[(1 - share) * value / count for value in row] for share, row in zip(kept, corrected, strict=True)]
        still = [Fraction(int(position == 1)) for position in range(count + 2)]
        moved = [value - sum(column) for value, column in zip(still, zip(*sent, strict=True), strict=True)]
        one = [Fraction(int(position == 0)) for position in range(count + 2)]
        residuals = [[share * value for value in row] for share, row in zip(kept, corrected, strict=True)]
        pushes = [
            [
                Fraction(0),
                -(1 - share) * self.step / count,
                *(share * self.step * int(worker == other) for other in range(count)),
            ]
            for worker, share in enumerate(kept)
        ]
        return [one, moved, *residuals], pushes


def largest_step(root: Fraction, smoothness: Fraction, weight: Fraction) -> Fraction:
    """The step size below which the statement with this weight is made."""
    kept = root**2
    return (1 - kept) / (smoothness * ((1 + kept) / 2 + weight * kept + 1 / (4 * weight)))


def worker_margin(run: WorkerRun, weight: Fraction) -> Fraction:
    """1 − min_t E|f'(x_t)|²/bound, exact."""
    bound = bound_at("descent_of_workers", run.parameters(weight=weight))
    return 1 - min(run.gradient_energies()) / bound


def worker_cases() -> st.SearchStrategy[tuple[WorkerRun, Fraction]]:
    """One to three workers, alike or not, with a step size below the limit; or one update in which nothing is lost."""
    return st.one_of(st.integers(1, LARGEST_WORKER_COUNT).flatmap(_cases_of), st.sampled_from(_SIZES).map(_one_update))


_SIZES = (Fraction(1, 4), Fraction(1), Fraction(3))
_WEIGHTS = (Fraction(1, 4), Fraction(1), Fraction(16))
_SHARES = st.sampled_from([Fraction(-1), Fraction(1), Fraction(0), Fraction(1, 2)])
_NOISES = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 4)])


def _cases_of(worker_count: int) -> st.SearchStrategy[tuple[WorkerRun, Fraction]]:
    actions = st.tuples(st.lists(_SHARES, min_size=worker_count, max_size=worker_count), _NOISES)
    drawn = st.tuples(
        st.integers(0, 7).map(lambda numerator: Fraction(numerator, 8)),
        st.integers(1, 15).map(lambda numerator: Fraction(numerator, 16)),
        *(st.sampled_from(sizes) for sizes in (_SIZES, _SIZES, _WEIGHTS)),
        st.lists(st.integers(-2, 2), min_size=worker_count - 1, max_size=worker_count - 1),
        st.lists(actions, min_size=1, max_size=LARGEST_STEP_COUNT),
    )
    return drawn.map(_case)


def _case(drawn: Any) -> tuple[WorkerRun, Fraction]:
    root, share, smoothness, start, weight, offsets, actions = drawn
    run = WorkerRun(
        root=root,
        step=share * largest_step(root, smoothness, weight),
        smoothness=smoothness,
        start=start,
        offsets=[*map(Fraction, offsets), -Fraction(sum(offsets))],
        actions=actions,
    )
    return run, weight


def _one_update(size: Fraction) -> tuple[WorkerRun, Fraction]:
    """Two workers that send everything, with the step size 1/L: |f'(x_0)|² = 2L(f(x_0) − f*)."""
    run = WorkerRun(
        root=Fraction(0),
        step=1 / size,
        smoothness=size,
        start=size,
        offsets=[Fraction(0)] * 2,
        actions=[([Fraction(0)] * 2, Fraction(0))],
    )
    return run, Fraction(100)


def _transformed(update: Matrix, moments: Matrix) -> Matrix:
    """A S Aᵀ."""
    half = [[_product(row, column) for column in zip(*moments, strict=True)] for row in update]
    return [[_product(row, other) for other in update] for row in half]


def _outer(vector: Sequence[Fraction], factor: Fraction) -> Matrix:
    return [[factor * one * other for other in vector] for one in vector]


def _sum(first: Matrix, others: Sequence[Matrix]) -> Matrix:
    return [
        [sum(values, Fraction(0)) for values in zip(*rows, strict=True)] for rows in zip(first, *others, strict=True)
    ]


def _product(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True) if a and b), Fraction(0))


_NUMBERS: dict[str, Fraction | int] = {"T": 12, "gap": 2, "n": 3, "residual_weight": 1, "smoothness": 1, "variance": 0}

EDGES: dict[str, tuple[Remark, ...]] = {
    "descent_of_workers": (
        Edge("delta <= 1", {**_NUMBERS, "delta": Fraction(33, 32), "dissimilarity": 99, "step_size": Fraction(1, 2)}),
        Edge(
            "smoothness*step_size*(-delta/2 + residual_weight*(1 - delta) + 1 + 1/(4*residual_weight))/delta < 1",
            {**_NUMBERS, "delta": 1, "dissimilarity": 0, "step_size": Fraction(11, 8)},
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "descent_of_workers": {
        "smt": smt_check(worker_queries),
        "numeric": apart_check,
        "property": property_check(worker_cases, worker_margin),
        "simulated": partial(simulation_check, label="descent_of_workers", worker_count=2),
    },
}
"""Every check of this statement, by grade."""
