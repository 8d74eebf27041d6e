"""Who is likely to be there? Predictions from the last looks at workers, and a sample that prefers likely ones.

A worker that has not changed for a window of looks is in one of two classes: those of whom nothing is under way, with
prediction 1, and those of whom something is, with the least one. Only those that have changed are asked one by one.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from itertools import compress

from sparsync.experiments.planners.sampling import inclusion_scale, systematic_counts

IDLE, WAITED, GONE, LOST = "iwgl"
"""There, and nothing of it under way, or something; not there, and nothing, or something."""
Moves = tuple[tuple[float, ...], int]
"""Predictions from a look on, and that look."""
REMEMBERED_PATHS = 4096
"""Ways on of a prediction that are kept; with the usual window there are fewer."""


class Availability:
    """How likely each worker is available at the next look: a + (1 − a) b, and b before the first look.

    Of the last looks, a is the share at which it was there times the share at which nothing of it was under way. A look
    costs as much as there are workers that changed, a drawing as much as there are that did within the window.

    Args:
        worker_count: n.
        window: looks that count, at least 1.
        return_probability: b in (0, 1], of one that is not available.
    """

    def __init__(self, worker_count: int, window: int, return_probability: float) -> None:
        self.look_count = 0
        self._window, self._return_probability = window, return_probability
        self._statuses = [""] * worker_count
        self._histories = [""] * worker_count
        """what was seen in the window, when a worker's status changed last"""
        self._since = [0] * worker_count
        """the look at which it did"""
        self._paths: list[tuple[float, ...]] = [(return_probability,)] * worker_count
        """its predictions from then on; the last one stays"""
        self._changed: deque[list[int]] = deque([[] for _ in range(window - 1)])
        """workers whose prediction moves, by the look at which they changed"""
        self._moving: dict[int, Moves] = {}
        """those of them that are there"""
        self._idle: list[int] = []
        """those whose prediction stays, who are there, and of whom nothing is under way"""
        self._waited: list[int] = []
        """and of whom something is"""
        self._places = [-1] * worker_count
        """in one of these two lists"""

    def look(self, seen: Iterable[tuple[int, str]]) -> None:
        """At all workers; those that are not named are as they were.

        Args:
            seen: worker and IDLE, WAITED, GONE or LOST, each worker once.

        Raises:
            ValueError: the first look leaves out a worker.
        """
        self.look_count = look = self.look_count + 1
        if self._window > 1:
            for worker in self._changed.popleft():
                if self._since[worker] == look - self._window + 1 and worker in self._moving:
                    del self._moving[worker]
                    self._settle(worker)
        changed = []
        for worker, status in seen:
            if status != self._statuses[worker]:
                self._change(worker, status)
                changed.append(worker)
        if self._window > 1:
            self._changed.append(changed)
        if look == 1 and "" in self._statuses:
            raise ValueError(f"the first look must be at all workers, got {changed}")

    def prediction(self, worker: int) -> float:
        """How likely it is available at the next look."""
        path = self._paths[worker]
        return path[min(self.look_count - self._since[worker], len(path) - 1)]

    def inclusion(self, count: int, hidden: Iterable[int]) -> dict[int, float]:
        """min(1, c·prediction) for everybody there but those hidden: the probability to be in a sample of that size."""
        entries = self._hide(hidden)
        weights, sizes = self._classes()
        members = (*self._idle, *self._waited, *self._moving)
        self._show(entries)
        scale = inclusion_scale(weights, sizes, count)
        chances = (min(1.0, scale * weight) for weight, size in zip(weights, sizes, strict=True) for _ in range(size))
        return dict(zip(members, chances, strict=True))

    def sample(self, count: int, hidden: Iterable[int], numbers: random.Random) -> list[int]:
        """So many of those there but hidden, or all if there are fewer, each with its `inclusion` exactly.

        Of those idle, and of those waited for, no number is drawn that is one or more away from its mean, and every
        subset of that number is equally likely. Each whose prediction moves is a class of its own. So two who are
        unlikely may never be drawn together: only the probabilities of single workers are promised.
        """
        entries = self._hide(hidden)
        weights, sizes = self._classes()
        count = min(count, sum(sizes))
        scale = inclusion_scale(weights, sizes, count)
        probabilities = (min(1.0, scale * weight) for weight in weights)
        counts = systematic_counts(probabilities, sizes, count, numbers.random())
        drawn: list[int] = []
        for members, size in zip((self._idle, self._waited), counts, strict=False):
            if size:
                drawn += numbers.sample(members, size)
        if len(drawn) < count:
            drawn += compress(self._moving, counts[2:])
        self._show(entries)
        return drawn

    def _classes(self) -> tuple[list[float], list[int]]:
        """Prediction of a member, and how many there are, of those idle, waited for, and each that moves."""
        look = self.look_count
        moving = [path[look - since] for path, since in self._moving.values()]
        return [1.0, self._return_probability, *moving], [len(self._idle), len(self._waited), *[1] * len(moving)]

    def _change(self, worker: int, status: str) -> None:
        """Its status is another from this look on."""
        before, look = self._statuses[worker], self.look_count
        if before in (IDLE, WAITED):
            self._remove(worker)
        history = (self._histories[worker] + before * min(look - self._since[worker], self._window))[-self._window :]
        path = path_of(history, status, self._window, self._return_probability)
        self._statuses[worker], self._histories[worker] = status, history
        self._paths[worker], self._since[worker] = path, look
        if status in (IDLE, WAITED):
            if len(path) > 1:
                self._moving[worker] = (path, look)
            else:
                self._settle(worker)

    def _settle(self, worker: int) -> None:
        """It is there, and its prediction stays."""
        members = self._idle if self._statuses[worker] == IDLE else self._waited
        self._places[worker] = len(members)
        members.append(worker)

    def _remove(self, worker: int) -> Moves | None:
        """From those there; what is known of it if its prediction moves."""
        entry = self._moving.pop(worker, None)
        if entry is None:
            members = self._idle if self._statuses[worker] == IDLE else self._waited
            place = self._places[worker]
            last = members.pop()
            if last != worker:
                members[place] = last
                self._places[last] = place
        return entry

    def _hide(self, hidden: Iterable[int]) -> list[tuple[int, Moves | None]]:
        return [(worker, self._remove(worker)) for worker in hidden if self._statuses[worker] in (IDLE, WAITED)]

    def _show(self, entries: list[tuple[int, Moves | None]]) -> None:
        for worker, entry in reversed(entries):
            if entry is None:
                self._settle(worker)
            else:
                self._moving[worker] = entry


@lru_cache(maxsize=REMEMBERED_PATHS)
def path_of(history: str, status: str, window: int, return_probability: float) -> tuple[float, ...]:
    """Predictions at this look and those after it of a worker that now has this status and keeps it; the last stays.

    Args:
        history: what earlier looks saw, at most those of a window.
        status: what this one sees.
        window: looks that count.
        return_probability: of one that is not available.
    """
    path = []
    seen = history
    for _ in range(window):
        seen = (seen + status)[-window:]
        idle, waited, gone = map(seen.count, (IDLE, WAITED, GONE))
        available = (idle + waited) * (idle + gone) / len(seen) ** 2
        path.append(available + (1 - available) * return_probability)
        if seen.count(status) == len(seen):
            break
    return tuple(path)
