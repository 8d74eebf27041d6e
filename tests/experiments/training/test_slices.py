"""A run has the same bits on any number of processes, and where that number changes in its middle."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments import train
from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.command import Command
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training import loop
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.experiments.training.slices import SlicedAverager, shares
from sparsync.experiments.training.worker import step
from sparsync.kernels.payload import SparsePayload
from tests.support.slow_cases import slow_except
from tests.support.workers import joined_already, run_workers

WORKER_COUNT, PROCESS_COUNTS = 4, slow_except({3}, [1, 2, 3, 4])
SETTINGS: dict[str, Any] = {"model": "fnn2", "density": 0.01, "steps": 6, "test_limit": 16, "momentum": 0.9}
RUN = replace(RUNS["fnn3_top_k"], workers=WORKER_COUNT, **SETTINGS)
# "auto" measures its link, and so chooses by the machine.
SLICED = {
    f"{selector}, {name}": replace(RUN, selector=selector, collective=name, node_size=2)
    for selector, names in (("top_k", [name for name in COLLECTIVES if name != "auto"]), ("keep_all", ["dense"]))
    for name in names
} | {
    "statistics": replace(RUN, model="resnet20", batch_size=2, steps=2),
    "code": replace(RUN, values="int8"),
}


@given(worker_count=st.integers(1, 40), process_count=st.integers(1, 40))
def test_shares_are_neighbours_and_differ_by_one_at_most(worker_count: int, process_count: int) -> None:
    if worker_count < process_count:
        with pytest.raises(ValueError, match=f"{worker_count} workers are fewer than the {process_count} processes"):
            shares(worker_count, process_count)
        return
    found = shares(worker_count, process_count)
    assert list(chain(*found)) == list(range(worker_count))
    sizes = [len(share) for share in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


def train_here(name: str, run: Run, folder: Path, **options: Any) -> dict[str, Any] | None:
    """The command in a rank of a group that is there already; what it writes."""
    os.environ |= {"RANK": str(dist.get_rank()), "WORLD_SIZE": str(dist.get_world_size())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_joined", joined_already)
        train.train(Command(run=name, output=folder / f"{name}.json", settings=run, **options))
    written = folder / f"{name}.json"
    return json.loads(written.read_text()) if dist.get_rank() == 0 else None


def train_of(model: str) -> dict[str, dict[str, Any] | None]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: train_here(name, run, Path(folder)) for name, run in SLICED.items() if run.model == model}


@cache
def written_by(process_count: int, model: str) -> dict[str, dict[str, Any]]:
    """What the first process wrote of each run of a model."""
    found: dict[str, dict[str, Any]] = run_workers(partial(train_of, model), process_count)[0]
    return found


@pytest.mark.parametrize("process_count", PROCESS_COUNTS)
@pytest.mark.parametrize("name", slow_except(set(SLICED) - {"statistics"}, SLICED))
def test_four_workers_have_the_bits_of_the_simulation_on_any_number_of_processes(name: str, process_count: int) -> None:
    run = SLICED[name]
    result, simulated = written_by(process_count, run.model)[name], simulate(run)
    assert result["parameters_sha256"] == simulated.parameters_sha256
    assert result["loss"] == [facts.loss for facts in simulated.steps]
    assert result["sent_bytes"] == [facts.sent_bytes for facts in simulated.steps]
    assert result["provenance"]["process_count"] == process_count


def train_dense() -> dict[str, dict[str, Any] | None]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: train_here(name, run, Path(folder)) for name, run in SLICED.items() if "dense" in name}


def test_as_many_processes_as_workers_add_whole_vectors_in_the_same_order() -> None:
    """Where nobody names a number of workers, they all-reduce."""
    for name, result in run_workers(train_dense, WORKER_COUNT)[0].items():
        assert result["parameters_sha256"] == simulate(SLICED[name]).parameters_sha256, name


def train_a_part(folder: Path, steps: int) -> dict[str, Any] | None:
    """Of a run of six updates; the process ends after some of them as a killed one would."""
    options = {"checkpoint": folder / "kept", "every": 2, "resume": True}
    with pytest.MonkeyPatch.context() as patch:

        def limited(index: int, *others: Any) -> Any:
            if index == steps:
                raise KeyboardInterrupt
            return step(index, *others)

        patch.setattr(loop, "step", limited)
        try:
            return train_here("resized", replace(RUN, collective="balanced"), folder, **options)
        except KeyboardInterrupt:
            return None


def test_a_run_that_goes_on_with_other_processes_has_the_same_bits(tmp_path: Path) -> None:
    for process_count, steps in ((2, 3), (1, 5), (3, 6)):
        (result, *_) = run_workers(partial(train_a_part, tmp_path, steps), process_count)
    assert result is not None
    simulated = simulate(replace(RUN, collective="balanced"))
    assert result["parameters_sha256"] == simulated.parameters_sha256
    assert result["sent_bytes"] == [facts.sent_bytes for facts in simulated.steps]
    assert [attempt["first_step"] for attempt in result["attempts"]] == [0, 2, 4]
    assert {attempt["worker_count"] for attempt in result["attempts"]} == {WORKER_COUNT}
    assert result["lost_steps"] == 2


def misuse() -> list[str]:
    averager = SlicedAverager("sparse", worker_count=3)
    payload = SparsePayload(torch.ones(1), torch.zeros(1, dtype=torch.int32), 5)
    said = []
    for act in (
        lambda: averager.gather([1.0, 2.0, 3.0]),
        lambda: averager.average([payload] * 3),
        lambda: averager.mean([]),
        lambda: averager.gather_vectors([]),
    ):
        with pytest.raises(ValueError, match="expected one for each of") as caught:
            act()
        said.append(str(caught.value))
    is_first = dist.get_rank() == 0
    wrong = SparsePayload(torch.ones(1), torch.full((1,), 5, dtype=torch.int32), 5)
    payloads = [payload, wrong] if is_first else [payload]
    with pytest.raises(ExchangeError, match=r"sparse, step 0: .*rank 1.*index 5 at place 0, outside \[0, 5\)"):
        averager.average(payloads)
    averager.average([payload] * len(payloads))
    return said


def test_workers_that_are_too_many_or_send_what_cannot_be_are_refused_on_all_processes() -> None:
    of_two, of_one = run_workers(misuse, 2)
    assert of_two == [f"expected one for each of 2 local workers, got {count}" for count in (3, 3, 0, 0)]
    assert of_one == [f"expected one for each of 1 local workers, got {count}" for count in (3, 3, 0, 0)]


def handed_round() -> list[list[float]]:
    averager = SlicedAverager("dense", worker_count=3)
    own = shares(3, dist.get_world_size())[dist.get_rank()]
    return [
        vector.tolist() for vector in averager.gather_vectors([torch.full((2,), rank) + 0.5 for rank in own]).vectors
    ]


def test_the_vectors_of_all_workers_reach_all_processes_in_rank_order() -> None:
    assert run_workers(handed_round, 2) == [[[0.5, 0.5], [1.5, 1.5], [2.5, 2.5]]] * 2
