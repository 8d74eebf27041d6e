"""How much does Top-k really lose? The ratio ‖u − Top_k(u)‖²/‖u‖² against density, and the sorted magnitudes behind it.

Vectors drawn from laws, raw gradients of a dense run, and corrected gradients of a Top-k run with error feedback.
The bounds of `theory/contraction/ladder.py` are evaluated at the same k and d. One JSON file, read by two figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.profiles import PROFILES, Profile, ProfileName
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.runs import RUNS
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import target_count
from sparsync.theory.contraction.ladder import STATEMENTS
from sparsync.verify.tools.provenance import provenance

DENSITIES = tuple(10 ** (-3 + 3 * index / 40) for index in range(40))
_PROFILE_POINT_COUNT = 400

# Each draws [d] float64 from a stream.
LAWS: dict[str, Callable[[int, torch.Generator], Tensor]] = {
    "gaussian": lambda dimension, stream: torch.randn(dimension, generator=stream, dtype=torch.float64),
    "laplace": lambda dimension, stream: _laplace(dimension, stream),
    "uniform": lambda dimension, stream: 2 * torch.rand(dimension, generator=stream, dtype=torch.float64) - 1,
}


def run_contraction(profile_name: ProfileName, data: Dataset, *, seed: int = 0) -> dict[str, Any]:
    """Measure all vectors of the study.

    Args:
        profile_name: key of `PROFILES`.
        data: training data of the two runs.
        seed: of the runs and of the draws.

    Returns:
        The study's JSON: for every vector its `name`, `dimension`, `ratio` at each of `density`, and `magnitude` at
        each of `position` (rank/d), the largest being 1; for each of the six bounds its value at each density. The
        `target_count` beside them are the k that the densities stand for.
    """
    profile = PROFILES[profile_name]
    vectors = {name: draw(profile.sample_dimension, random_stream(seed, name)) for name, draw in LAWS.items()}
    vectors |= _observed("fnn3_dense", "gradient", profile, data, seed)
    vectors |= _observed("fnn3_top_k", "corrected gradient", profile, data, seed)
    return {
        "profile": profile_name,
        "seed": seed,
        "density": list(DENSITIES),
        "vectors": [_measured(name, vector) for name, vector in vectors.items()],
        "bounds": {label: _bounds(label, profile.sample_dimension) for label in STATEMENTS},
        "bounds_dimension": profile.sample_dimension,
        "bounds_target_count": _counts(profile.sample_dimension),
        "provenance": provenance(process_count=1),
    }


def tail_ratios(vector: Tensor, counts: Sequence[int]) -> list[float]:
    """‖u − Top_k(u)‖²/‖u‖² of a vector [d] for each k, in float64, the tail summed from its smallest entry.

    Raises:
        ValueError: the vector is zero, so the ratio is undefined, or a k lies outside 0..d.
    """
    squares = vector.double().square().sort().values
    if not bool(squares[-1] > 0):
        raise ValueError("the ratio of a zero vector is undefined")
    if min(counts) < 0 or max(counts) > vector.numel():
        raise ValueError(f"every k must lie in 0..{vector.numel()}, got {min(counts)}..{max(counts)}")
    cumulative = torch.cat([squares.new_zeros(1), squares.cumsum(0)])
    return [float(cumulative[vector.numel() - k] / cumulative[-1]) for k in counts]


def _measured(name: str, vector: Tensor) -> dict[str, Any]:
    dimension, counts = vector.numel(), _counts(vector.numel())
    magnitudes = vector.abs().double().sort(descending=True).values
    ranks = torch.linspace(0, dimension - 1, min(_PROFILE_POINT_COUNT, dimension)).round().long()
    return {
        "name": name,
        "dimension": dimension,
        "target_count": counts,
        "ratio": tail_ratios(vector, counts),
        "position": (ranks.double() / dimension).tolist(),
        "magnitude": (magnitudes[ranks] / magnitudes[0]).tolist(),
    }


def _observed(run_name: str, title: str, profile: Profile, data: Dataset, seed: int) -> dict[str, Tensor]:
    """The first worker's corrected gradient at the profile's observed steps; in a dense run it is the gradient.

    Both are multiplied by the step size, which changes no ratio.
    """
    seen: dict[str, Tensor] = {}

    def observe(step_count: int, corrected: Sequence[Tensor]) -> None:
        if step_count in profile.observed_steps:
            seen[f"{title}, step {step_count}"] = corrected[0]

    run = replace(RUNS[run_name], workers=profile.workers, seed=seed, data=profile.data)
    simulate(replace(run, steps=max(profile.observed_steps)), data, observe)
    return seen


def _bounds(label: str, dimension: int) -> list[float]:
    return [STATEMENTS[label].evaluate(k=k, d=dimension) for k in _counts(dimension)]


def _counts(dimension: int) -> list[int]:
    return [target_count(density, dimension) for density in DENSITIES]


def _laplace(dimension: int, stream: torch.Generator) -> Tensor:
    uniform = 2 * torch.rand(dimension, generator=stream, dtype=torch.float64) - 1
    return -uniform.sign() * torch.log1p(-uniform.abs())
