"""What the server knows of vectors that lie elsewhere, by their sketches: what is lost when a worker is.

What a worker had made and not sent is what it kept at its last sending and has made since; sketches add up as the
vectors do, up to the rounding that the monitors allow.
"""

from __future__ import annotations

from collections.abc import Iterable

from sparsync.verify.monitors.trace import Departed, Event, Mass, Mixed, Sent, Stepped


class Accounts:
    """The sketches of all workers.

    Args:
        worker_count: n.
        initial: sketch of the model that all start from.
    """

    def __init__(self, worker_count: int, initial: Mass) -> None:
        self.nothing = Mass((0.0,) * len(initial.sums))
        """the sketch of zero"""
        self._unsent = [self.nothing] * worker_count
        self._base = [initial] * worker_count

    def learn(self, event: Event) -> None:
        """What happened before, as a trace has it."""
        if isinstance(event, Stepped):
            self.makes(event.worker, event.created)
        elif isinstance(event, Sent):
            self.sends(event.worker, event.kept)
        elif isinstance(event, Mixed):
            for member, model in zip(event.members, event.models, strict=True):
                self.mixes(member, model)
        elif isinstance(event, Departed):
            self.abandons(event.worker)

    def makes(self, worker: int, created: Mass) -> None:
        """A step was finished."""
        self._unsent[worker] = _sum(self._unsent[worker], created)

    def sends(self, worker: int, kept: Mass) -> None:
        """A message has left, and this stayed."""
        self._unsent[worker] = kept

    def mixes(self, worker: int, model: Mass) -> None:
        """All that it has made has become part of its model; who mixes sends nothing and keeps nothing back."""
        self._unsent[worker] = self.nothing
        self._base[worker] = model

    def reads(self, worker: int, base: Mass) -> None:
        """It goes on from this model, as far as is known."""
        self._base[worker] = base

    def base(self, worker: int, corrections: Iterable[Mass] = ()) -> Mass:
        """Of the model that it goes on from, as far as is known, with messages of its own added to it."""
        found = self._base[worker]
        for mass in corrections:
            found = _sum(found, mass)
        return found

    def kept(self, worker: int) -> Mass:
        """Of what it has made and not sent."""
        return self._unsent[worker]

    def abandons(self, worker: int) -> Mass:
        """It is gone, and so is that."""
        abandoned, self._unsent[worker] = self._unsent[worker], self.nothing
        return abandoned


def _sum(one: Mass, other: Mass) -> Mass:
    return Mass(tuple(here + there for here, there in zip(one.sums, other.sums, strict=True)), one.size + other.size)
