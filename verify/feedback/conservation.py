"""What evidence is there for what error feedback keeps and what is true of what it sends, besides derivations?

Exact runs, in fractions: of any workers and compressors for the virtual iterate, of vectors of the plane for a memory
of raw gradients, and of a family of vectors for the mean of local Top-k. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.feedback.queries import outside_queries, virtual_queries
from sparsync.verify.feedback.residual import (
    _POSITIVE,
    LARGEST_STEP_COUNT,
    ROOTS,
    Action,
    Vector,
    _plain,
    _square,
    planar_runs,
    residual_path,
)
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import smt_check


def drift_margin(
    root: Fraction, steps: Sequence[Fraction], run: Sequence[tuple[Vector, Action]], second_moment: Fraction
) -> Fraction:
    """1 − ‖x̃_T − x̃_0 + Σ η_t g_t‖²/bound for a memory of raw gradients; x and x̃ are simulated, not their sum."""
    gradients, actions = [gradient for gradient, _ in run], [action for _, action in run]
    residuals = [(Fraction(0), Fraction(0)), *residual_path(root, Fraction(1), gradients, actions)]
    sizes = steps[: len(run) + 1]
    drift = []
    for coordinate in range(2):
        x = applied = Fraction(0)
        for size, gradient, (old, new) in zip(sizes, gradients, pairwise(residuals), strict=False):
            x -= size * (old[coordinate] + gradient[coordinate] - new[coordinate])
            applied += size * gradient[coordinate]
        drift.append(x - sizes[-1] * residuals[-1][coordinate] + applied)
    variation = sum((abs(a - b) for a, b in pairwise(sizes)), Fraction(0))
    numbers = {"delta": 1 - root**2, "step_variation": variation, "second_moment": second_moment}
    bound = bound_at("step_outside", numbers)
    return 1 - _square(drift) / bound if bound else Fraction(1) - _square(drift)


def conservation_margin(
    start: Fraction, run: Sequence[tuple[Fraction, Sequence[tuple[Fraction, Fraction]]]]
) -> Fraction:
    """−(what the statement misses by): over the run, the virtual iterate and Σ sent + e_T − Σ η g, for all workers.

    Args:
        start: x_0.
        run: step size, and per worker the gradient and what it sends, whatever that is.
    """
    worker_count = len(run[0][1])
    x, residuals = start, [Fraction(0)] * worker_count
    sent_sums, applied_sums = [Fraction(0)] * worker_count, [Fraction(0)] * worker_count
    missed = Fraction(0)
    for step, workers in run:
        before = x - _mean(residuals)
        for worker, (gradient, sent) in enumerate(workers):
            residuals[worker] += step * gradient - sent
            sent_sums[worker] += sent
            applied_sums[worker] += step * gradient
        x -= _mean([sent for _, sent in workers])
        mean_gradient = _mean([gradient for gradient, _ in workers])
        expected = STATEMENTS["virtual_iterate"].fraction(
            virtual_iterate=before, step_size=step, gradient=mean_gradient
        )
        missed += abs(x - _mean(residuals) - expected)
    totals = zip(sent_sums, residuals, applied_sums, strict=True)
    return -missed - sum((abs(sent + kept - applied) for sent, kept, applied in totals), Fraction(0))


def local_top(vector: Sequence[Fraction], count: int) -> list[Fraction]:
    """Top-k of one worker, by sorting."""
    order = sorted(range(len(vector)), key=lambda position: -abs(vector[position]))[:count]
    return [value if position in order else Fraction(0) for position, value in enumerate(vector)]


def mean_error(workers: Sequence[Sequence[Fraction]], count: int) -> tuple[Fraction, Fraction, Fraction]:
    """‖mean u − mean Top_k(u)‖², ‖mean u‖² and mean ‖u‖²."""
    means = [_mean(column) for column in zip(*workers, strict=True)]
    sent = [_mean(column) for column in zip(*(local_top(vector, count) for vector in workers), strict=True)]
    errors = [mean - part for mean, part in zip(means, sent, strict=True)]
    return _square(errors), _square(means), _mean([_square(vector) for vector in workers])


def mean_of_top_margin(balance: Fraction, count: int, zero_count: int, idle_count: int) -> Fraction:
    """−|error/energy − bound| for the family; −1 if the error exceeds (1 − k/d) times the mean energy."""
    cancelling, zeros = [Fraction(2)] * (count - 1), [Fraction(0)] * zero_count
    first = [*cancelling, Fraction(1), balance, *zeros]
    second = [*(-value for value in cancelling), -balance, Fraction(-1), *zeros]
    workers = [first, second, *([Fraction(0)] * len(first) for _ in range(idle_count))]
    error, energy, mean_energy = mean_error(workers, count)
    if error > (1 - Fraction(count, len(first))) * mean_energy:
        return Fraction(-1)
    return -abs(error / energy - STATEMENTS["mean_of_local_top_k"].fraction(balance=balance))


def unbounded_check(_profile: Profile) -> Outcome:
    """`rational`: (1, 0.9), (−1, 0.9) has ratio 1, and the family has (10^n − 1)² ≥ 81^n at b = 1 − 10^(−n)."""
    error, energy, _ = mean_error([[Fraction(1), Fraction(9, 10)], [Fraction(-1), Fraction(9, 10)]], 1)
    ratios = []
    for digits in range(1, 9):
        balance = 1 - Fraction(1, 10**digits)
        numerator, denominator, _ = mean_error([[Fraction(1), balance], [-balance, Fraction(-1)]], 1)
        ratios.append(
            numerator / denominator == STATEMENTS["mean_of_local_top_k"].fraction(balance=balance) >= 81**digits
        )
    return Outcome(earned=error == energy and all(ratios), detail={"vectors_count": 1 + len(ratios)})


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


_NUMBERS = st.integers(-8, 8).map(lambda numerator: Fraction(numerator, 4))


def _drift_cases() -> st.SearchStrategy[Any]:
    count = LARGEST_STEP_COUNT + 1
    steps = st.lists(_POSITIVE, min_size=count, max_size=count)
    changing = st.tuples(st.sampled_from(ROOTS), steps, _POSITIVE).flatmap(
        lambda drawn: st.tuples(st.just(drawn[0]), st.just(drawn[1]), planar_runs(drawn[2]), st.just(drawn[2] ** 2))
    )
    return st.one_of(changing, st.builds(_one_change, st.sampled_from(ROOTS), st.integers(1, count - 1), _POSITIVE))


def _one_change(root: Fraction, count: int, magnitude: Fraction) -> Any:
    """Gradients in one direction, and the step size changes after the last of them."""
    return root, [Fraction(2)] * count + [Fraction(1)], [_plain(magnitude)] * count, magnitude**2


def _conservation_cases() -> st.SearchStrategy[Any]:
    return st.integers(1, 4).flatmap(
        lambda worker_count: st.tuples(
            _NUMBERS,
            st.lists(
                st.tuples(
                    _POSITIVE, st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=worker_count, max_size=worker_count)
                ),
                min_size=1,
                max_size=6,
            ),
        )
    )


def _family_cases() -> st.SearchStrategy[Any]:
    balances = st.integers(0, 63).map(lambda numerator: Fraction(numerator, 64))
    return st.tuples(balances, st.integers(1, 4), st.integers(0, 4), st.integers(0, 4))


EDGES: dict[str, tuple[Remark, ...]] = {
    "step_outside": (Edge("delta <= 1", {"delta": Fraction(33, 32), "second_moment": 3, "step_variation": 3}),),
    "mean_of_local_top_k": (Edge("balance < 1", {"balance": 1}),),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "virtual_iterate": {
        "smt": smt_check(virtual_queries),
        "property": property_check(_conservation_cases, conservation_margin),
    },
    "step_outside": {
        "smt": smt_check(outside_queries),
        "property": property_check(_drift_cases, drift_margin),
    },
    "mean_of_local_top_k": {
        "rational": unbounded_check,
        "property": property_check(_family_cases, mean_of_top_margin),
    },
}
"""Every check of these statements, by label and grade."""
