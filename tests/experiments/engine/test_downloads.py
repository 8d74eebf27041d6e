"""A worker that is told only what has changed since it read last has the same model, bit by bit, for fewer bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.layout import Layout, Shipment
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.replay import Divergence, Replay
from sparsync.experiments.engine.shared_model import Download, SharedModel
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import QUADRATIC, Race, run_contestant
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.trace import Fetched, Joined, Released
from tests.experiments.policies.test_policies import BROKEN
from tests.support.fitting import usual_for

CHANGES = (Change(4.1, 2, "crash"), Change(6.3, 0, "leave"), Change(7.9, 2, "join"), Change(9.4, 0, "join"))
DIMENSION, BLOCKS = 64, 4
BOTH: tuple[Download, Download] = ("dense", "sparse")


def ran(name: str, how: Download, *, density: float | None = 0.05, **cluster: Any) -> Simulation:
    descent = Descent(selector=None if density is None else "top_k", density=density or 1.0, consensus_step=0.5)
    problem = Quadratics((1.0,) * DIMENSION, worker_count=4, spread=1.0, noise=0.1, block_count=BLOCKS, seed=1)
    vectors = Vectors(problem, descent, worker_count=4, download=how)
    durations = Constant((1.0, 1.25, 1.5, 3.0))
    judged: dict[str, Any] = {"make_judge": None} if name in BROKEN else {}
    policy = make_policy(name, usual_for(name, 4))
    run = Simulation(policy, Cluster(4, durations, **cluster), Horizon(seconds=20.0), vectors=vectors, **judged)
    run.run()
    return run


def without_bytes(run: Simulation) -> list[Any]:
    reads = (Joined, Released, Fetched)
    return [event._replace(pulled_bytes=0) if isinstance(event, reads) else event for event in run.trace]


@pytest.mark.parametrize("name", POLICIES)
def test_nothing_changes_but_the_bytes_where_lines_take_no_time(name: str) -> None:
    changes = CHANGES if POLICIES[name].tolerates_loss else ()
    dense, sparse = (ran(name, how, changes=changes) for how in BOTH)
    assert without_bytes(sparse) == without_bytes(dense)
    assert dense.vectors is not None
    assert sparse.vectors is not None
    assert torch.equal(dense.vectors.shared, sparse.vectors.shared)
    for one, other in zip(dense.vectors.workers, sparse.vectors.workers, strict=True):
        assert torch.equal(one.model, other.model)
    if POLICIES[name].is_decentralised:
        assert sparse.pulled_bytes == dense.pulled_bytes
    else:
        assert 0 < sparse.pulled_bytes < 0.8 * dense.pulled_bytes


@pytest.mark.parametrize("name", ["asp", "osp"])
def test_what_is_shorter_whole_is_read_whole(name: str) -> None:
    """Where everybody sends everything, everything changes."""
    dense, sparse = (ran(name, how, density=None) for how in BOTH)
    assert sparse.trace == dense.trace


def test_the_bytes_are_those_of_positions_and_values_that_others_have_changed_since() -> None:
    """Before it reads first, nobody but itself has sent: 3 entries of 8 + 4 bytes."""
    run = ran("asp", "sparse", density=3 / DIMENSION)
    sizes = [event.pulled_bytes for event in run.trace if isinstance(event, Released)]
    assert sizes[0] == 3 * (8 + 4)
    assert {size % 12 for size in sizes} == {0}
    assert max(sizes) <= DIMENSION * 8


def test_one_that_comes_back_has_the_initial_model_and_is_told_all_that_has_changed_since() -> None:
    run = ran("asp", "sparse", density=3 / DIMENSION, changes=(Change(4.1, 2, "crash"), Change(4.9, 2, "join")))
    join = next(event for event in run.trace if isinstance(event, Joined) and event.time)
    before = [event for event in run.trace if isinstance(event, Released) and event.time < join.time]
    assert join.pulled_bytes > 2 * max(event.pulled_bytes for event in before if event.worker == 2)


@pytest.mark.parametrize("name", ["asp", "osp", "ssp", "parameter_database"])
def test_fewer_bytes_take_less_time_and_every_promise_is_kept(name: str) -> None:
    line = Link(bytes_per_second=1000.0, latency_seconds=0.01)
    dense, sparse = (ran(name, how, download=line, upload=line) for how in BOTH)
    assert sum(sparse.view.clock) > sum(dense.view.clock)


@pytest.mark.parametrize("name", ["asp", "osp", "ssp"])
def test_a_replay_takes_the_bytes_from_the_trace(name: str) -> None:
    changes = CHANGES if POLICIES[name].tolerates_loss else ()
    run = ran(name, "sparse", changes=changes, download=Link(bytes_per_second=1000.0))
    again: dict[str, Any] = {"block_bytes": run.view.block_bytes, "seed": 0}
    fresh = Replay(make_policy(name, {}), run.header, run.trace, download="sparse", **again)
    assert fresh.run() == len(run.trace)
    assert fresh.pulled_bytes == run.pulled_bytes
    with pytest.raises(Divergence):
        Replay(make_policy(name, {}), run.header, run.trace, **again).run()


@settings(max_examples=40, deadline=None)
@given(data=st.data(), dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_news_make_any_earlier_copy_of_any_blocks_the_model_bit_by_bit(data: st.DataObject, dtype: torch.dtype) -> None:
    """Entries that change there and back, from −0 to 0, or not at all, in whatever order blocks are asked for."""
    layout = Layout((2, 3, 1), dtype)
    shared = SharedModel(-torch.zeros(6, dtype=dtype), layout, download="sparse")
    copies: list[Tensor] = [shared.model.clone()]
    numbers = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5])
    for message in range(data.draw(st.integers(1, 6))):
        places = sorted(data.draw(st.sets(st.integers(0, 5), min_size=1)))
        values = torch.tensor([data.draw(numbers) for _ in places], dtype=dtype)
        shared.keep(message, 0, Shipment(torch.tensor(places), values))
        shared.apply([message], [data.draw(st.sampled_from([1.0, -1.0]))])
        copies.append(shared.model.clone())
    blocks = data.draw(st.lists(st.integers(0, 2), unique=True, min_size=1))
    since = {block: data.draw(st.integers(0, len(copies) - 1)) for block in blocks}
    held = torch.cat([layout.parts(copies[version])[block] for block, version in since.items()])
    news = shared.news(since)
    assert news is not None
    held[news.indices.long()] = news.values
    now = torch.cat([layout.parts(shared.model)[block] for block in blocks])
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    assert torch.equal(held.view(bits), now.view(bits))
    assert news.dimension == len(now)
    if set(since.values()) == {len(copies) - 1}:
        assert not len(news.indices)


def test_an_unknown_download_is_refused_and_a_known_one_is_an_option_of_the_race() -> None:
    with pytest.raises(ValueError, match=r"^download must be 'dense' or 'sparse', got 'thin'$"):
        SharedModel(torch.zeros(2), Layout((2,), torch.float32), download="thin")  # type: ignore[arg-type]
    race = Race(data=QUADRATIC, seconds=12.0, points=1, selector="top_k", density=0.05)
    dense, sparse = (run_contestant(replace(race, download=how), "asp") for how in BOTH)
    assert sparse.pulled_bytes < dense.pulled_bytes
    assert sparse.points[-1].quality == dense.points[-1].quality
