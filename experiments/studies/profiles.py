"""How large each study is in the three profiles: smoke (CI), quick (two cores, minutes), full (GPU nodes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProfileName = Literal["smoke", "quick", "full"]


@dataclass(frozen=True)
class Profile:
    """The size of every study.

    Args:
        steps: updates of each training run; None keeps the run's own number.
        seed_count: paired seeds of the convergence runs.
        momentum_seed_count: paired seeds of the runs with momentum 0.9.
        workers: n.
        data: source of the training data.
        observed_steps: updates whose corrected gradients are looked at, from 1.
        sample_dimension: d of the vectors drawn from a law.
        selection_dimensions: d of the vectors on which the selectors are timed.
        steady_dimension: d of the vectors that error feedback is run on until it settles.
        steady_steps: for how long.
        quadratic_steps: steps of each run on a quadratic, at most.
    """

    steps: int | None
    seed_count: int
    momentum_seed_count: int
    workers: int
    data: str
    observed_steps: tuple[int, ...]
    sample_dimension: int
    selection_dimensions: tuple[int, ...]
    steady_dimension: int
    steady_steps: int
    quadratic_steps: int


PROFILES: dict[ProfileName, Profile] = {
    "smoke": Profile(
        steps=20,
        seed_count=1,
        momentum_seed_count=1,
        workers=4,
        data="embedded",
        observed_steps=(1, 20),
        sample_dimension=10_000,
        selection_dimensions=(10_000,),
        steady_dimension=1000,
        steady_steps=200,
        quadratic_steps=20,
    ),
    "quick": Profile(
        steps=None,
        seed_count=3,
        momentum_seed_count=10,
        workers=4,
        data="embedded",
        observed_steps=(1, 100, 600),
        sample_dimension=100_000,
        selection_dimensions=(10_000, 100_000, 1_000_000),
        steady_dimension=20_000,
        steady_steps=10_000,
        quadratic_steps=1000,
    ),
    "full": Profile(
        steps=6000,
        seed_count=8,
        momentum_seed_count=10,
        workers=16,
        data="fashion_mnist",
        observed_steps=(1, 100, 600, 6000),
        sample_dimension=1_000_000,
        selection_dimensions=(10_000, 100_000, 1_000_000, 10_000_000, 100_000_000),
        steady_dimension=200_000,
        steady_steps=100_000,
        quadratic_steps=10_000,
    ),
}
