"""How large is each study? smoke (CI), quick (minutes on two cores), record (tracked), full (larger machines)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

ProfileName = Literal["smoke", "quick", "record", "full"]


@dataclass(frozen=True)
class Profile:
    """The size of every study.

    Args:
        workers: n of the runs whose gradients are looked at.
        data: source of their training data.
        observed_steps: updates whose corrected gradients are looked at, from 1.
        sample_dimension: d of the vectors drawn from a law.
        selection_dimensions: d of the vectors on which the selectors are timed.
        steady_dimension: d of the vectors that error feedback is run on until it settles.
        steady_steps: for how long.
        quadratic_steps: steps of each run on a quadratic, at most.
    """

    workers: int
    data: str
    observed_steps: tuple[int, ...]
    sample_dimension: int
    selection_dimensions: tuple[int, ...]
    steady_dimension: int
    steady_steps: int
    quadratic_steps: int


_QUICK = Profile(
    workers=4,
    data="embedded",
    observed_steps=(1, 100, 600),
    sample_dimension=100_000,
    selection_dimensions=(10_000, 100_000, 1_000_000),
    steady_dimension=20_000,
    steady_steps=10_000,
    quadratic_steps=1000,
)

PROFILES: dict[ProfileName, Profile] = {
    "smoke": Profile(
        workers=4,
        data="embedded",
        observed_steps=(1, 20),
        sample_dimension=10_000,
        selection_dimensions=(10_000,),
        steady_dimension=1000,
        steady_steps=200,
        quadratic_steps=20,
    ),
    "quick": _QUICK,
    "record": _QUICK,
    "full": Profile(
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

Size = TypeVar("Size")


def sized(sizes: Mapping[ProfileName, Size], profile_name: ProfileName) -> Size:
    """A study's size in a profile; where none is given for the record, it is that of quick."""
    if profile_name == "record" and profile_name not in sizes:
        return sizes["quick"]
    return sizes[profile_name]
