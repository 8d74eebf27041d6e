"""When does a run end, what may be due until then, and what stops it early?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from sparsync.verify.monitors import Violation


class Kind(IntEnum):
    """What is due, in the order of simultaneous events."""

    CHANGE = 0
    ARRIVAL = 1
    ALARM = 2
    DELIVERY = 3
    STEP = 4


class Deadlock(Violation):
    """Workers wait and nothing is due."""


class PolicyError(RuntimeError):
    """A policy ordered what cannot be carried out."""


@dataclass(frozen=True)
class Horizon:
    """When a run ends: at the first of these.

    Args:
        seconds: of simulated time; what is due later does not happen.
        steps: of each worker, who then leaves.
        versions: of the shared model.
    """

    seconds: float = math.inf
    steps: float = math.inf
    versions: float = math.inf

    def __post_init__(self) -> None:
        limits = (self.seconds, self.steps, self.versions)
        if not all(limit > 0 for limit in limits):
            raise ValueError(f"a horizon must be positive, got {self}")
        if min(limits) == math.inf:
            raise ValueError("a run needs an end: seconds, steps or versions")
