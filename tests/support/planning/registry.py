"""The oracle of each planner, by the planner's name."""

from __future__ import annotations

from tests.support.planning import (
    collective,
    dedloc,
    density,
    easyscale,
    flexsp,
    layer_density,
    lb_bsp,
    osdp,
    switch_point,
)
from tests.support.planning.oracle import Oracle

ORACLES: dict[str, Oracle] = {
    "collective": collective.ORACLE,
    "osdp": osdp.ORACLE,
    "flexsp": flexsp.ORACLE,
    "layer_density": layer_density.ORACLE,
    "density": density.ORACLE,
    "switch_point": switch_point.ORACLE,
    "lb_bsp": lb_bsp.ORACLE,
    "easyscale": easyscale.ORACLE,
    "dedloc": dedloc.ORACLE,
}
