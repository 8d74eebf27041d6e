"""Do simulated runs of EF21, with and without momentum, behave as their statements say?

Top-k on a function that is not convex, the workers' gradients apart by ±ζ; and the run of `difference_runs.py` in
floats, with random signs, which rests on the floor of EF21 and leaves it with momentum. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.runs.simulations import DIMENSION, STANDARD_ERRORS, top_k_rows
from sparsync.verify.tools.outcome import Outcome, Profile

FLOOR_DELTA, FLOOR_STEP, FLOOR_SHARE, FLOOR_UPDATE_COUNT = 0.6, 0.0018, 0.0011, 70_000
"""δ, η, r and T of the long run at rest; L = σ₀ = 1."""
TOP_K_RUNS = ((2, 0.02, 0.1, 400), (5, 0.05, 0.3, 400), (20, 0.2, 0.0, 200))
"""k, step size, noise and number of updates."""
SPREAD = 0.5
"""ζ in every coordinate: of EF21 no bound is asked."""
REPEAT_COUNT, WORKER_COUNT = 50, 4

Rows = NDArray[numpy.float64]
Method = Callable[[Rows, Rows, Callable[[Rows], Rows]], tuple[Rows, Rows]]


def floor_energies(*, delta: float, step: float, averaging: float, update_count: int, worker_count: int) -> list[float]:
    """|f'(x_t)|² for f_i = x_1²/2 with noise ±1 on the other two coordinates in turn; averaging = 1 is EF21."""
    generator = numpy.random.default_rng(23)
    slope = math.sqrt(1 - delta**2) / delta
    signs = generator.choice([-1.0, 1.0], size=(update_count + 1, worker_count)).tolist()
    x = slope
    estimates = [(0.0, sign / delta, 0.0) for sign in signs[0]]
    averages = [(slope, sign, 0.0) for sign in signs[0]]
    energies = []
    for update in range(update_count):
        energies.append(x * x)
        even = update % 2 == 0
        after, means, first = [], [], 0.0
        for sign, old, (v1, v2, v3) in zip(signs[update + 1], estimates, averages, strict=True):
            left = 1 - averaging
            new = (
                left * v1 + averaging * x,
                left * v2 + (0.0 if even else averaging * sign),
                left * v3 + (averaging * sign if even else 0.0),
            )
            after.append(_hidden(new, old, delta))
            means.append(new)
            first += after[-1][0]
        estimates, averages = after, means
        x -= step * first / worker_count
    return energies


def _hidden(
    goal: tuple[float, float, float], old: tuple[float, float, float], delta: float
) -> tuple[float, float, float]:
    """h + C(v − h) with the compressor that hides the first coordinate where that contracts."""
    first, second, third = goal[0] - old[0], goal[1] - old[1], goal[2] - old[2]
    size = max(abs(second), abs(third))
    sent = math.copysign(size, second) if second else 0.0, math.copysign(size, third) if third else 0.0
    lost = first**2 + (second - sent[0]) ** 2 + (third - sent[1]) ** 2
    # In exact numbers both are equal at rest: allow for the roundings of some ten operations.
    if lost <= (1 - delta) * (first**2 + second**2 + third**2) * (1 + 1e-12):
        return old[0], old[1] + sent[0], old[2] + sent[1]
    return goal


def top_k_energies(
    method: Method, *, count: int, noise: float, update_count: int
) -> tuple[Rows, Rows, dict[str, float]]:
    """Means and standard errors of ‖∇f(x_t)‖², and what the statements need of the start.

    f = Σ w_i x_i²/(1 + x_i²), 2 max w_i = 1, signs times `noise` as noise; `method` maps x, its memory and the gradient
    of all workers at a point, to both after an update.
    """
    generator = numpy.random.default_rng(24)
    weights = numpy.linspace(0.1, 0.5, DIMENSION)
    x = numpy.tile(numpy.linspace(0.4, 1.5, DIMENSION), (REPEAT_COUNT, 1))
    offsets = SPREAD * (-1.0) ** numpy.arange(WORKER_COUNT)[:, None, None]

    def slope(point: Rows) -> Rows:
        return numpy.asarray(weights * 2 * point / (1 + point**2) ** 2)

    def gradients(point: Rows) -> Rows:
        signs = generator.choice([-1.0, 1.0], size=(WORKER_COUNT, *point.shape))
        return numpy.asarray(slope(point) + offsets + noise * signs)

    square = float(numpy.sum(slope(x[:1]) ** 2))
    start = {
        "gap": float(numpy.sum(weights * x[0] ** 2 / (1 + x[0] ** 2))),
        "estimate_energy": square + DIMENSION * SPREAD**2,
        "variance": DIMENSION * noise**2,
        "delta": count / DIMENSION,
        "smoothness": 1.0,
        "mean_smoothness": 1.0,
        "T": update_count,
    }
    memory = numpy.zeros((2, WORKER_COUNT, REPEAT_COUNT, DIMENSION))
    energies = numpy.empty((update_count, REPEAT_COUNT))
    for update in range(update_count):
        energies[update] = numpy.sum(slope(x) ** 2, axis=1)
        x, memory = method(x, memory, gradients)
    return energies.mean(axis=1), energies.std(axis=1, ddof=1) / math.sqrt(REPEAT_COUNT), start


