"""The planners by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparsync.experiments.planners import dedloc, easyscale, lb_bsp
from sparsync.experiments.planners.plan import Plan

PLANNERS: dict[str, Callable[[Any], Plan]] = {
    "lb_bsp": lb_bsp.plan,
    "easyscale": easyscale.plan,
    "dedloc": dedloc.plan,
}
"""By name, the function `plan` of its file; what it is asked is a frozen dataclass of the same file."""
