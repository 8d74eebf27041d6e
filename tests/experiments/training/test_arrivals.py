"""A rank that does not come is named by the others, with the call they are in, when its time is over or at once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.local import OuterStep
from sparsync.experiments.training import arrivals
from sparsync.experiments.training.arrivals import require_timeout
from sparsync.experiments.training.collectives import GroupAverager
from tests.support.hooks.training import seeded_model
from tests.support.workers import run_workers

TIMEOUT_SECONDS = 2.0
NOTES_SECONDS = arrivals._NOTES_SECONDS


def waiting(ending: signal.Signals) -> tuple[str, float]:
    """Rank 2 stops or dies before the second gathering; what this rank says, and after how many seconds."""
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, os.getpid())
    averager = GroupAverager("sparse", timeout_seconds=TIMEOUT_SECONDS)
    averager.gather([1.0])
    if dist.get_rank() == 2:
        os.kill(os.getpid(), ending)
    began = time.monotonic()
    try:
        averager.gather([1.0])
    except ExchangeError as error:
        said = str(error), time.monotonic() - began
        if ending == signal.SIGSTOP and dist.get_rank() == 0:
            os.kill(everyone[2], signal.SIGKILL)
        return said
    return "nothing", 0.0


def test_a_rank_that_stops_is_named_when_the_time_is_over() -> None:
    *found, stopped = run_workers(partial(waiting, signal.SIGSTOP), 3, killed=[2])
    assert stopped is None
    for words, seconds in found:
        assert words.startswith("gather, step 1: ")
        assert "; missing: ranks [2] (" in words
        # The operation, a margin in which another rank hears of it, and the notes.
        assert TIMEOUT_SECONDS * 0.9 <= seconds <= TIMEOUT_SECONDS + 2 * NOTES_SECONDS + 1
    assert any(f"not all ranks came within {TIMEOUT_SECONDS:g} s" in words for words, _ in found)
    # Gloo's own words: the operation has ended too, so that no process waits for it when it leaves.
    assert any("2000ms" in words for words, _ in found)


def test_a_rank_that_dies_is_named_at_once() -> None:
    *found, killed = run_workers(partial(waiting, signal.SIGKILL), 3, killed=[2])
    assert killed is None
    for words, seconds in found:
        assert words.startswith("gather, step 1: a connection was lost; missing: ranks [2] (")
        assert seconds <= 2 * NOTES_SECONDS


class Noticing:
    """A store, and a group that has it."""

    def __init__(self, check: Callable[[], bool]) -> None:
        self._check = check

    def get_group_store(self) -> Noticing:
        return self

    def set(self, key: str, _: str) -> None:
        assert key == "sparsync/waited/0"

    def check(self, keys: list[str]) -> bool:
        return keys == ["sparsync/waited/0"] or self._check()


def gone() -> bool:
    raise RuntimeError("broken pipe\nand a trace")


def slow() -> bool:
    time.sleep(1)
    return True


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: True, "all ranks are there"),
        (lambda: False, "missing: ranks [1, 2]"),
        (gone, "the store that would tell who is missing is gone, it says 'broken pipe'"),
        (slow, "the store that would tell who is missing does not answer"),
    ],
)
def test_who_is_missing_is_asked_of_a_store_that_may_be_gone(
    check: Callable[[], bool], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "_NOTES_SECONDS", 0.05)
    monkeypatch.setattr(dist, "get_rank", lambda _: 0)
    monkeypatch.setattr(dist, "get_world_size", lambda _: 3)
    group: Any = Noticing(check)
    assert arrivals.missing_ranks(group) == said


def test_without_a_group_nobody_is_missing() -> None:
    assert arrivals.missing_ranks(None) == "the group is gone, and nobody knows who is missing"


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused_everywhere(seconds: float) -> None:
    makers: list[Callable[[], object]] = [
        lambda: require_timeout(seconds),
        lambda: GroupAverager("sparse", timeout_seconds=seconds),
        lambda: ErrorFeedbackState(seeded_model(), timeout_seconds=seconds),
        lambda: OuterStep(torch.nn.Linear(1, 1), inner_steps=1, timeout_seconds=seconds),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="timeout_seconds must be positive and at most 1e6, got"):
            make()
