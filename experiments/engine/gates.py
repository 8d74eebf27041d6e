"""Whose gate is worth a look? Those that may have opened since they were last looked at.

A policy says on what its gates depend; whatever it says, the run is the one in which all gates are looked at after
every event, as long as it is true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.view import View


class Gates:
    """The gates of all waiting workers.

    Args:
        policy: opens them.
        view: who waits.
    """

    def __init__(self, policy: Policy, view: View) -> None:
        self._policy, self._view = policy, view
        self._opens_on = policy.gate_opens_on
        self._some: set[int] = set()
        """workers whose gate is looked at"""
        self._is_all = False
        """all gates are looked at"""
        self._watchers: dict[int, set[int]] = defaultdict(set)
        """by worker, those who wait for its progress"""

    def look_at(self, workers: Iterable[int]) -> None:
        """They have come to the gate, or what they wait for has happened to them."""
        self._some.update(workers)

    def look_at_all(self) -> None:
        """Whatever gates depend on may have changed."""
        self._is_all = True

    def settled(self, worker: int, is_least_another: bool) -> None:
        """A message of the worker was settled; is the least progress another now?"""
        self._some.add(worker)
        if self._opens_on == "least_progress":
            self._is_all |= is_least_another
        elif self._opens_on == "watched_progress":
            self._some |= self._watchers.pop(worker, set())

    def rang(self) -> None:
        """An alarm may have changed whom workers watch."""
        self._is_all |= self._opens_on == "watched_progress"

    def open(self, release: Callable[[int], None]) -> None:
        """Until nothing changes, let those go on whose gate is open, in worker order."""
        view, looks_at_all = self._view, self._opens_on == "anything"
        looks_again = looks_at_all
        while looks_again or self._is_all or self._some:
            is_all = looks_at_all or self._is_all
            candidates = sorted(view.waiting if is_all else self._some & view.waiting)
            self._some.clear()
            looks_again = self._is_all = False
            for worker in candidates:
                if worker not in view.waiting or not self._is_open(worker):
                    continue
                alive_count = view.alive_count
                release(worker)
                looks_again = looks_at_all
                # A departure may open any gate: from the first worker again, however many gates are looked at.
                if view.alive_count != alive_count:
                    break

    def _is_open(self, worker: int) -> bool:
        if self._policy.gate(worker):
            return True
        if self._opens_on == "watched_progress":
            for other in self._policy.watched(worker):
                self._watchers[other].add(worker)
        return False
