"""How long does a step take when one link works beside the processor? A timeline of operators, gathers and exchanges.

The forward pass computes operator after operator, the backward pass in the opposite order. A sharded operator is
gathered before each of both, while the one before it is computed. What an operator's gradient needs is sent behind its
backward pass. The link serves one after the other, in the order in which they are asked for; the step ends when all is
computed and sent. Without gathers this is Li et al. 2020, arXiv 2006.15704, read off as finish = max(ready, finish of
the one before) + seconds. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Work:
    """What an operator takes in a step, in seconds.

    Args:
        name: of the operator.
        forward_seconds: of its forward pass.
        backward_seconds: of its backward pass.
        select_seconds: of selecting, and of coding what is sent of its gradient; the processor does it.
        gather_seconds: of the link, for its parameters before each pass.
        exchange_seconds: of the link, for its gradient.

    Raises:
        ValueError: a number is negative or not finite.
    """

    name: str
    forward_seconds: float
    backward_seconds: float
    select_seconds: float = 0.0
    gather_seconds: float = 0.0
    exchange_seconds: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{field.name} of {self.name!r} must be a number that is not negative, got {value}")

    @property
    def compute_seconds(self) -> float:
        """Of the processor."""
        return self.forward_seconds + self.backward_seconds + self.select_seconds

    @property
    def link_seconds(self) -> float:
        """Of the link: two gathers and the exchange."""
        return 2 * self.gather_seconds + self.exchange_seconds


@dataclass(frozen=True)
class Span:
    """From when to when something was done, in seconds since the step began.

    Args:
        name: of the operator.
        kind: `forward`, `backward`, `gather` or `exchange`; selecting belongs to `backward`.
        start_seconds: when it began.
        end_seconds: when it was done.
    """

    name: str
    kind: str
    start_seconds: float
    end_seconds: float


@dataclass(frozen=True)
class Timeline:
    """A step.

    Args:
        spans: in the order in which they begin.
        step_seconds: until all is done.
        compute_seconds: that the processor was at work.
        link_seconds: that the link was.
    """

    spans: tuple[Span, ...]
    step_seconds: float
    compute_seconds: float
    link_seconds: float

    @property
    def exposed_seconds(self) -> float:
        """That the processor waited for the link."""
        return self.step_seconds - self.compute_seconds


def timeline(works: Sequence[Work]) -> Timeline:
    """The step of operators that are called in this order.

    Raises:
        ValueError: there are none.
    """
    if not works:
        raise ValueError("a step of no operators is undefined")
    clock = _Clock()
    for ahead, work in zip([*works[1:], works[-1]], works, strict=True):
        clock.compute(work, "forward", work.forward_seconds, ahead=None if ahead is work else ahead)
    backward = list(reversed(works))
    for ahead, work in zip([*backward[1:], backward[-1]], backward, strict=True):
        seconds = work.backward_seconds + work.select_seconds
        clock.compute(work, "backward", seconds, ahead=None if ahead is work else ahead)
        clock.send(work, "exchange", work.exchange_seconds)
    return Timeline(
        spans=tuple(sorted(clock.spans, key=lambda span: span.start_seconds)),
        step_seconds=max(clock.processor, clock.link),
        compute_seconds=sum(work.compute_seconds for work in works),
        link_seconds=sum(work.link_seconds for work in works),
    )


class _Clock:
    """When the processor and the link are free again."""

    def __init__(self) -> None:
        self.processor = self.link = 0.0
        self.spans: list[Span] = []
        self._gathered: dict[str, float] = {}

    def compute(self, work: Work, kind: str, seconds: float, *, ahead: Work | None) -> None:
        """Once its parameters are there; those of the next one are asked for as it begins."""
        if work.gather_seconds and work.name not in self._gathered:
            self._gather(work)
        self.processor = max(self.processor, self._gathered.pop(work.name, 0.0))
        if ahead is not None and ahead.gather_seconds:
            self._gather(ahead)
        begun = self.processor
        self.processor += seconds
        self.spans.append(Span(work.name, kind, begun, self.processor))

    def _gather(self, work: Work) -> None:
        self.send(work, "gather", work.gather_seconds)
        self._gathered[work.name] = self.link

    def send(self, work: Work, kind: str, seconds: float) -> None:
        """Asked for now, behind what was asked for before."""
        if seconds:
            begun = max(self.link, self.processor)
            self.link = begun + seconds
            self.spans.append(Span(work.name, kind, begun, self.link))
