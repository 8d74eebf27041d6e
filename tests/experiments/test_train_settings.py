"""Ranks that were started with other settings or data refuse to train, and say what differs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch.distributed as dist

from sparsync.experiments import train
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.command import Command
from sparsync.experiments.train import require_equal_settings
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.experiments.training.runs import RUNS
from tests.support.workers import run_workers


def train_with_the_rank_as_seed() -> str:
    """What a rank says that was started with its own seed."""
    run = replace(RUNS["fnn3_top_k"], seed=dist.get_rank())
    with pytest.raises(ValueError, match="other settings or data") as caught:
        require_equal_settings(run, "data", GroupAverager("dense"))
    return str(caught.value)


def test_ranks_started_with_different_settings_all_refuse_to_train() -> None:
    message = "ranks [1] were started with other settings or data than rank 0: here seed is"
    assert run_workers(train_with_the_rank_as_seed, 2) == [f"{message} 0", f"{message} 1"]


class Gathering(LocalAverager):
    """Remembers what it is asked to gather, and has heard other numbers from another rank."""

    def __init__(self, *others: float) -> None:
        super().__init__("sparse")
        self.others, self.gathered = others, list[float]()

    def gather(self, numbers: Sequence[float]) -> list[float]:
        self.gathered += numbers
        return [*numbers, *self.others]


def test_settings_and_data_are_both_compared() -> None:
    averager, run = Gathering(), RUNS["fnn3_top_k"]
    for settings, sha256 in ((run, "a"), (run, "a"), (run, "b"), (replace(run, steps=7), "a")):
        require_equal_settings(settings, sha256, averager)
    first, same, other_data, other_run = averager.gathered
    assert first == same
    assert len({first, other_data, other_run}) == 3


def test_nobody_trains_before_the_settings_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    averager = Gathering(-1.0)
    monkeypatch.setattr(train, "_joined", lambda *_: nullcontext(Processes(0, 2, averager)))
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="other settings or data"):
        train.train(Command(run="fnn3_top_k", output=tmp_path / "result.json", settings=RUNS["fnn3_top_k"]))
    # The settings, and the names of what could differ.
    assert len(averager.gathered) == 2


class Answering(LocalAverager):
    """A second rank has the same numbers, but for those at some places."""

    def __init__(self, *places: int) -> None:
        super().__init__("sparse")
        self.places, self.asked = places, 0

    def gather(self, numbers: Sequence[float]) -> list[float]:
        self.asked += 1
        return [*numbers, numbers[0] + (self.asked - 1 in self.places)]


def test_all_that_differs_is_named_and_nothing_else() -> None:
    names = [*asdict(RUNS["fnn3_top_k"]), "data_sha256"]
    places = [2 + names.index(name) for name in ("density", "momentum", "data_sha256")]
    with pytest.raises(ValueError, match=r"rank 0: here density is 0\.001, momentum is 0\.0, data_sha256 is 'digest'$"):
        require_equal_settings(RUNS["fnn3_top_k"], "digest", Answering(0, *places))


def test_ranks_with_other_fields_are_not_asked_for_them() -> None:
    averager = Answering(0, 1)
    with pytest.raises(ValueError, match=r"^ranks \[1\] were .*, by another version of sparsync$"):
        require_equal_settings(RUNS["fnn3_top_k"], "digest", averager)
    assert averager.asked == 2
