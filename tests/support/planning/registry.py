"""The oracle of each planner, by the planner's name."""

from __future__ import annotations

from tests.support.planning import flexsp, osdp
from tests.support.planning.oracle import Oracle

ORACLES: dict[str, Oracle] = {
    "osdp": osdp.ORACLE,
    "flexsp": flexsp.ORACLE,
}
