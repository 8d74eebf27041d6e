"""What evidence is there for the statements of `theory/feedback.py` and `theory/residual.py`, besides derivations?

Error feedback is run exactly, in fractions, on vectors of the plane: e⁺ = a·s·R(e + ηg) with R orthogonal, s in [0, 1]
and ‖g‖ ≤ σ drawn at every step is every effect that a contraction can have on its residual. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify import complexity_checks, feedback_rate_checks, lyapunov_checks, worker_checks
from sparsync.verify.feedback_queries import outside_queries, residual_queries, virtual_queries
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import property_check
from sparsync.verify.smt import smt_check

LARGEST_STEP_COUNT = 10
"""Longest run that a search draws; the exact fractions grow with it."""
LONG_ROOT, LONG_COUNT = Fraction(31, 32), 160
"""A run long enough for the residual to come near its limit where a is near 1."""
ROOTS = tuple(Fraction(numerator, 16) for numerator in range(16))
"""Values of a = √(1 − δ) that are drawn."""

Vector = tuple[Fraction, Fraction]
Action = tuple[Fraction, Vector]
"""How much of a is used, and the rotation R as (cosine, sine)."""


def residual_path(
    root: Fraction, step: Fraction, gradients: Sequence[Vector], actions: Sequence[Action]
) -> list[Vector]:
    """e_1, …, e_T of error feedback from e_0 = 0, where the compressor keeps back a·s·R(u)."""
    residual, path = (Fraction(0), Fraction(0)), []
    for gradient, (share, (cosine, sine)) in zip(gradients, actions, strict=True):
        first, second = (e + step * g for e, g in zip(residual, gradient, strict=True))
        scale = root * share
        residual = (scale * (cosine * first - sine * second), scale * (sine * first + cosine * second))
        path.append(residual)
    return path


def all_or_nothing_energy(root: Fraction, step: Fraction, gradients: Sequence[Vector]) -> Fraction:
    """max_t E‖e_t‖² for the compressor that keeps everything back with probability 1 − δ and nothing otherwise."""
    kept = root**2
    mean, energy, largest = (Fraction(0), Fraction(0)), Fraction(0), Fraction(0)
    for gradient in gradients:
        push = tuple(step * g for g in gradient)
        energy = kept * (energy + 2 * sum(m * p for m, p in zip(mean, push, strict=True)) + _square(push))
        mean = (kept * (mean[0] + push[0]), kept * (mean[1] + push[1]))
        largest = max(largest, energy)
    return largest


def residual_margin(
    root: Fraction, step: Fraction, run: Sequence[tuple[Vector, Action]], second_moment: Fraction, *, label: str
) -> Fraction:
    """1 − max_t E‖e_t‖²/bound over both compressors; 1 where nothing is kept back.

    Raises:
        ValueError: a gradient is longer than σ.
    """
    gradients, actions = [gradient for gradient, _ in run], [action for _, action in run]
    if any(_square(gradient) > second_moment for gradient in gradients):
        raise ValueError(f"gradients must have squares of at most {second_moment}, got {gradients}")
    path = residual_path(root, step, gradients, actions)
    largest = max(*(_square(e) for e in path), all_or_nothing_energy(root, step, gradients))
    bound = STATEMENTS[label].fraction(delta=1 - root**2, step_size=step, second_moment=second_moment)
    return 1 - largest / bound if bound else Fraction(1) - largest


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
    bound = STATEMENTS["step_outside"].fraction(
        delta=1 - root**2, step_variation=variation, second_moment=second_moment
    )
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


def worst_case_check(_profile: Profile, *, label: str, factor: str) -> Outcome:
    """`numeric`: the worst case e⁺ = a(e + ησ), iterated to rest, is the bound times the factor claimed.

    After t steps it is short of its limit by the factor 1 − a^t, and every step rounds three times.
    """
    errors = []
    for numerator in range(1, 16):
        root, residual, step_count = numerator / 16, 0.0, 1000
        for _ in range(step_count):
            residual = root * (residual + 1.0)
        bound = STATEMENTS[label].evaluate(delta=1 - root**2, step_size=1, second_moment=1)
        claimed = {"sharp": 1.0, "lemma": (1 + root) ** 2 / 4}[factor]
        # A rounding is damped by a at every later step: 3 ε/(1 − a) in all, twice that for the square.
        tolerance = 2 * (root**step_count + 3 * 2.0**-52 / (1 - root)) + 2.0**-50
        errors.append(abs(residual**2 / bound - claimed) / tolerance)
    return Outcome(
        earned=max(errors) <= 1,
        detail={"recursions_count": len(errors), "largest_error_over_tolerance": max(errors)},
    )


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


def planar_runs(second_moment_root: Fraction) -> st.SearchStrategy[list[tuple[Vector, Action]]]:
    """Gradients of length at most σ with the compressor's action at each step; all alike, or all arbitrary."""
    directions = st.sampled_from([(Fraction(1), Fraction(0)), *map(_direction, range(-6, 7))])
    sizes = st.sampled_from([Fraction(1), Fraction(1), Fraction(1, 2), Fraction(0)])
    gradients = st.tuples(directions, sizes).map(
        lambda pair: (second_moment_root * pair[1] * pair[0][0], second_moment_root * pair[1] * pair[0][1])
    )
    actions = st.tuples(sizes, directions)
    steady = st.integers(1, LARGEST_STEP_COUNT).map(lambda count: [_plain(second_moment_root)] * count)
    return st.one_of(steady, st.lists(st.tuples(gradients, actions), min_size=1, max_size=LARGEST_STEP_COUNT))


