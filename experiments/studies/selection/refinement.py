"""For which laws do published threshold rules end in the band? Their counts over k on two families of laws.

Gaussians with a mean, and generalised Gaussians from heavy to light tails, at densities from 10⁻⁴ to 10⁻¹; one vector a
law, shared by all densities and rules. Ours runs on the same vectors. Read by the failure map and a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.reference import sidco_indices
from sparsync.kernels.selection import SELECTORS, target_count
from sparsync.verify.tools.provenance import provenance

DENSITIES = tuple(10 ** (-4 + 3 * index / 24) for index in range(25))
SIDCO_IN_HINDSIGHT = "sidco, best number of stages"
"""The rule of `sidco_in_hindsight`."""
RULES = ("gaussian_k", "gaussian_k_released", "dgc_released", "dgc_grace", "sidco_released", SIDCO_IN_HINDSIGHT)
"""Keys of `SELECTORS`, and SIDCo at its best."""


@dataclass(frozen=True)
class Family:
    """Laws that differ in one parameter.

    Args:
        parameter: its name, as an axis of the figure.
        values: what it takes.
        draw: dimension, value and stream to a vector [d] float64.
    """

    parameter: str
    values: tuple[float, ...]
    draw: Callable[[int, float, torch.Generator], Tensor]


def shifted_gaussian(dimension: int, mean: float, stream: torch.Generator) -> Tensor:
    """[d] from N(mean, 1)."""
    return mean + torch.randn(dimension, generator=stream, dtype=torch.float64)


def generalised_gaussian(dimension: int, exponent: float, stream: torch.Generator) -> Tensor:
    """[d] with density proportional to exp(−|u|^exponent): |u|^exponent is gamma with shape 1/exponent.

    A gamma variable of shape a below one is one of shape a + 1 times U^(1/a).
    """
    shape = 1 / exponent
    boosted = _gamma(dimension, shape + 1, stream)
    uniform = torch.rand(dimension, generator=stream, dtype=torch.float64)
    signs = 1 - 2 * torch.randint(0, 2, (dimension,), generator=stream)
    return signs * (boosted * uniform ** (1 / shape)) ** shape


def _gamma(dimension: int, shape: float, stream: torch.Generator) -> Tensor:
    """[d] gamma of shape ≥ 1 by rejection from a transformed normal. Source: Marsaglia and Tsang 2000."""
    offset = shape - 1 / 3
    drawn: list[Tensor] = []
    while sum(part.numel() for part in drawn) < dimension:
        normal = torch.randn(dimension, generator=stream, dtype=torch.float64)
        uniform = torch.rand(dimension, generator=stream, dtype=torch.float64)
        cube = (1 + normal / (9 * offset) ** 0.5) ** 3
        accepted = (cube > 0) & (uniform.log() < normal**2 / 2 + offset * (1 - cube + cube.clamp_min(1e-300).log()))
        drawn.append(offset * cube[accepted])
    return torch.cat(drawn)[:dimension]


FAMILIES: dict[str, Family] = {
    "shifted gaussian": Family("mean", tuple(index / 4 for index in range(-16, 17)), shifted_gaussian),
    "generalised gaussian": Family(
        "exponent", tuple(0.5 * 2 ** (index / 6) for index in range(25)), generalised_gaussian
    ),
}
"""Every family by name."""


def run_refinement(
    profile_name: ProfileName, *, seed: int = 0, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Select from every law at every density; the study's JSON.

    Args:
        profile_name: key of `PROFILES`.
        seed: of the draws.
        advance: called after each of the `law_count()` laws.

    Returns:
        For each family its `parameter`, `value` [laws], and for each rule `selected_count` and `captured_share`, which
        is ‖C(u)‖²/‖Top_k(u)‖², [laws, densities]; with `density` and `target_count` [densities].
    """
    dimension = PROFILES[profile_name].sample_dimension
    counts = [target_count(density, dimension) for density in DENSITIES]
    families = {}
    for name, family in FAMILIES.items():
        selected: dict[str, list[list[int]]] = {rule: [] for rule in RULES}
        captured: dict[str, list[list[float]]] = {rule: [] for rule in RULES}
        for value in family.values:
            vector = family.draw(dimension, value, random_stream(seed, f"{name} {value}")).float()
            squares = vector.double().square()
            largest = squares.sort(descending=True).values.cumsum(0)
            for rule in RULES:
                stream = random_stream(seed, f"{name} {value} {rule}")
                found = [_indices(rule, vector, count, stream) for count in counts]
                selected[rule].append([indices.numel() for indices in found])
                sent = [float(squares[indices].sum()) for indices in found]
                captured[rule].append([part / float(largest[k - 1]) for part, k in zip(sent, counts, strict=True)])
            advance()
        families[name] = {
            "parameter": family.parameter,
            "value": list(family.values),
            "selected_count": selected,
            "captured_share": captured,
        }
    return {
        "profile": profile_name,
        "seed": seed,
        "dimension": dimension,
        "density": list(DENSITIES),
        "target_count": counts,
        "families": families,
        "provenance": provenance(process_count=1),
    }


def sidco_in_hindsight(vector: Tensor, k: int) -> Tensor:
    """Positions that SIDCo's fit selects with the number of stages that brings its count nearest to k.

    No controller that chooses the number by earlier counts does better on a law that stays. The released one tries up
    to ⌈log₂(d/k)⌉.
    """
    most = max(1, math.ceil(math.log2(vector.numel() / k))) if 4 * k < vector.numel() else 1
    found = [sidco_indices(vector, k, stage_count) for stage_count in range(1, most + 1)]
    return min(found, key=lambda indices: abs(indices.numel() - k))


def _indices(rule: str, vector: Tensor, k: int, stream: torch.Generator) -> Tensor:
    if rule == SIDCO_IN_HINDSIGHT:
        return sidco_in_hindsight(vector, k)
    return SELECTORS[rule](vector, k, stream).indices.long()


def law_count() -> int:
    """How many laws the study draws from."""
    return sum(len(family.values) for family in FAMILIES.values())
