"""A trace in which some events are known only later: their places are kept, and nothing after them is judged before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sparsync.verify.monitors.trace import Event


class Slot:
    """The place of an event."""

    def __init__(self, event: Event | None = None) -> None:
        self.event = event


class Journal:
    """Events in the order in which they happened.

    Args:
        take: is given each as soon as all before it are known.
    """

    def __init__(self, take: Callable[[Event], None]) -> None:
        self._take = take
        self._open: deque[Slot] = deque()

    def note(self, event: Event) -> None:
        """It has happened."""
        self._open.append(Slot(event))
        self._flush()

    def reserve(self) -> Slot:
        """Something happens whose event is not known yet."""
        self._open.append(Slot())
        return self._open[-1]

    def fill(self, slot: Slot, event: Event) -> None:
        """What happened there."""
        slot.event = event
        self._flush()

    @property
    def is_clear(self) -> bool:
        """Is everything known that has happened?"""
        return not self._open

    def _flush(self) -> None:
        while self._open and self._open[0].event is not None:
            self._take(self._open.popleft().event)  # type: ignore[arg-type]
