"""How does the rate of one worker become the rate of n? The whole identity for a few workers, written out.

With the vectors of the workers split into mean and deviations, θ²V_t − V_{t+1} is what is known to be ≥ 0, plus n
times the square of one worker, plus the deviations' squares (`feedback_steps.py`). Here nothing is split: the workers
keep their own symbols, and k_i is what the compressor leaves. The identity and the deviation blocks are ours.
"""

from collections.abc import Sequence
from functools import partial

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.tight_rates.feedback_steps import (
    DEVIATION_FACTOR,
    NORMALISED_STEP,
    PAIR_MULTIPLIER,
    REDUCED_SPREAD,
    SQUARE_FACTOR,
    THETA,
    S,
)
from sparsync.theory.tight_rates.interpolation import numerator

WORKER_COUNTS = (2, 3)
"""The numbers of workers that are written out."""

Workers = Sequence[sympy.Expr]
"""One coordinate of one vector of each worker."""


def error_feedback_workers() -> tuple[Step, ...]:
    """The identity for error feedback, whose workers share the minimiser."""
    return tuple(
        Step(
            f"{count} workers: θ²V − V⁺ is the known terms, {count} squares' worth of the means and the deviations'",
            partial(_error_feedback, count),
        )
        for count in WORKER_COUNTS
    )


def error_feedback_21_workers() -> tuple[Step, ...]:
    """The identity for EF21, whose workers have any gradients."""
    return tuple(
        Step(
            f"{count} workers: θ²V − V⁺ is the known terms, {count} squares' worth of the means and the deviations'",
            partial(_error_feedback_21, count),
        )
        for count in WORKER_COUNTS
    )


def _error_feedback(count: int) -> sympy.Expr:
    x = sympy.Symbol("x", real=True)
    memories, centred, kept = _symbols("e", count), _symbols("y", count), _symbols("k", count)
    corrected = [e + NORMALISED_STEP * (x + REDUCED_SPREAD * y) for e, y in zip(memories, centred, strict=True)]
    end = x - _mean([v - k for v, k in zip(corrected, kept, strict=True)])
    before = _squares([x - e for e in memories]) + count * _mean(memories) ** 2 / S
    after = _squares([end - k for k in kept]) + count * _mean(kept) ** 2 / S
    known = PAIR_MULTIPLIER * (count * x**2 - _squares(centred)) + S * _squares(corrected) - _squares(kept) / S
    mean_square = (THETA * (x - _mean(memories)) - THETA * _mean(memories) / S + _mean(centred)) ** 2
    pairs = zip(_deviations(memories), _deviations(centred), strict=True)
    deviation_squares = sympy.Add(*((THETA * (1 + S) * e - S * y) ** 2 + THETA**2 * y**2 for e, y in pairs))
    squares = (
        count * SQUARE_FACTOR * mean_square
        + DEVIATION_FACTOR * deviation_squares
        + (1 / S - 1) * _squares(_deviations(kept))
    )
    return numerator(THETA**2 * before - after - known - squares)


def _error_feedback_21(count: int) -> sympy.Expr:
    gradients, estimates = _symbols("g", count), _symbols("d", count)
    centred, kept = _symbols("y", count), _symbols("k", count)
    move = _mean(estimates)
    following = [g - NORMALISED_STEP * (move + REDUCED_SPREAD * y) for g, y in zip(gradients, centred, strict=True)]
    errors = [g - d for g, d in zip(gradients, estimates, strict=True)]
    differences = [g - d for g, d in zip(following, estimates, strict=True)]
    before = _squares(errors) / S + count * _mean(gradients) ** 2
    after = _squares(kept) / S + count * _mean(following) ** 2
    known = PAIR_MULTIPLIER * (count * move**2 - _squares(centred)) + S * _squares(differences) - _squares(kept) / S
    mean_square = (THETA * _mean(gradients) + THETA * _mean(errors) / S + _mean(centred)) ** 2
    pairs = [(p / S, y) for p, y in zip(_deviations(errors), _deviations(centred), strict=True)]
    deviation_squares = sympy.Add(
        *(S * (THETA * (1 + S) * p + S * y) ** 2 + (THETA**2 + S**2 * (1 - S)) * y**2 for p, y in pairs)
    )
    squares = (
        count * SQUARE_FACTOR * mean_square
        + DEVIATION_FACTOR * deviation_squares
        + S**2 * (1 - S) * _squares([p for p, _ in pairs])
    )
    return numerator(THETA**2 * before - after - known - squares)


def _symbols(name: str, count: int) -> tuple[sympy.Symbol, ...]:
    return tuple(sympy.Symbol(f"{name}_{worker + 1}", real=True) for worker in range(count))


def _squares(vectors: Workers) -> sympy.Expr:
    return sympy.Add(*(vector**2 for vector in vectors))


def _mean(vectors: Workers) -> sympy.Expr:
    return sympy.Add(*vectors) / len(vectors)


def _deviations(vectors: Workers) -> list[sympy.Expr]:
    mean = _mean(vectors)
    return [vector - mean for vector in vectors]