def _direction(parameter: int) -> Vector:
    """A rational point of the unit circle."""
    t = Fraction(parameter, 3)
    return ((1 - t**2) / (1 + t**2), 2 * t / (1 + t**2))


def _square(vector: Sequence[Fraction]) -> Fraction:
    return sum((value**2 for value in vector), Fraction(0))


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


_POSITIVE = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2)])
_NUMBERS = st.integers(-8, 8).map(lambda numerator: Fraction(numerator, 4))


def _residual_cases() -> st.SearchStrategy[Any]:
    drawn = st.tuples(st.sampled_from(ROOTS), _POSITIVE, _POSITIVE).flatmap(
        lambda drawn: st.tuples(st.just(drawn[0]), st.just(drawn[1]), planar_runs(drawn[2]), st.just(drawn[2] ** 2))
    )
    return st.one_of(drawn, drawn, st.tuples(_POSITIVE, _POSITIVE).map(_long_case))


def _long_case(sizes: tuple[Fraction, Fraction]) -> Any:
    step, magnitude = sizes
    return LONG_ROOT, step, [_plain(magnitude)] * LONG_COUNT, magnitude**2


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


def _plain(magnitude: Fraction) -> tuple[Vector, Action]:
    """A gradient of this length, and a compressor that keeps back au."""
    return (magnitude, Fraction(0)), (Fraction(1), (Fraction(1), Fraction(0)))


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


CHECKS: dict[str, dict[Grade, Check]] = {
    "virtual_iterate": {
        "smt": smt_check(virtual_queries),
        "property": property_check(_conservation_cases, conservation_margin),
    },
    "residual_bound": {
        "smt": smt_check(partial(residual_queries, "residual_bound")),
        "numeric": partial(worst_case_check, label="residual_bound", factor="lemma"),
        "property": property_check(_residual_cases, partial(residual_margin, label="residual_bound")),
    },
    "residual_minkowski": {
        "smt": smt_check(partial(residual_queries, "residual_minkowski")),
        "numeric": partial(worst_case_check, label="residual_minkowski", factor="sharp"),
        "property": property_check(_residual_cases, partial(residual_margin, label="residual_minkowski")),
    },
    "step_outside": {
        "smt": smt_check(outside_queries),
        "property": property_check(_drift_cases, drift_margin),
    },
    "mean_of_local_top_k": {
        "rational": unbounded_check,
        "property": property_check(_family_cases, mean_of_top_margin),
    },
    **feedback_rate_checks.CHECKS,
    **worker_checks.CHECKS,
    **lyapunov_checks.CHECKS,
    **complexity_checks.CHECKS,
}
"""Every check of the family, by label and grade."""
