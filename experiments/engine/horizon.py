"""When does a run end, what may be due until then, and what stops it early?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from sparsync.experiments.engine.counts import require_count_or_infinity
from sparsync.verify.monitors.judge import Violation


class Kind(IntEnum):
    """What is due, in the order of simultaneous events."""

    CHANGE = 0
    ARRIVAL = 1
    ALARM = 2
    FETCH = 3
    DELIVERY = 4
    STEP = 5
    LAST_ALARM = 6


ALARMS = (Kind.ALARM, Kind.LAST_ALARM)
ALARM_PATIENCE = 100_000
"""Alarms in a row that may change nothing while all who are there wait, where the run has no end in seconds.

No finite number proves that workers wait for ever: alarms are a policy's own programs, which may count themselves, or
look at the time, before they open a gate. So a run that ends by itself is never stopped for this.
"""


class Deadlock(Violation):
    """Workers wait, and nothing is due, or nothing but alarms for longer than `ALARM_PATIENCE`."""


class PolicyError(RuntimeError):
    """A policy ordered what cannot be carried out."""


@dataclass(frozen=True)
class Horizon:
    """When a run ends: at the first of these.

    Args:
        seconds: of simulated time; what is due later does not happen.
        steps: of each worker, who then leaves.
        versions: of the shared model.

    Raises:
        ValueError: a limit is not positive, a number of steps or versions is not whole, or there is no limit.
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
        for name in ("steps", "versions"):
            require_count_or_infinity(name, getattr(self, name), least=1)