def difference_method(count: int, step: float) -> Method:
    """EF21 with Top-k."""

    def update(x: Rows, memory: Rows, gradients: Callable[[Rows], Rows]) -> tuple[Rows, Rows]:
        estimates = memory[0] + top_k_rows(gradients(x) - memory[0], count)
        return x - step * estimates.mean(axis=0), numpy.stack([estimates, memory[1]])

    return update


def averaged_method(count: int, step: float, averaging: float) -> Method:
    """EF21 with momentum and Top-k."""

    def update(x: Rows, memory: Rows, gradients: Callable[[Rows], Rows]) -> tuple[Rows, Rows]:
        x = x - step * memory[0].mean(axis=0)
        averages = (1 - averaging) * memory[1] + averaging * gradients(x)
        return x, numpy.stack([memory[0] + top_k_rows(averages - memory[0], count), averages])

    return update


def share_of(label: str, means: Rows, errors: Rows, numbers: dict[str, float]) -> float:
    """min_t E‖∇f(x_t)‖², raised by its standard errors, over the bound."""
    return float(numpy.min(means + STANDARD_ERRORS * errors)) / STATEMENTS[label].evaluate(**numbers)


def rate_check(_profile: Profile) -> Outcome:
    """`simulated`: Top-k stays below the rate of EF21, and the run at rest comes near to it."""
    shares = []
    for count, step, noise, update_count in TOP_K_RUNS:
        means, errors, start = top_k_energies(
            difference_method(count, step * count / DIMENSION), count=count, noise=noise, update_count=update_count
        )
        shares.append(
            share_of("ef21_rate", means, errors, start | {"step_size": step * count / DIMENSION, "free_share": 0.5})
        )
    energies = floor_energies(
        delta=FLOOR_DELTA, step=FLOOR_STEP, averaging=1.0, update_count=FLOOR_UPDATE_COUNT, worker_count=1
    )
    square = (1 - FLOOR_DELTA**2) / FLOOR_DELTA**2
    bound = STATEMENTS["ef21_rate"].evaluate(
        delta=FLOOR_DELTA, step_size=FLOOR_STEP, smoothness=1, mean_smoothness=1, gap=square / 2, variance=1,
        estimate_energy=square + 1 / FLOOR_DELTA**2, T=FLOOR_UPDATE_COUNT, free_share=FLOOR_SHARE,
    )  # fmt: skip
    at_rest = min(energies) / bound
    return Outcome(
        earned=max(*shares, at_rest) <= 1,
        detail={
            "runs_count": len(shares) + 1,
            "largest_share_of_bound_with_top_k": max(shares),
            "share_of_bound_at_rest": at_rest,
        },
    )


def floor_check(_profile: Profile) -> Outcome:
    """`simulated`: with random signs the gradient stays on the floor, for every step size and number of workers."""
    runs = [(step, count) for step in (0.5, 0.01) for count in (1, 4, 16)]
    errors = []
    for step, count in runs:
        energies = floor_energies(delta=0.28, step=step, averaging=1.0, update_count=300, worker_count=count)
        stated = STATEMENTS["ef21_floor"].evaluate(delta=0.28, variance=1)
        errors.append(max(abs(energy / stated - 1) for energy in energies))
    with_momentum = floor_energies(delta=0.28, step=0.01, averaging=0.05, update_count=2000, worker_count=4)
    # x_1 does not move at rest, so that only the start and δ = 7/25 are rounded.
    return Outcome(
        earned=max(errors) <= 1e-12,
        detail={
            "runs_count": len(runs),
            "largest_relative_error": max(errors),
            "share_of_floor_with_momentum": min(with_momentum)
            / STATEMENTS["ef21_floor"].evaluate(delta=0.28, variance=1),
        },
    )
