"""A learning system that does next to nothing, for what the command itself does."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import torch

from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.parties.talk import Books, Talk, give, take


@dataclass(frozen=True)
class Echo:
    """What it is told."""

    count: int = 3
    """numbers that go to rank 1 and come back"""
    lost: bool = False
    """rank 1 is killed before it answers"""
    lost_later: bool = False
    """the last rank is killed when it has done its part"""
    pause_seconds: float = 0.0
    """how long rank 0 takes to make a result of the answer"""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"count must be positive, got {self.count}")


def _caller(settings: Echo) -> Talk[float]:
    yield from give(1, "numbers", torch.arange(float(settings.count)))
    found = yield from take(1, "echo")
    return float(found.sum())


def _answerer(settings: Echo) -> Talk[float]:
    numbers = yield from take(0, "numbers")
    if settings.lost:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from give(0, "echo", 2 * numbers)
    return 0.0


def _silent() -> Talk[float]:
    yield from ()
    return 0.0


def _run(settings: Echo, party: Party) -> dict[str, Any] | None:
    books = Books()
    talks = {0: _caller, 1: _answerer}
    talk = talks[party.rank](settings) if party.rank in talks else _silent()
    echo = party.carry(talk, books)
    if settings.lost_later and party.rank == party.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if party.rank == 0:
        time.sleep(settings.pause_seconds)
    for _ in range(settings.count):
        party.advance()
    return {"echo": echo, "books": books.rows()} if party.rank == 0 else None


ECHO = System(
    summary="numbers that come back doubled",
    settings=Echo,
    run=_run,
    line=lambda found: f"echo {found['echo']:g}",
    step_count=lambda settings: settings.count,
    least_size=2,
)
"""The system."""
