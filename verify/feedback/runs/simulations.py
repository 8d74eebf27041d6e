"""Do simulated runs of error feedback stay below its rates, and do some of them come near?

Top-k on a function that is not convex, as it is used, with the workers' gradients apart by ±ζ; the saturated run of
`adversarial_runs.py` with noise; and a resting run, f = x²/2 with C(u) = (1 + a)u, where noise keeps E|f'|² up. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import admitting
from sparsync.verify.feedback.runs.adversarial_runs import SaturatedRun
from sparsync.verify.tools.outcome import Outcome, Profile

LARGEST_SLOPE = 3 * math.sqrt(3) / 8
"""max |d/dx x²/(1 + x²)|, at x = 1/√3."""
DIMENSION = 20
"""Of the vectors that Top-k compresses."""
TOP_K_RUNS = ((2, 0.05, 0.1, 500), (5, 0.1, 0.3, 300), (20, 0.2, 0.0, 300))
"""k, step size, noise and number of updates."""
STANDARD_ERRORS = 5
"""A mean of samples is raised by this many of its standard errors: beyond them lies less than one in a million."""

Energies = tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]
"""The means [T] of ‖∇f(x_t)‖² over the repeats, their standard errors [T], and f(x_0) − f*."""


def top_k_rows(vectors: NDArray[numpy.float64], count: int) -> NDArray[numpy.float64]:
    """Top-k of every row of the last axis."""
    order = numpy.argsort(-numpy.abs(vectors), axis=-1)[..., :count]
    sent = numpy.zeros_like(vectors)
    numpy.put_along_axis(sent, order, numpy.take_along_axis(vectors, order, axis=-1), axis=-1)
    return sent


def top_k_energies(
    *, worker_count: int, count: int, step: float, noise: float, spread: float, update_count: int, repeat_count: int
) -> Energies:
    """Top-k with error feedback on f = Σ w_i x_i²/(1 + x_i²), 2 max w_i = 1, with signs times `noise` as noise.

    Every coordinate of a worker's gradient is `spread` above or below that of f, in turn.
    """
    generator = numpy.random.default_rng(20)
    weights = numpy.linspace(0.1, 0.5, DIMENSION)
    x = numpy.tile(numpy.linspace(0.4, 1.5, DIMENSION), (repeat_count, 1))
    start = float(numpy.sum(weights * x[0] ** 2 / (1 + x[0] ** 2)))
    residuals = numpy.zeros((worker_count, repeat_count, DIMENSION))
    offsets = spread * (-1.0) ** numpy.arange(worker_count)[:, None, None]
    energies = numpy.empty((update_count, repeat_count))
    for update in range(update_count):
        gradient = weights * 2 * x / (1 + x**2) ** 2
        energies[update] = numpy.sum(gradient**2, axis=1)
        signs = generator.choice([-1.0, 1.0], size=residuals.shape)
        corrected = residuals + step * (gradient + offsets + noise * signs)
        sent = top_k_rows(corrected, count)
        residuals = corrected - sent
        x = x - sent.mean(axis=0)
    return _summary(energies, start)


def saturated_energies(run: SaturatedRun, *, worker_count: int, noise: float, repeat_count: int) -> Energies:
    """The run for workers with normal noise of deviation `noise` in each gradient, and all with the same compressor."""
    generator = numpy.random.default_rng(21)
    slope, smoothness, step = float(run.slope), float(run.smoothness), float(run.step)
    shares = [float(kept) for kept in run.kept_shares(cycle_count=run.cycle_count)]
    x, residuals = numpy.full(repeat_count, float(run.start)), numpy.zeros((worker_count, repeat_count))
    energies = numpy.empty((len(shares), repeat_count))
    for update, kept in enumerate(shares):
        pull = numpy.clip(smoothness * x, -slope, slope)
        energies[update] = pull**2
        corrected = residuals + step * (pull + noise * generator.standard_normal(residuals.shape))
        residuals = kept * corrected
        x = x - (1 - kept) * corrected.mean(axis=0)
    return _summary(energies, float(run.gap))


def resting_energies(
    *, root: float, step: float, start: float, worker_count: int, update_count: int, repeat_count: int
) -> Energies:
    """f = x²/2 with standard normal noise in each gradient and C(u) = (1 + a)u."""
    generator = numpy.random.default_rng(22)
    x, residuals = numpy.full(repeat_count, start), numpy.zeros((worker_count, repeat_count))
    energies = numpy.empty((update_count, repeat_count))
    for update in range(update_count):
        energies[update] = x**2
        corrected = residuals + step * (x + generator.standard_normal(residuals.shape))
        residuals = -root * corrected
        x = x - (1 + root) * corrected.mean(axis=0)
    return _summary(energies, start**2 / 2)


def top_k_shares(label: str, *, worker_count: int) -> list[float]:
    """Shares of the bound with δ = k/d."""
    spread = 0.1 if label == "descent_of_workers" else 0.0
    slopes = float(numpy.sum((numpy.linspace(0.1, 0.5, DIMENSION) * LARGEST_SLOPE) ** 2))
    shares = []
    for count, step, noise, update_count in TOP_K_RUNS:
        energies = top_k_energies(
            worker_count=worker_count, count=count, step=step, noise=noise, spread=spread,
            update_count=update_count, repeat_count=50,
        )  # fmt: skip
        numbers = {"delta": count / DIMENSION, "step_size": step, "smoothness": 1, "T": update_count}
        noise_energy = DIMENSION * noise**2
        if label.startswith("nonconvex_rate"):
            numbers["second_moment"] = slopes + noise_energy
        else:
            numbers["variance"] = noise_energy
        if label == "descent_of_workers":
            numbers |= {"n": worker_count, "dissimilarity": DIMENSION * spread**2, "residual_weight": 0.5}
        shares.append(share_of_bound(label, energies, numbers))
    return shares


def saturated_share(label: str) -> float:
    """Share of the bound in the saturated run of two workers, a = 63/64, with noise of a hundredth of σ."""
    noise = 0.01
    run = SaturatedRun(root=Fraction(63, 64), step=Fraction(1), slope=Fraction(1), cycle_count=20_000)
    energies = saturated_energies(run, worker_count=2, noise=noise, repeat_count=10)
    return share_of_bound(label, energies, run.parameters(bounded="second moment") | {"second_moment": 1 + noise**2})


def resting_share(label: str, *, worker_count: int) -> float:
    """Share of the bound in the resting run, a = 1/128, from a tenth above the energy at rest."""
    root, step, update_count = 1 / 128, 0.5 / worker_count**2, 200 * worker_count
    at_rest = step / (2 * worker_count) / (1 - step * (1 + root) / (2 * (1 - root)))
    energies = resting_energies(
        root=root, step=step, start=math.sqrt(1.1 * at_rest), worker_count=worker_count,
        update_count=update_count, repeat_count=160_000 // worker_count,
    )  # fmt: skip
    numbers = {"delta": 1 - root**2, "step_size": step, "smoothness": 1, "T": update_count, "variance": 1}
    if label == "descent_of_workers":
        numbers |= {"n": worker_count, "dissimilarity": 0, "residual_weight": 8}
    return share_of_bound(label, energies, numbers)


def simulation_check(_profile: Profile, *, label: str, worker_count: int) -> Outcome:
    """`simulated`: min_t of the mean ‖∇f(x_t)‖², raised by its standard errors, is below the bound in every run."""
    top_k = top_k_shares(label, worker_count=worker_count)
    is_variance_bounded = label.startswith("descent")
    adversarial = resting_share(label, worker_count=worker_count) if is_variance_bounded else saturated_share(label)
    return simulation_outcome(top_k, adversarial)


def simulation_outcome(top_k: list[float], adversarial: float) -> Outcome:
    """Earned if no run exceeds the bound; from shares of it."""
    return Outcome(
        earned=max(*top_k, adversarial) <= 1,
        detail={
            "runs_count": len(top_k) + 1,
            "largest_share_of_bound_with_top_k": max(top_k),
            "largest_share_of_bound": max(*top_k, adversarial),
        },
    )


def _summary(energies: NDArray[numpy.float64], gap: float) -> Energies:
    return energies.mean(axis=1), energies.std(axis=1, ddof=1) / math.sqrt(energies.shape[1]), gap


def share_of_bound(label: str, energies: Energies, numbers: Mapping[str, float | Fraction]) -> float:
    """min_t E‖∇f(x_t)‖², raised by its standard errors, over the bound."""
    means, errors, gap = energies
    bound = STATEMENTS[label].evaluate(**admitting(label, {"gap": gap, **numbers}))
    return float(numpy.min(means + STANDARD_ERRORS * errors)) / bound
