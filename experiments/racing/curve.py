"""How good was the model, and when? A real run keeps copies at given times, and they are measured when it is over."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from torch import Tensor

from sparsync.experiments.engine.problems import Problem
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.racing.contest import Point


@dataclass
class _Kept:
    """A point whose quality is not known, and the model that has it; without one, the workers' own are asked for."""

    point: Point
    model: Tensor | None


class Curve:
    """The points of a real run.

    Args:
        server: of the run.
        seconds: how long it takes.
        points: at so many equal distances, and at the beginning.
    """

    def __init__(self, server: Server, *, seconds: float, points: int) -> None:
        self._server = server
        # The last time is the horizon itself, not its rounded multiple.
        self._times = [seconds * (place / points) for place in range(points)]
        self._kept: list[_Kept] = []

    def look(self) -> None:
        """Keep a copy if it is time for one."""
        while self._times and self._server.view.now >= self._times[0]:
            del self._times[0]
            self.keep()

    def keep(self) -> None:
        """Keep a copy."""
        server = self._server
        view = server.view
        if server.policy.is_decentralised:
            server.ask_for_models(len(self._kept))
            model = None
        else:
            model = server.shared.model.clone()
        point = Point(view.now, server.sent_bytes, server.pulled_bytes, sum(view.clock), view.version, math.nan)
        self._kept.append(_Kept(point, model))

    def measured(self, problem: Problem) -> list[Point]:
        """All points with their quality; without a shared model the mean of those who answered counts."""
        found = []
        for number, kept in enumerate(self._kept):
            model = self._server.mean_model(number) if kept.model is None else kept.model
            found.append(replace(kept.point, quality=problem.quality(model)))
        return found
