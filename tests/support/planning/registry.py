"""The oracle of each planner, by the planner's name."""

from __future__ import annotations

from tests.support.planning import density, layer_density, switch_point
from tests.support.planning.oracle import Oracle

ORACLES: dict[str, Oracle] = {
    "density": density.ORACLE,
    "layer_density": layer_density.ORACLE,
    "switch_point": switch_point.ORACLE,
}
