"""Whose failures come together? Pairs of neighbours, judged by the looks that saw one, both or none of them.

A look costs as much as there are workers that came or went, whatever the number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


class JointFailures:
    """Two are correlated if the correlation of their presences, or the share of looks that saw neither, is high.

    The correlation is Pearson's over all looks, and 0 while one of the two was always there, or never. Neighbours are
    near by number, the first after the last; which are, is ours (the released code takes near latencies).

    Args:
        worker_count: n.
        neighbours: of each worker, half of them on either side; all others if there are no more.
        threshold: in (0, 1], from which on two are correlated.

    Source: Behfar, Mortier 2026, by their code.
    """

    def __init__(self, worker_count: int, neighbours: int, threshold: float) -> None:
        self._threshold, self._look_count = threshold, 0
        self._near = [_near(worker, worker_count, neighbours) for worker in range(worker_count)]
        pairs = {_pair(worker, other): None for worker, near in enumerate(self._near) for other in near}
        self._pairs_of: list[list[tuple[int, int]]] = [[] for _ in range(worker_count)]
        for pair in pairs:
            for worker in pair:
                self._pairs_of[worker].append(pair)
        self._seen = {pair: [0, 0, 0, 0] for pair in pairs}
        """looks that saw neither, the second, the first, and both of them"""
        self._counted = dict.fromkeys(pairs, 0)
        """looks that are in there already"""
        self._is_there = [False] * worker_count
        self._gone = dict.fromkeys(range(worker_count))

    def look(self, seen: Iterable[tuple[int, bool]]) -> None:
        """At all workers, as (worker, is it there); those that are not named are as they were, and at first gone."""
        for worker, is_there in seen:
            if is_there != self._is_there[worker]:
                for pair in self._pairs_of[worker]:
                    self._count(pair)
                self._is_there[worker] = is_there
                if is_there:
                    del self._gone[worker]
                else:
                    self._gone[worker] = None
        self._look_count += 1

    def are_correlated(self, worker: int, other: int) -> bool:
        """True iff their presences are correlated, or both are gone at once, by the threshold or more.

        Raises:
            KeyError: they are no neighbours.
        """
        pair = _pair(worker, other)
        self._count(pair)
        neither, second, first, both = self._seen[pair]
        if not self._look_count:
            return False
        variances = (both + first) * (second + neither) * (both + second) * (first + neither)
        correlation = (both * neither - first * second) / math.sqrt(variances) if variances else 0.0
        return max(correlation, neither / self._look_count) >= self._threshold

    def suspects(self) -> list[int]:
        """Workers there that may be the next to go: neighbours of one that is gone, correlated with it."""
        pairs = ((worker, other) for worker in self._gone for other in self._near[worker] if self._is_there[other])
        return list(dict.fromkeys(other for worker, other in pairs if self.are_correlated(worker, other)))

    def _count(self, pair: tuple[int, int]) -> None:
        """The looks at the pair as it is now."""
        first, second = pair
        self._seen[pair][2 * self._is_there[first] + self._is_there[second]] += self._look_count - self._counted[pair]
        self._counted[pair] = self._look_count


def _pair(worker: int, other: int) -> tuple[int, int]:
    return min(worker, other), max(worker, other)


def _near(worker: int, worker_count: int, neighbours: int) -> list[int]:
    distances = (step * side for step in range(1, worker_count) for side in (1, -1))
    others = dict.fromkeys((worker + distance) % worker_count for distance in distances)
    return list(others)[:neighbours]
