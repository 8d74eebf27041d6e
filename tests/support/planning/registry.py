"""The oracle of each planner, by the planner's name."""

from __future__ import annotations

from tests.support.planning import dedloc, easyscale, lb_bsp
from tests.support.planning.oracle import Oracle

ORACLES: dict[str, Oracle] = {
    "lb_bsp": lb_bsp.ORACLE,
    "easyscale": easyscale.ORACLE,
    "dedloc": dedloc.ORACLE,
}
