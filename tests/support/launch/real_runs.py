"""Real runs of policies that are over in a second or two, and how long they may take."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager
from typing import Any

import pytest

from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.real.keeping import Kept
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.racing import crew
from sparsync.experiments.racing.contest import QUADRATIC, Race
from sparsync.experiments.racing.real import Conditions


def usual_race(**options: Any) -> Race:
    return Race(**{"workers": 4, "data": QUADRATIC, "seconds": 1.5, "cluster": "one_slow", **options})


def usual_conditions(**options: Any) -> Conditions:
    return Conditions(**{"unit_seconds": 0.02, "lost_after": 2.0, **options})


def real_server(
    policy: Policy,
    race: Race | None = None,
    conditions: Conditions | None = None,
    kept: Kept | None = None,
    *,
    steps: float = math.inf,
) -> AbstractContextManager[tuple[Server, crew.Crew]]:
    return crew.real_server(policy, race or usual_race(), conditions or usual_conditions(), kept, steps=steps)


def require_within(began: float, seconds: float) -> None:
    took = time.monotonic() - began
    if took > seconds:
        pytest.fail(f"took {took:.1f} s, promised were {seconds:g}")
