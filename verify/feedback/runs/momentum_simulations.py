"""Do simulated runs with momentum stay below the bounds, and do some of them come near?

Top-k on a function that is not convex; random gradients of size one, and a constant one, which attains the residual and
the lag; and the saturated run of `adversarial_runs.py`, which attains the rate without momentum. Ours.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.runs.adversarial_runs import SaturatedRun
from sparsync.verify.feedback.runs.simulations import (
    DIMENSION,
    LARGEST_SLOPE,
    STANDARD_ERRORS,
    saturated_energies,
    share_of_bound,
    top_k_rows,
)
from sparsync.verify.tools.outcome import Outcome, Profile

TOP_K_RUNS = ((2, 0.05, 0.1, 500), (5, 0.1, 0.3, 300), (20, 0.2, 0.0, 300))
"""k, step size over 1 − γ, noise and number of updates."""
MOMENTUM = 0.9
REPEAT_COUNT = 50
NOISE_REPEAT_COUNT, NOISE_UPDATE_COUNT = 200_000, 150

Rows = NDArray[numpy.float64]


def top_k_energies(order: str, *, count: int, step: float, noise: float, update_count: int) -> tuple[Rows, Rows, float]:
    """Means and standard errors of ‖∇f(x_t)‖², and f(x_0) − f*, for f = Σ w_i x_i²/(1 + x_i²), one worker."""
    generator = numpy.random.default_rng(26)
    weights = numpy.linspace(0.1, 0.5, DIMENSION)
    x = numpy.tile(numpy.linspace(0.4, 1.5, DIMENSION), (REPEAT_COUNT, 1))
    start = float(numpy.sum(weights * x[0] ** 2 / (1 + x[0] ** 2)))
    m, e = numpy.zeros_like(x), numpy.zeros_like(x)
    energies = numpy.empty((update_count, REPEAT_COUNT))
    for update in range(update_count):
        slope = weights * 2 * x / (1 + x**2) ** 2
        energies[update] = numpy.sum(slope**2, axis=1)
        gradient = slope + noise * generator.choice([-1.0, 1.0], size=x.shape)
        if order == "after":
            sent = top_k_rows(e + step * gradient, count)
            e = e + step * gradient - sent
            m = MOMENTUM * m + sent
            x = x - m
        else:
            m = MOMENTUM * m + gradient
            sent = top_k_rows(e + step * m, count)
            e = e + step * m - sent
            x = x - sent
    return energies.mean(axis=1), energies.std(axis=1, ddof=1) / math.sqrt(REPEAT_COUNT), start


def rate_check(_profile: Profile, *, label: str) -> Outcome:
    """`simulated`: min_t of the mean ‖∇f(x_t)‖², raised by its standard errors, is below the bound in every run."""
    order = label.rpartition("_")[2]
    slopes = float(numpy.sum((numpy.linspace(0.1, 0.5, DIMENSION) * LARGEST_SLOPE) ** 2))
    shares = []
    for count, reach, noise, update_count in TOP_K_RUNS:
        step = reach * (1 - MOMENTUM)
        energies = top_k_energies(order, count=count, step=step, noise=noise, update_count=update_count)
        numbers = {
            "delta": count / DIMENSION, "step_size": step, "smoothness": 1, "T": update_count, "momentum": MOMENTUM,
            "second_moment": slopes + DIMENSION * noise**2,
        }  # fmt: skip
        shares.append(share_of_bound(label, energies, numbers))
    run, deviation = SaturatedRun(root=Fraction(15, 16), step=Fraction(1), slope=Fraction(1), cycle_count=20_000), 1e-4
    of_run = run.parameters(bounded="second moment") | {"second_moment": 1 + deviation**2, "momentum": 0}
    saturated = saturated_energies(run, worker_count=1, noise=deviation, repeat_count=10)
    return _outcome(shares, share_of_bound(label, saturated, of_run))


def norm_shares(order: str, *, root: float, momentum: float, is_constant: bool) -> tuple[float, float]:
    """The largest mean squares of e and of x − z for η = 1, over random gradients of size one or a constant one.

    C(u) = (1 − a)u.
    """
    generator = numpy.random.default_rng(27)
    e = m = numpy.zeros(1 if is_constant else 2000)
    energy = lag = 0.0
    for _ in range(400):
        g = numpy.ones_like(e) if is_constant else generator.choice([-1.0, 1.0], size=e.shape)
        if order == "after":
            u = e + g
            kept = root * u
            m = momentum * m + u - kept
            e = kept
            apart = (momentum * m + e) / (1 - momentum)
        else:
            m = momentum * m + g
            e = root * (e + m)
            apart = e + momentum * m / (1 - momentum)
        energy, lag = max(energy, float(numpy.mean(e**2))), max(lag, float(numpy.mean(apart**2)))
    return energy, lag


def _norm_check(label: str, orders: tuple[str, ...], place: int) -> Outcome:
    shares = []
    for root, momentum in ((0.5, 0.5), (0.9, 0.0), (0.9, 0.9)):
        bound = STATEMENTS[label].evaluate(delta=1 - root**2, momentum=momentum, step_size=1, second_moment=1)
        for order in orders:
            random, constant = (
                norm_shares(order, root=root, momentum=momentum, is_constant=steady)[place] / bound
                for steady in (False, True)
            )
            shares += [random, constant]
    # 400 updates with factors of 9/10 leave nothing; some ten roundings at each, damped by a tenth, remain.
    return Outcome(
        earned=max(shares) <= 1 + 1e-13,
        detail={"runs_count": len(shares), "largest_share_of_bound": max(shares), "shares": shares},
    )


def residual_check(_profile: Profile) -> Outcome:
    """`simulated`: the residual with momentum before compression stays below the bound, and a constant g attains it."""
    return _norm_check("momentum_residual", ("before",), 0)


def lag_check(_profile: Profile) -> Outcome:
    """`simulated`: the same for ‖x − z‖², for both orders."""
    return _norm_check("momentum_lag", ("after", "before"), 1)


def noise_check(_profile: Profile) -> Outcome:
    """`simulated`: mean e² of normal noise is the value stated, within its standard errors."""
    errors = []
    for root, momentum in ((0.5, 0.5), (0.8, 0.8)):
        generator = numpy.random.default_rng(28)
        m = e = numpy.zeros(NOISE_REPEAT_COUNT)
        for _ in range(NOISE_UPDATE_COUNT):
            m = momentum * m + generator.standard_normal(NOISE_REPEAT_COUNT)
            e = root * (e + m)
        stated = STATEMENTS["momentum_noise_residual"].evaluate(
            delta=1 - root**2, momentum=momentum, step_size=1, variance=1
        )
        # e is normal at rest: the variance of its square is twice the square of that.
        errors.append((float(numpy.mean(e**2)) / stated - 1) / math.sqrt(2 / NOISE_REPEAT_COUNT))
    return Outcome(
        earned=max(map(abs, errors)) <= STANDARD_ERRORS / 2,
        detail={"runs_count": len(errors), "largest_error_in_standard_errors": max(map(abs, errors))},
    )


def _outcome(shares: list[float], saturated: float) -> Outcome:
    return Outcome(
        earned=max(*shares, saturated) <= 1,
        detail={
            "runs_count": len(shares) + 1,
            "largest_share_of_bound_with_top_k": max(shares),
            "share_of_bound_saturated": saturated,
        },
    )
