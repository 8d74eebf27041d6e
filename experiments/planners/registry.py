"""The planners by name: one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparsync.experiments.planners import flexsp, osdp
from sparsync.experiments.planners.plan import Plan

PLANNERS: dict[str, Callable[[Any], Plan]] = {
    "osdp": osdp.plan,
    "flexsp": flexsp.plan,
}
"""By name, the function `plan` of its file; what it is asked is a frozen dataclass of the same file."""
