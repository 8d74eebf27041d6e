"""Does no alarm ring that was not set, or before it is due? Whether it rings at all is the policy's own affair."""

from __future__ import annotations

from collections import Counter

from sparsync.verify.monitors.books import BrokenPromiseError, Handlers
from sparsync.verify.monitors.trace import AlarmSet, Rang


class Alarms:
    """The alarms that have not rung, by key and time."""

    def __init__(self) -> None:
        self._due: dict[str, Counter[float]] = {}

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {AlarmSet: self._set, Rang: self._rang}

    def _set(self, event: AlarmSet) -> None:
        if event.due < event.time:
            raise BrokenPromiseError(f"alarm {event.key} is set for {event.due}, which is over")
        self._due.setdefault(event.key, Counter())[event.due] += 1

    def _rang(self, event: Rang) -> None:
        due = self._due.get(event.key)
        if not due:
            raise BrokenPromiseError(f"alarm {event.key} rings, but it was not set, or has rung")
        first = min(due)
        if first > event.time:
            raise BrokenPromiseError(f"alarm {event.key} rings at {event.time}, but it is due at {first}")
        due[first] -= 1
        if not due[first]:
            del due[first]
