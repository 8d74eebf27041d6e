"""How near do real runs come to the tight worst-case rate? Error feedback with Top-k on strongly convex quadratics.

f(x) = Σ h_i x_i²/2 with curvatures spread from μ to L; step size and rate are those of `ef_tight_step` and
`ef_tight_rate` at ε = 1 − k/d. Measured is the Lyapunov function of the theorem, V = ‖x − x* − e‖² + ‖e‖²/√ε.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.training.feedback import ErrorFeedback
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import SELECTORS
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.provenance import provenance

DIMENSION = 100
COUNTS = (1, 2, 5, 10, 20, 50, 80, 99)
CONDITION_NUMBERS = (2.0, 10.0, 100.0)
SELECTED = ("top_k", "random_k")
"""Top-k contracts at every step; random selection on average only, so that single steps may exceed the rate."""
_STARTS = 3


def run_quadratics(
    profile_name: ProfileName, *, seed: int = 0, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Run every selector, count and condition number; the study's JSON.

    Args:
        profile_name: key of `PROFILES`.
        seed: of the starting points.
        advance: called after each of the `case_count()` cases.

    Returns:
        For each case its `selector`, `target_count`, `condition_number`, `tight_rate`, the `largest_factor` by which V
        changed in one step over all starts, and the `mean_factor` per step over a whole run, the largest of the starts.
    """
    cases = []
    for condition_number in CONDITION_NUMBERS:
        for selector in SELECTED:
            for count in COUNTS:
                factors = [
                    lyapunov_factors(selector, count, condition_number, PROFILES[profile_name].quadratic_steps, stream)
                    for stream in (random_stream(seed, "quadratics", start) for start in range(_STARTS))
                ]
                cases.append(
                    {
                        "selector": selector,
                        "target_count": count,
                        "condition_number": condition_number,
                        "tight_rate": STATEMENTS["ef_tight_rate"].evaluate(**_function(count, condition_number)),
                        "largest_factor": max(max(run) for run in factors),
                        "mean_factor": max(_geometric_mean(run) for run in factors),
                    }
                )
                advance()
    return {
        "profile": profile_name,
        "seed": seed,
        "dimension": DIMENSION,
        "cases": cases,
        "provenance": provenance(process_count=1),
    }


def case_count() -> int:
    """How many cases the study runs."""
    return len(CONDITION_NUMBERS) * len(SELECTED) * len(COUNTS)


def lyapunov_factors(
    selector: str, count: int, condition_number: float, step_count: int, stream: torch.Generator
) -> list[float]:
    """V_{t+1}/V_t of one run, from a random start and a zero residual, until V has shrunk by 10⁻²⁰.

    Args:
        selector: key of `SELECTORS`.
        count: k.
        condition_number: L/μ, with μ = 1.
        step_count: number of steps at most.
        stream: of the start and of a random selector.
    """
    curvatures = torch.linspace(1, condition_number, DIMENSION, dtype=torch.float64)
    step_size = STATEMENTS["ef_tight_step"].evaluate(**_function(count, condition_number))
    point = torch.randn(DIMENSION, generator=stream, dtype=torch.float64)
    feedback = ErrorFeedback(DIMENSION, dtype=torch.float64)
    root = sqrt(1 - count / DIMENSION)
    values = [_lyapunov(point, feedback.residual, root)]
    while len(values) <= step_count and values[-1] > 1e-20 * values[0]:
        corrected = feedback.correct(curvatures * point, step_size)
        payload = SELECTORS[selector](corrected, count, stream)
        feedback.store_residual(corrected, payload)
        point = point - payload.dense()
        values.append(_lyapunov(point, feedback.residual, root))
    return [later / earlier for earlier, later in pairwise(values)]


def _lyapunov(point: Tensor, residual: Tensor, root: float) -> float:
    return float((point - residual).square().sum() + residual.square().sum() / root)


def _function(count: int, condition_number: float) -> dict[str, float]:
    return {"mu": 1.0, "smoothness": condition_number, "epsilon": 1 - count / DIMENSION}


def _geometric_mean(factors: list[float]) -> float:
    return float(torch.tensor(factors, dtype=torch.float64).log().mean().exp())
