"""Where does the contraction of Top-k settle under error feedback? The gain δ/κ, step by step, of streams of gradients.

Streams that persist, that are pure noise, and mixtures, with equal and unequal scales; exact Top-k with its residual.
`theory/feedback/steady_state.py` predicts the ends: near 3 for persistent gradients, near 6 for noise. Read by one
figure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.training.feedback import ErrorFeedback
from sparsync.experiments.training.roads import Sent, captured_share
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import SELECTORS, target_count
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.provenance import provenance

DENSITIES = (0.01, 0.001)
WINDOW_RATIO = 1.1
"""Steps are averaged over windows that grow by this factor, so that early and late steps show alike."""
DRIFT_SHARE = 0.1
"""Size of the persistent part of the mixture, its noise having size one."""

GradientStream = Callable[[], Tensor]
"""Returns the gradient [d] float64 of the next step."""


def equal_drift(dimension: int, _stream: torch.Generator) -> GradientStream:
    """The same gradient at every step, all entries equal."""
    gradient = torch.ones(dimension, dtype=torch.float64)
    return lambda: gradient


def gaussian_drift(dimension: int, stream: torch.Generator) -> GradientStream:
    """The same gradient at every step, its entries drawn once from N(0, 1)."""
    gradient = torch.randn(dimension, generator=stream, dtype=torch.float64)
    return lambda: gradient


def noise(dimension: int, stream: torch.Generator) -> GradientStream:
    """A new draw from N(0, I) at every step."""
    return lambda: torch.randn(dimension, generator=stream, dtype=torch.float64)


def unequal_noise(dimension: int, stream: torch.Generator) -> GradientStream:
    """Noise whose deviation differs between coordinates: log-normal, with deviation one of the logarithm."""
    scales = torch.randn(dimension, generator=stream, dtype=torch.float64).exp()
    return lambda: scales * torch.randn(dimension, generator=stream, dtype=torch.float64)


def drift_and_noise(dimension: int, stream: torch.Generator) -> GradientStream:
    """A persistent gradient of equal entries under noise ten times its size."""
    return lambda: DRIFT_SHARE + torch.randn(dimension, generator=stream, dtype=torch.float64)


STREAMS: dict[str, Callable[[int, torch.Generator], GradientStream]] = {
    "equal drift": equal_drift,
    "gaussian drift": gaussian_drift,
    "drift and noise": drift_and_noise,
    "unequal noise": unequal_noise,
    "noise": noise,
}
"""Every stream of gradients by name."""


def run_steady_state(
    profile_name: ProfileName, *, seed: int = 0, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Run every stream at every density; the study's JSON.

    Args:
        profile_name: key of `PROFILES`.
        seed: of the draws.
        advance: called after each of the `len(STREAMS) * len(DENSITIES)` runs.

    Returns:
        For every run its `stream`, `density`, `target_count`, and the mean `gain` δ/κ of each window, whose last step
        is in `step`; for each of the steady-state laws the gain it predicts at each density.
    """
    profile = PROFILES[profile_name]
    counts = [target_count(density, profile.steady_dimension) for density in DENSITIES]
    arguments: dict[str, list[dict[str, float]]] = {
        "steady_drift": [{"kappa": density} for density in DENSITIES],
        "steady_drift_equal": [{"k": count, "d": profile.steady_dimension} for count in counts],
        "steady_noise": [{"kappa": density} for density in DENSITIES],
    }
    runs = []
    for density, count in zip(DENSITIES, counts, strict=True):
        for name, make in STREAMS.items():
            stream = make(profile.steady_dimension, random_stream(seed, name))
            gains = stream_gains(stream, profile.steady_dimension, count, profile.steady_steps)
            ends = window_ends(profile.steady_steps)
            means = [
                sum_in_order(gains[start:end]) / (end - start) for start, end in zip([0, *ends], ends, strict=False)
            ]
            runs.append({"stream": name, "density": density, "target_count": count, "step": ends, "gain": means})
            advance()
    return {
        "profile": profile_name,
        "seed": seed,
        "dimension": profile.steady_dimension,
        "runs": runs,
        "predicted_gain": {
            label: [
                (1 - STATEMENTS[label].evaluate(**at)) / density for at, density in zip(ats, DENSITIES, strict=True)
            ]
            for label, ats in arguments.items()
        },
        "density": list(DENSITIES),
        "provenance": provenance(process_count=1),
    }


def stream_gains(stream: GradientStream, dimension: int, count: int, step_count: int) -> list[float]:
    """δ/κ of exact Top-k at each step, fed by the stream from a zero residual.

    Args:
        stream: the gradients.
        dimension: d.
        count: k.
        step_count: number of steps.
    """
    feedback = ErrorFeedback(dimension, dtype=torch.float64)
    gains = []
    for _ in range(step_count):
        corrected = feedback.correct(stream(), 1.0)
        payload = SELECTORS["top_k"](corrected, count)
        feedback.store_residual(corrected, payload)
        gains.append(captured_share(Sent(payload, feedback.residual)) * dimension / count)
    return gains


def window_ends(step_count: int) -> list[int]:
    """The last steps of windows that grow by `WINDOW_RATIO`, from 1 to `step_count`; each window has a step."""
    ends = [1]
    while ends[-1] < step_count:
        ends.append(min(step_count, max(ends[-1] + 1, round(ends[-1] * WINDOW_RATIO))))
    return ends
