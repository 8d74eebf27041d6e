"""Does the rate for stale gradients hold along runs? Descent with gradients at earlier models, on problems of known L.

x_{k+1} = x_k − η_k g_k with E g_k = ∇F(x_τ), τ in {k − s + 1, …, k}, and variance at most σ² there: s = 1 is SGD. Where
⟨∇F(x_k), ∇F(x_t)⟩ ≥ μ ‖∇F(x_k)‖² for all k ≤ T and all t in that window (the coherence of Dai, Zhou, Dong, Zhang and
Xing 2018; μ ≤ 1, as t = k shows) and η_k = μ/(sL√k), the least E‖∇F(x_k)‖² of k = 1, …, T is at most

    [sLΔ/μ² + σ² H_T/(2s)] / (S_T − H_T/2),  Δ = F(x_1) − inf F,  S_T = Σ 1/√k,  H_T = Σ 1/k.

This is the statement `coherence_rate` with its delay s − 1. Proof (ours). The descent lemma and the coherence give
E F(x_{k+1}) ≤ E F(x_k) − η_k μ E‖∇F(x_k)‖² + (Lη_k²/2)(E‖∇F(x_τ)‖² + σ²). Summed over k, a model t is read at most s
times, at steps η_k ≤ η_t, so that Σ η_k² ‖∇F(x_τ)‖² ≤ s Σ η_t² ‖∇F(x_t)‖². Hence
Σ (η_k μ − sLη_k²/2) E‖∇F(x_k)‖² ≤ Δ + (Lσ²/2) Σ η_k², and η_k μ − sLη_k²/2 = (μ²/sL)(1/√k − 1/(2k)).

For T ≥ 7 the denominator exceeds √T, so the bound [sLΔ/μ² + σ² log T/s]/√T, as described to us of that paper, follows;
in the limit ours is half of its first part and a quarter of its second.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.studies.staleness.smooth_problems import PROBLEMS, SmoothProblem
from sparsync.experiments.training.seeding import random_stream

GUESS_MARGIN = 0.9
"""A guess of μ that failed is followed by this share of the coherence that was measured instead."""
LEAST_GUESS = 1 / 64


@dataclass(frozen=True)
class Course:
    """What was met along a run.

    Args:
        squares: ‖∇F(x_k)‖² for k = 1, …, T.
        coherence: the least of μ_1, …, μ_T.
        variance: the largest, at the models whose gradients were used.
    """

    squares: list[float]
    coherence: float
    variance: float


def stale_course(problem: SmoothProblem, *, staleness: int, guess: float, step_count: int, seed: int) -> Course:
    """Run T steps with η_k = μ/(sL√k) for a guessed μ, each gradient's age uniform on what its window allows."""
    stream = random_stream(seed, "stale gradients", staleness)
    window: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=staleness)
    model, squares, coherence, largest_variance = problem.initial, list[float](), 1.0, 0.0
    for step in range(1, step_count + 1):
        gradient, variance = problem.gradient(model)
        squares.append(float(gradient @ gradient))
        window.append((model, gradient, variance))
        # The model itself, t = k, has the quotient 1.
        quotients = [float(earlier @ gradient) / squares[-1] for _, earlier, _ in list(window)[:-1]]
        coherence = min([coherence, *quotients])
        age = int(torch.randint(len(window), (1,), generator=stream))
        read, _, read_variance = window[-1 - age]
        largest_variance = max(largest_variance, read_variance)
        step_size = guess / (staleness * problem.smoothness * math.sqrt(step))
        model = model - step_size * problem.noisy_gradient(read, stream)
    return Course(squares, coherence, largest_variance)


def rate_bound(
    *, staleness: int, coherence: float, step_count: int, smoothness: float, gap: float, variance: float
) -> float:
    """[sLΔ/μ² + σ² H_T/(2s)] / (S_T − H_T/2), the bound of this module.

    Args:
        staleness: s.
        coherence: μ.
        step_count: T.
        smoothness: L.
        gap: Δ = F(x_1) − inf F.
        variance: σ².
    """
    harmonic = sum_in_order(1 / step for step in range(1, step_count + 1))
    roots = sum_in_order(1 / math.sqrt(step) for step in range(1, step_count + 1))
    bias = staleness * smoothness * gap / coherence**2
    return (bias + variance * harmonic / (2 * staleness)) / (roots - harmonic / 2)


def described_bound(
    *, staleness: int, coherence: float, step_count: int, smoothness: float, gap: float, variance: float
) -> float:
    """[sLΔ/μ² + σ² log T/s]/√T; the arguments are those of `rate_bound`."""
    bias = staleness * smoothness * gap / coherence**2
    return (bias + variance * math.log(step_count) / staleness) / math.sqrt(step_count)


def rate_rows(name: str, *, stalenesses: Sequence[int], step_count: int, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Both sides of the inequality on a problem, a row for each s.

    E is the mean over the seeds, σ² the largest variance that was met, and μ the guess of `coherent_courses`.

    Args:
        name: key of `PROBLEMS`.
        stalenesses: every s.
        step_count: T.
        seeds: of the runs.

    Returns:
        In each row the `guess` of μ and the `coherence` that was measured with it, `variance`, the `left` side, the
        bound `right` and the bound `described`.
    """
    problem, rows = PROBLEMS[name](), []
    for staleness in stalenesses:
        guess, courses = coherent_courses(problem, staleness=staleness, step_count=step_count, seeds=seeds)
        squares = zip(*(course.squares for course in courses), strict=True)
        known: dict[str, Any] = {
            "staleness": staleness,
            "step_count": step_count,
            "smoothness": problem.smoothness,
            "gap": problem.value(problem.initial) - problem.infimum,
            "variance": max(course.variance for course in courses),
        }
        rows.append(
            {
                "problem": name,
                **known,
                "guess": guess,
                "coherence": min(course.coherence for course in courses),
                "left": min(fmean(square) for square in squares),
                "right": rate_bound(coherence=guess, **known),
                "described": described_bound(coherence=guess, **known),
            }
        )
    return rows


def coherent_courses(
    problem: SmoothProblem, *, staleness: int, step_count: int, seeds: Sequence[int]
) -> tuple[float, list[Course]]:
    """A guess of μ that holds along all of its runs, and these.

    μ enters the step size but is known only afterwards: the first guess is 1, and while the coherence of a run is below
    the guess, all run anew with `GUESS_MARGIN` of that coherence, or with half of the guess if it is not positive.

    Raises:
        RuntimeError: no guess down to `LEAST_GUESS` held.
    """
    guess = 1.0
    while guess >= LEAST_GUESS:
        courses = [
            stale_course(problem, staleness=staleness, guess=guess, step_count=step_count, seed=seed) for seed in seeds
        ]
        coherence = min(course.coherence for course in courses)
        if coherence >= guess:
            return guess, courses
        guess = GUESS_MARGIN * coherence if coherence > 0 else guess / 2
    raise RuntimeError(f"no coherence above {LEAST_GUESS} held at s = {staleness} along {step_count} steps")
