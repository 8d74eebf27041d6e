"""How long does a worker's step take, as a function of its batch? Learnt from the steps that it has taken. Ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

REMEMBERED = 8
"""Batches whose seconds are known, those seen last: a few more than a bent line needs, so that old ones are left."""


@dataclass
class StepTimes:
    """Seconds of a step by examples: straight between batches that were seen, and beyond them as the last two lie.

    Of one batch alone seconds are taken to be in proportion to the examples. A batch that is seen again tells how the
    worker's speed has changed, and so what all others take now. What contradicts a step on a new batch is forgotten:
    fewer examples that took longer, or more that took less. So seconds never decrease with the examples.

    Args:
        smoothing: s in (0, 1] for a batch that is seen again, seconds ← s·measured + (1 − s)·remembered.
    """

    smoothing: float = 1.0
    _seen: dict[float, float] = field(default_factory=dict)
    """examples to seconds, the batch seen last at the end"""

    def learn(self, examples: float, seconds: float) -> None:
        """A step on so many examples, more than none, has taken so long."""
        remembered = self._seen.pop(examples, None)
        if remembered is None:
            kept = {other: known for other, known in self._seen.items() if (known - seconds) * (other - examples) >= 0}
            self._seen = {**kept, examples: seconds}
        else:
            slower = self.smoothing * (seconds / remembered) + (1 - self.smoothing)
            self._seen = {other: slower * known for other, known in self._seen.items()} | {
                examples: slower * remembered
            }
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def seconds(self, examples: float) -> float:
        """Of a step on so many examples, at least 0.

        Raises:
            ValueError: no step was seen.
        """
        if not self._seen:
            raise ValueError(f"no step was seen that could tell the seconds of {examples} examples")
        known = sorted(self._seen.items())
        if len(known) == 1:
            ((only, seconds),) = known
            return seconds * examples / only
        pieces = list(pairwise(known))
        (left, before), (right, after) = next((piece for piece in pieces if examples <= piece[1][0]), pieces[-1])
        return max(0.0, before + (after - before) * (examples - left) / (right - left))
