"""Real runs of policies that are over in a second or two, and how long they may take."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager
from typing import Any

import pytest

from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.real.keeping import Kept
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.racing import crew
from sparsync.experiments.racing.contest import QUADRATIC, Race
from sparsync.experiments.racing.entries import Parameter
from sparsync.experiments.racing.real import Conditions
from sparsync.verify.monitors.trace import Departed, Event, Joined, Stepped
from tests.support.fitting import usual_for

PATIENCE_SECONDS = 60.0
"""For what happens within a second or two on a machine that is not busy."""
# What would not happen in a second: a commit each minute.
_QUICKER: dict[str, dict[str, Parameter]] = {"adsp": {"period": 0.4, "least_seconds": 0.0}}


def real_parameters(name: str) -> dict[str, Parameter]:
    """Of a policy, for four workers and a second or two."""
    return {**usual_for(name, 4), **_QUICKER.get(name, {})}


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


class EndsWhenAllGoOn:
    """Ends a run once so many workers have gone and come, and all who are there have made more steps since.

    Args:
        server: of the run.
        changes: how many workers go or come after the begin.
        steps: of each since then.
    """

    def __init__(self, server: Server, *, changes: int, steps: int = 3) -> None:
        self._server, self._changes, self._steps = server, changes, steps
        self._seen = 0
        self._since: dict[int, int] = {}
        self.gone: list[int] = []
        self.back: list[int] = []

    @property
    def has_happened(self) -> bool:
        """Did all that it waits for happen?"""
        is_complete = len(self.gone) + len(self.back) == self._changes
        return is_complete and all(self._since.get(it, 0) >= self._steps for it in self._server.view.alive)

    def look(self) -> None:
        """See `Watcher`."""
        events = self._server.trace[self._seen :]
        self._seen += len(events)
        for event in events:
            self._learn(event)
        if self.has_happened:
            self._server.horizon = Horizon(seconds=self._server.view.now)

    def keep(self) -> None:
        """See `Watcher`."""

    def _learn(self, event: Event) -> None:
        if isinstance(event, Stepped):
            self._since[event.worker] = self._since.get(event.worker, 0) + 1
        elif isinstance(event, Departed) or (isinstance(event, Joined) and event.time > 0):
            (self.gone if isinstance(event, Departed) else self.back).append(event.worker)
            self._since.clear()
