"""Do simulated runs of error feedback on convex functions stay below their bounds, and do some come near?

Top-k on f = Σ w_i(√(1 + x_i²) − 1) and on quadratics, the workers' gradients apart by ±ζ; and runs in which everything
is sent, at rest under normal noise, where SGD attains the bounds. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.runs.simulations import DIMENSION, STANDARD_ERRORS, top_k_rows
from sparsync.verify.tools.outcome import Outcome, Profile

REPEAT_COUNT, WORKER_COUNT = 40, 2
TOP_K_RUNS = ((2, 0.1, 300), (10, 0.3, 300))
"""k, noise and number of updates."""
SPREAD = 0.1
"""ζ in every coordinate."""
RESTING_COUNTS, LAST_COUNTS = (300, 40_000), (20, 400_000)
"""Numbers of updates and of repeats of the runs at rest."""
CONVEXITY = 0.01
"""μ of the quadratics, L = 1."""

Rows = NDArray[numpy.float64]


def excesses(
    slope: Callable[[Rows], Rows], value: Callable[[Rows], Rows], *, count: int, step: float, noise: float,
    update_count: int, worker_count: int = WORKER_COUNT, repeat_count: int = REPEAT_COUNT, dimension: int = DIMENSION,
) -> tuple[Rows, Rows]:  # fmt: skip
    """f(x_t) − f* for t < T [T, repeats], and at the end V without its root: rows of x − e and e, from x_0 = 1."""
    generator = numpy.random.default_rng(25)
    x = numpy.ones((repeat_count, dimension))
    residuals = numpy.zeros((worker_count, repeat_count, dimension))
    offsets = SPREAD * (numpy.arange(worker_count)[:, None, None] * 2.0 - worker_count + 1)
    found = numpy.empty((update_count, repeat_count))
    for update in range(update_count):
        found[update] = value(x)
        noises = noise * generator.standard_normal(residuals.shape)
        corrected = residuals + step * (slope(x) + offsets + noises)
        sent = top_k_rows(corrected, count)
        residuals = corrected - sent
        x = x - sent.mean(axis=0)
    return found, numpy.stack([x - residuals.mean(axis=0), residuals[0]])


def _raised(samples: Rows) -> float:
    """The mean of samples, raised by its standard errors."""
    return float(samples.mean() + STANDARD_ERRORS * samples.std(ddof=1) / math.sqrt(samples.size))


def _root_slope(x: Rows) -> Rows:
    return numpy.asarray(_WEIGHTS * x / numpy.sqrt(1 + x**2))


def _root_value(x: Rows) -> Rows:
    return numpy.asarray((_WEIGHTS * (numpy.sqrt(1 + x**2) - 1)).sum(axis=1))


_WEIGHTS = numpy.linspace(0.1, 1.0, DIMENSION)
_CURVATURES = numpy.geomspace(CONVEXITY, 1.0, DIMENSION)


def _quadratic_slope(x: Rows) -> Rows:
    return numpy.asarray(_CURVATURES * x)


def _quadratic_value(x: Rows) -> Rows:
    return numpy.asarray((_CURVATURES * x**2).sum(axis=1) / 2)


def _numbers(count: int, step: float, noise: float, update_count: int) -> dict[str, float]:
    return {
        "delta": count / DIMENSION, "step_size": step, "smoothness": 1.0, "start_distance": float(DIMENSION),
        "T": update_count, "n": WORKER_COUNT, "variance": DIMENSION * noise**2,
        "dissimilarity": DIMENSION * SPREAD**2, "residual_weight": 1.0,
    }  # fmt: skip


def convex_check(_profile: Profile) -> Outcome:
    """`simulated`: the mean over the run of f(x_t) − f*, raised by its standard errors, is below the bound."""
    shares = []
    for count, noise, update_count in TOP_K_RUNS:
        step = 0.2 * count / DIMENSION
        found, _ = excesses(_root_slope, _root_value, count=count, step=step, noise=noise, update_count=update_count)
        bound = STATEMENTS["convex_feedback_rate"].evaluate(**_numbers(count, step, noise, update_count))
        shares.append(_raised(found.mean(axis=0)) / bound)
    at_rest = _resting_share("convex_feedback_rate", {})
    return _outcome(shares, at_rest)


def strongly_convex_check(_profile: Profile) -> Outcome:
    """`simulated`: the same with weights that grow."""
    shares = []
    for count, noise, update_count in TOP_K_RUNS:
        step = 0.1 * count / DIMENSION
        found, _ = excesses(
            _quadratic_slope, _quadratic_value, count=count, step=step, noise=noise, update_count=update_count
        )
        weights = (1 - step * CONVEXITY / 2) ** -numpy.arange(1.0, update_count + 1)
        numbers = _numbers(count, step, noise, update_count) | {"mu": CONVEXITY}
        bound = STATEMENTS["strongly_convex_feedback_rate"].evaluate(**numbers)
        shares.append(_raised(weights @ found / weights.sum()) / bound)
    return _outcome(shares, _resting_share("strongly_convex_feedback_rate", {"mu": 1e-6}))


def last_check(_profile: Profile) -> Outcome:
    """`simulated`: V at the end, one worker, at the best step size."""
    shares = []
    for count, noise, update_count in TOP_K_RUNS:
        epsilon = 1 - count / DIMENSION
        root = math.sqrt(epsilon)
        step = 2 / (1 + CONVEXITY) * (1 - root) / (1 + root)
        _, (virtual, residual) = excesses(
            _quadratic_slope, _quadratic_value, count=count, step=step, noise=noise, update_count=update_count,
            worker_count=1,
        )  # fmt: skip
        bound = STATEMENTS["feedback_at_tight_rate"].evaluate(
            epsilon=epsilon, mu=CONVEXITY, smoothness=1, start_distance=DIMENSION, T=update_count,
            variance=DIMENSION * noise**2,
        )  # fmt: skip
        shares.append(_raised((virtual**2).sum(axis=1) + (residual**2).sum(axis=1) / root) / bound)
    return _outcome(shares, _last_resting_share())


def _resting(step: float, update_count: int, repeat_count: int) -> tuple[Rows, Rows]:
    """f = x²/2 with standard normal noise, where everything is sent."""
    return excesses(
        lambda x: x, lambda x: x[:, 0] ** 2 / 2, count=1, step=step, noise=1.0, update_count=update_count,
        worker_count=1, repeat_count=repeat_count, dimension=1,
    )  # fmt: skip


def _resting_share(label: str, more: dict[str, float]) -> float:
    """Of the bound with δ = 1 and nearly η = 1/L."""
    step = 0.9999
    found, _ = _resting(step, *RESTING_COUNTS)
    numbers = {
        "delta": 1, "step_size": step, "smoothness": 1, "start_distance": 1, "T": RESTING_COUNTS[0], "n": 1,
        "variance": 1, "dissimilarity": 0, "residual_weight": 1e6,
    }  # fmt: skip
    return _raised(found.mean(axis=0)) / STATEMENTS[label].evaluate(**numbers, **more)


def _last_resting_share() -> float:
    """Of the bound with ε = 0 and μ = L/2, on f = μx²/2 for μ = 1, which attains it: lowered by standard errors."""
    update_count, repeat_count = LAST_COUNTS
    _, (x, _) = _resting(2 / 3, update_count, repeat_count)
    bound = STATEMENTS["feedback_at_tight_rate"].evaluate(
        epsilon=0, mu=1, smoothness=2, start_distance=1, T=update_count, variance=1
    )
    return float((x**2).mean()) * (1 - STANDARD_ERRORS * math.sqrt(2 / repeat_count)) / bound


def _outcome(shares: list[float], at_rest: float) -> Outcome:
    return Outcome(
        earned=max(*shares, at_rest) <= 1,
        detail={
            "runs_count": len(shares) + 1,
            "largest_share_of_bound_with_top_k": max(shares),
            "share_of_bound_at_rest": at_rest,
        },
    )
