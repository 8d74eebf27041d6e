"""A trace in which some events are known only later: their places are kept, and nothing after them is judged before.

What one happening leads to is one turn, and shows as a whole or not at all: a policy that is told a run up to its end
orders nothing that is missing there.
"""

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
        self._turns: deque[list[Slot]] = deque()
        self._turn: list[Slot] = []

    def note(self, event: Event) -> None:
        """It has happened."""
        self._turn.append(Slot(event))

    def reserve(self) -> Slot:
        """Something happens whose event is not known yet."""
        self._turn.append(Slot())
        return self._turn[-1]

    def fill(self, slot: Slot, event: Event) -> None:
        """What happened there."""
        slot.event = event
        self._flush()

    @property
    def is_clear(self) -> bool:
        """Is everything known that has happened?"""
        return not self._turns and not self._turn

    def end_turn(self) -> None:
        """What follows is of another happening."""
        if self._turn:
            self._turns.append(self._turn)
            self._turn = []
            self._flush()

    def _flush(self) -> None:
        while self._turns and all(slot.event is not None for slot in self._turns[0]):
            for slot in self._turns.popleft():
                assert slot.event is not None
                self._take(slot.event)
