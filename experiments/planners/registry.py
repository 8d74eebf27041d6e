"""The planners by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparsync.experiments.planners import (
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
from sparsync.experiments.planners.plan import Plan

PLANNERS: dict[str, Callable[[Any], Plan]] = {
    "collective": collective.plan,
    "osdp": osdp.plan,
    "flexsp": flexsp.plan,
    "layer_density": layer_density.plan,
    "density": density.plan,
    "switch_point": switch_point.plan,
    "lb_bsp": lb_bsp.plan,
    "easyscale": easyscale.plan,
    "dedloc": dedloc.plan,
}
"""By name, the function `plan` of its file; what it is asked is a frozen dataclass of the same file."""
