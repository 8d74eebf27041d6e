"""When does a bucket pass through the hook? Time stamps of each exchange, for telemetry and for traces.

A `Watch` is given to a state as `telemetry`; a state without one takes no time stamps. Times are the host's: on a GPU
they say when work was handed over, and a phase that waits for the device pays for what came before it. A bucket is
DDP's, or under FSDP2 the shards of one call of `fully_shard`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.hooks.side import placed

Phase = Literal["prepare", "check", "select", "pack", "communicate", "unpack"]
"""From the call of the hook to the exchange; finite?; select; pack; until the other ranks' buffers are there; until
the bucket holds means. The phases of an exchange follow one another without gaps."""
PHASES: tuple[str, ...] = get_args(Phase)
BEYOND: tuple[str, ...] = ("prepare", "check", "pack", "unpack")
"""What the hook does beyond selection and communication."""


@dataclass(frozen=True, eq=False)
class Content:
    """What an exchange sends at every step.

    Args:
        names: of the parameters with a residual.
        places: where each begins in the exchange, whose indices count through it.
        memories: of each.
        target_counts: k of each selection.
        capacities: the places that each selection has in what `Passage.chosen` returns.
        gradient_bytes: of all gradients, those of dense parameters too.
        packed_bytes: of the buffer that all ranks gather from each.
        reduced_bytes: of what is all-reduced beside it.
        rank_count: P.
        feedback: the variant whose memories these are.
        is_rounded: what is sent is not what was selected, as values are sent in few bits.
    """

    names: Sequence[str]
    places: Sequence[int]
    memories: Sequence[Memory]
    target_counts: Sequence[int]
    capacities: Sequence[int]
    gradient_bytes: int
    packed_bytes: int
    reduced_bytes: int
    rank_count: int
    feedback: Feedback
    is_rounded: bool = False

    @cached_property
    def starts(self) -> Tensor:
        """`places` on the device, int64."""
        return placed(self.places, device=self.residuals[0].device)

    @cached_property
    def slots(self) -> tuple[Tensor, Tensor]:
        """Of each place in what `Passage.chosen` returns: its selection, and how many places of that are before it."""
        device, total = self.residuals[0].device, sum(self.capacities)
        capacities = placed(self.capacities, device=device)
        # That the total is given saves waiting for the device.
        selection = torch.arange(len(capacities), device=device).repeat_interleave(capacities, output_size=total)
        return selection, torch.arange(total, device=device) - (capacities.cumsum(0) - capacities)[selection]

    @property
    def residuals(self) -> list[Tensor]:
        """What is pending of each, as it is now."""
        return [self.feedback.pending(memory) for memory in self.memories]


@dataclass(eq=False)
class Passage:
    """One exchange of one step.

    Args:
        content: what it sends.
        buckets: places of the buckets that it is made of.
        marks: what ended, when (`time.perf_counter`), and the processor seconds of the thread by then.
        chosen: values, indices and counts as `Chooser.padded` returns them; None where nothing was selected.
        dropped: parameters whose entries nobody got, as no rank had used them; all of them in a step that was refused.
    """

    content: Content
    buckets: tuple[int, ...]
    marks: list[tuple[str, float, float]]
    chosen: tuple[Tensor, Tensor, Tensor] | None = None
    dropped: frozenset[str] = frozenset()

    def end(self, phase: Phase) -> None:
        """Note that a phase has ended; one that never ends took no time."""
        self.marks.append((phase, time.perf_counter(), time.thread_time()))

    def intervals(self) -> list[tuple[str, float, float]]:
        """Each phase, when it began and when it ended, in seconds of `time.perf_counter`."""
        return [(phase, began, ended) for (_, began, _), (phase, ended, _) in pairwise(self.marks)]

    def seconds(self) -> dict[str, float]:
        """Of each phase; their sum is the time from the call of the hook to the means."""
        return dict.fromkeys(PHASES, 0.0) | {phase: ended - began for phase, began, ended in self.intervals()}

    def processor_seconds(self) -> dict[str, float]:
        """Likewise, of the thread that worked; communication, which no thread of Python's does, is left out.

        Of DDP's hook only: under FSDP2 the thread that unpacks is not the one that saw communication end.
        """
        worked = {phase: ended - began for (_, _, began), (phase, _, ended) in pairwise(self.marks)}
        return {phase: worked.get(phase, 0.0) for phase in PHASES if phase != "communicate"}


@dataclass(eq=False)
class WatchedStep:
    """All exchanges of a step.

    Args:
        step: of the run, from 0.
        ready: when the hook was called with each bucket, in the order of calls, which is that of places under DDP; in
            seconds of `time.perf_counter`.
        passages: in the order in which they began.
    """

    step: int
    ready: list[float] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)


class Watch:
    """Gives each step to `take` once it is over: as the next one begins, or when the watch is closed.

    Args:
        take: called in the thread of backward, before the residuals change again.
        end: called whenever the watch was closed.
    """

    def __init__(self, take: Callable[[WatchedStep], None], end: Callable[[], None] | None = None) -> None:
        self._take, self._end = take, end
        self._step: WatchedStep | None = None
        self._called = (0.0, 0.0)
        self.taking_seconds = 0.0
        """Seconds that `take` has cost so far."""

    def ready(self, step: int, *, is_first: bool) -> None:
        """The hook was called with a bucket.

        Args:
            step: of the run, from 0.
            is_first: the step begins with this bucket, and the one before is over.
        """
        if is_first:
            self._give()
            self._step = WatchedStep(step)
        self._called = (time.perf_counter(), time.thread_time())
        if self._step is not None:
            self._step.ready.append(self._called[0])

    def passage(self, content: Content, buckets: Sequence[int]) -> Passage:
        """An exchange begins."""
        passage = Passage(content, tuple(buckets), [("ready", *self._called)])
        passage.end("prepare")
        if self._step is not None:
            self._step.passages.append(passage)
        return passage

    def close(self) -> None:
        """Give away the last step and end; call it after backward has ended, and before results are read."""
        self._give()
        if self._end is not None:
            self._end()

    def _give(self) -> None:
        if self._step is None:
            return
        step, self._step = self._step, None
        began = time.perf_counter()
        self._take(step)
        self.taking_seconds += time.perf_counter() - began
