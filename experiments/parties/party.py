"""Who takes part: a process of a learning system, how it meets the others, and what a system has to offer.

A system is a file of this folder with its settings, a frozen dataclass that refuses bad ones, and a `System`, which
`experiments/learning/registry.py` lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from sparsync.experiments.parties.talk import Answer, Books, Talk, carry, side_by_side
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS
from sparsync.experiments.training.averager import VectorAverager
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.experiments.training.slices import SlicedAverager

CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Party:
    """A process of a run, which may be the only one.

    Args:
        rank: its own, from 0.
        size: how many there are.
        device: where it computes.
        timeout_seconds: how long it waits for another.
        advance: called after each of the steps that `System.step_count` promises.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = CPU
    timeout_seconds: float = TIMEOUT_SECONDS
    advance: Callable[[], None] = lambda: None

    def averager(self, collective: str, *, worker_count: int | None = None) -> VectorAverager:
        """How the workers of this process meet all others.

        Args:
            collective: key of `COLLECTIVES`.
            worker_count: over all processes, in the same bits wherever they live; None is one a process.

        Raises:
            ValueError: the collective is unknown, or there are fewer workers than processes.
        """
        if self.size == 1:
            return LocalAverager(collective)
        if worker_count in (None, self.size):
            seconds = self.timeout_seconds
            return GroupAverager(collective, rank_order=True, device=self.device, timeout_seconds=seconds)
        return SlicedAverager(
            collective, worker_count=worker_count, device=self.device, timeout_seconds=self.timeout_seconds
        )

    def carry(self, talk: Talk[Answer], books: Books) -> Answer:
        """Carry this process's talk with the others; what it returns. Errors are those of `talk.carry`."""
        if self.size == 1:
            return side_by_side([talk], books)[0]
        return carry(talk, books, device=self.device, timeout_seconds=self.timeout_seconds)


@dataclass(frozen=True)
class System:
    """A learning system as `sparsync.experiments.learn` runs it.

    Args:
        summary: one line of the help.
        settings: a frozen dataclass; the defaults end in a minute, bad values raise `ValueError`.
        run: what each process does, of its settings and its party: the result as JSON, alike or on rank 0 alone (the
            others may return None).
        line: the result in a line that a person reads.
        step_count: how often `Party.advance` is called.
        least_size: how many processes it takes.
    """

    summary: str
    settings: type[Any]
    run: Callable[[Any, Party], dict[str, Any] | None]
    line: Callable[[dict[str, Any]], str]
    step_count: Callable[[Any], int]
    least_size: int = 1
