"""Readings of sharded replicas are what their shards show, one a step, and watching changes no bit; ranks are real."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
import torch
import torch.distributed as dist
from rich.console import Console
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from sparsync.experiments.fsdp import ShardedErrorFeedback
from sparsync.experiments.hooks import telemetry as module
from sparsync.experiments.hooks import watching
from sparsync.experiments.hooks.sinks import JsonLines, LiveLine
from sparsync.experiments.hooks.telemetry import Reading, telemetry
from sparsync.experiments.hooks.watching import PHASES, Watch, WatchedStep
from sparsync.kernels.selection import target_count
from tests.support.hooks.sharding import Recorder, local_parameters, loss_now, mesh_of, shard_of, sharded_model
from tests.support.workers import run_workers

STEPS, DENSITY = 4, 0.1
GROUPS = (("0.weight",), ("2.weight", "3.weight"), ("5.weight",))
"""Of each call of `fully_shard`, what is sparse."""
SPARSE = tuple(name for group in GROUPS for name in group)
OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "counts that differ": {"selector": "gaussian_k"},
    "one selection from a group": {"granularity": "group", "selector": "random_k"},
}
SHOW_CURSOR = "\x1b[?25h"
"""What a terminal gets as a live line ends."""


class Read(NamedTuple):
    """Of each step what was written, what the shards show, and the seconds of the hook at most; is the line closed?"""

    readings: list[dict[str, Any]]
    truths: list[dict[str, Any]]
    most_seconds: list[float]
    is_closed_by_watch: bool


class Found(NamedTuple):
    """What one rank found."""

    read: dict[str, Read]
    second_steps: list[int]
    changed_by_watch: list[str]
    passages: list[list[tuple[tuple[int, ...], list[str]]]]


def steps_of(model: nn.Module) -> Iterator[int]:
    """Each step, after its backward and before the optimiser; in every second a batch before is held back."""
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        optimiser.zero_grad()
        if step % 2:
            model.set_requires_all_reduce(False)  # type: ignore[operator]
            loss_now(model, 100 + step).backward()
            model.set_requires_all_reduce(True)  # type: ignore[operator]
        loss_now(model, step).backward()
        yield step
        optimiser.step()


def read(mesh: DeviceMesh, path: Path, **options: Any) -> Read:
    """Readings of every step, from a file."""
    shown = io.StringIO()
    live = LiveLine(Console(file=shown, force_terminal=True, width=200))
    watch = telemetry([JsonLines(path), live], every=1)
    state = Recorder(model := sharded_model(mesh["shard"]), mesh, density=DENSITY, telemetry=watch, **options)
    truths, most_seconds, sent_bytes, began = [], [], 0, time.perf_counter()
    sent_last = {name: torch.zeros_like(state.pending(name)).flatten() for name in SPARSE}
    for step in steps_of(model):
        most_seconds.append(time.perf_counter() - began)
        gradient_bytes = sum(shard_of(parameter.grad).nbytes for parameter in model.parameters())
        of_bytes = {"sent_bytes": state.sent_bytes - sent_bytes, "gradient_bytes": gradient_bytes}
        truths.append(truth(state, sent_last, step, **options) | of_bytes)
        sent_bytes, began = state.sent_bytes, time.perf_counter()
    is_open = SHOW_CURSOR not in shown.getvalue()
    watch.close()
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return Read(written, truths, most_seconds, is_open and SHOW_CURSOR in shown.getvalue())


def truth(state: Recorder, sent_last: dict[str, Tensor], step: int, **options: Any) -> dict[str, Any]:
    """By the definitions, from whole shards; an entry that was sent left a zero."""
    kept = {name: state.pending(name).flatten() for name in SPARSE}
    for name in SPARSE:
        sent_last[name][kept[name] == 0] = step
    corrected = torch.cat([state.created[name] for name in SPARSE]).double()
    everything_kept = torch.cat([kept[name] for name in SPARSE]).double()
    ages = step - torch.cat([sent_last[name] for name in SPARSE])
    selections = GROUPS if options.get("granularity") == "group" else [(name,) for name in SPARSE]
    sizes = [sum(kept[name].numel() for name in names) for names in selections]
    return {
        "step": step,
        "contraction": 1 - float(everything_kept.square().sum() / corrected.square().sum()),
        "selected_count": int((everything_kept == 0).sum()),
        "target_count": sum(target_count(DENSITY, size) for size in sizes if size),
        "residual_norm": float(torch.linalg.vector_norm(everything_kept)),
        "mean_age_steps": float(ages.mean(dtype=torch.float64)),
        "oldest_age_steps": int(ages.max()),
    }


def second_steps(mesh: DeviceMesh) -> list[int]:
    """The steps of the readings of every second one, on the first rank; the others have no watch."""
    steps: list[int] = []
    watch = telemetry([lambda reading: steps.append(reading.step)], every=2)
    model = sharded_model(mesh["shard"])
    ShardedErrorFeedback(model, mesh, telemetry=watch if dist.get_rank() == 0 else None)
    for _ in steps_of(model):
        pass
    watch.close()
    return steps


def changed_by_watch(mesh: DeviceMesh, watched: list[WatchedStep]) -> list[str]:
    """Parameters and residuals that are others without a watch, where any time stamp would be an error."""
    ends: list[dict[str, Tensor]] = []
    for watch in (Watch(watched.append), None):
        state = ShardedErrorFeedback(model := sharded_model(mesh["shard"]), mesh, density=DENSITY, telemetry=watch)
        with patch.object(watching, "time", time if watch is not None else None):
            for _ in steps_of(model):
                pass
        if watch is not None:
            watch.close()
        names = [name for name, _ in model.named_parameters()]
        residuals = {f"residual of {name}": state.pending(name) for name in names}
        ends.append({**dict(zip(names, local_parameters(model), strict=True)), **residuals})
    return [name for name, there in ends[0].items() if not torch.equal(there, ends[1][name])]


def everything(folder: Path) -> Found:
    module.SAMPLE_STRIDE = 1
    mesh, watched = mesh_of(), list[WatchedStep]()
    read_by_key = {
        key: read(mesh, folder / f"{place}-{dist.get_rank()}.jsonl", **options)
        for place, (key, options) in enumerate(OPTIONS.items())
    }
    changed = changed_by_watch(mesh, watched)
    passages = [[(p.buckets, [name for name, _, _ in p.marks]) for p in step.passages] for step in watched]
    return Found(read_by_key, second_steps(mesh), changed, passages)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    return run_workers(partial(everything, tmp_path_factory.mktemp("readings")), 4)


@pytest.mark.parametrize("key", OPTIONS)
def test_readings_are_what_gradients_and_residuals_of_the_shards_show(ranks: list[Found], key: str) -> None:
    for read_here in (found.read[key] for found in ranks):
        assert [reading["step"] for reading in read_here.readings] == list(range(STEPS))
        for reading, expected in zip(read_here.readings, read_here.truths, strict=True):
            assert reading.keys() == {field.name for field in fields(Reading)}
            # Sums of some hundred squares in float64, in other orders; e and u are rounded to float32 alike.
            assert {name: reading[name] for name in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("key", OPTIONS)
def test_all_phases_of_the_exchange_are_timed_and_lie_within_the_step(ranks: list[Found], key: str) -> None:
    for read_here in (found.read[key] for found in ranks):
        for reading, most_seconds in zip(read_here.readings, read_here.most_seconds, strict=True):
            seconds = reading["phase_seconds"]
            assert list(seconds) == list(PHASES)
            assert min(seconds.values()) > 0
            assert sum(seconds.values()) < most_seconds


def test_break_even_is_with_an_all_reduce_between_replicas(ranks: list[Found]) -> None:
    found = [reading for of_rank in ranks for read_here in of_rank.read.values() for reading in read_here.readings]
    # Two replicas: a ring sends every gradient once, and each gathers one other buffer. Some shards are so small that
    # indices and heads take more than the entries that are left out.
    saved = [reading["gradient_bytes"] - reading["sent_bytes"] for reading in found]
    assert max(saved) > 0
    for reading, saved_bytes in zip(found, saved, strict=True):
        working_seconds = sum(reading["phase_seconds"].values()) - reading["phase_seconds"]["communicate"]
        # Six times are added in two orders.
        expected = pytest.approx(8e-6 * saved_bytes / working_seconds, rel=1e-9) if saved_bytes > 0 else None
        assert reading["break_even_mbit_per_second"] == expected


def test_a_watch_changes_no_bit_and_without_one_nothing_is_timed(ranks: list[Found]) -> None:
    assert [found.changed_by_watch for found in ranks] == [[]] * 4


def test_each_call_of_fully_shard_is_a_passage_whose_phases_follow_one_another(ranks: list[Found]) -> None:
    for found in ranks:
        assert len(found.passages) == STEPS
        for passages in found.passages:
            assert sorted(passages) == [((place,), ["ready", *PHASES]) for place in range(len(GROUPS))]


def test_only_steps_that_are_due_are_read_and_only_on_the_rank_with_a_watch(ranks: list[Found]) -> None:
    assert [found.second_steps for found in ranks] == [[0, 2], [], [], []]


def test_closing_the_watch_closes_the_live_line_and_not_before(ranks: list[Found]) -> None:
    assert all(read_here.is_closed_by_watch for found in ranks for read_here in found.read.values())
