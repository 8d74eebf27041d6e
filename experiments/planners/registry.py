"""The planners by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparsync.experiments.planners import density, layer_density, switch_point
from sparsync.experiments.planners.plan import Plan

PLANNERS: dict[str, Callable[[Any], Plan]] = {
    "density": density.plan,
    "layer_density": layer_density.plan,
    "switch_point": switch_point.plan,
}
"""By name, the function `plan` of its file; what it is asked is a frozen dataclass of the same file."""
