"""Every policy on real processes: its promises are kept, and told again it decides the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.replay import Replay
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.contest import VOCABULARIES
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.trace import Applied, Departed, Fetched, Mixed, Released, Sent, Stepped
from tests.experiments.policies.test_policies import BROKEN
from tests.support.fitting import usual_for
from tests.support.launch.real_runs import (
    PATIENCE_SECONDS,
    real_parameters,
    real_server,
    usual_conditions,
    usual_race,
)
from tests.support.slow_cases import slow_except

USUAL = {"ssp", "backup", "osp", "selsync", "ds_sync", "dybw", "adsp", "aw_psp"}
"""One of each kind: bounds, drops, two stages, flags, groups, mixes, alarms, samples."""
STEPS = 12
PATIENT = usual_conditions(lost_after=PATIENCE_SECONDS)
"""Nobody is lost here, however busy the machine is."""


@pytest.mark.parametrize("name", ["asp", "osp", pytest.param("pssp", marks=pytest.mark.slow)])
def test_what_has_changed_alone_is_sent_and_gives_the_model_that_was_promised(name: str) -> None:
    """The monitors compare what a worker goes on from with the shared model; the bytes are those of bodies."""
    parameters = usual_for(name, 4)
    options: dict[str, Any] = {"selector": "top_k", "density": 0.05, "download": "sparse"}
    # Among float64 numbers of 512 words, what a few workers change is little.
    race = usual_race(data=VOCABULARIES, workers=4, step_size=4.0, **options)
    with real_server(make_policy(name, parameters), race, PATIENT) as (server, _):
        server.run()
        server.finish()
    reads = [event for event in server.trace if isinstance(event, Released | Fetched)]
    assert min(server.view.clock) > 3
    assert 0 < server.pulled_bytes == sum(event.pulled_bytes for event in reads)
    whole = sum(server.view.block_bytes)
    reading_count = sum(isinstance(event, Released) for event in reads)
    assert server.pulled_bytes < 0.6 * whole * reading_count
    again: dict[str, Any] = {"block_bytes": server.view.block_bytes, "seed": race.seed, "download": "sparse"}
    assert Replay(make_policy(name, parameters), server.header, server.trace, **again).run() == len(server.trace)


@pytest.mark.parametrize("selector", ["top_k", pytest.param("none", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_except(USUAL, [name for name in POLICIES if name not in BROKEN]))
def test_a_real_run_keeps_its_promises_and_is_decided_the_same_again(name: str, selector: str) -> None:
    parameters = real_parameters(name)
    consensus_step = 0.5 if selector != "none" else 1.0
    race = usual_race(selector=selector, density=0.25, consensus_step=consensus_step, seconds=PATIENCE_SECONDS)
    with real_server(make_policy(name, parameters), race, PATIENT, steps=STEPS) as (server, _):
        server.run()
        server.finish()
    trace = server.trace
    assert server.view.clock == [STEPS] * 4
    assert server.is_clear
    # Of one that was not heard to the end the last message would be one of nothing.
    assert all(event.sent_bytes for event in trace if isinstance(event, Sent))
    assert sorted(event.worker for event in trace if isinstance(event, Departed)) == [0, 1, 2, 3]
    assert sum(isinstance(event, Applied | Mixed) for event in trace) > 1
    assert len({event.worker for event in trace if isinstance(event, Stepped)}) == 4
    fresh = make_policy(name, parameters)
    layout = server.shared.layout
    replay = Replay(fresh, server.header, trace, block_bytes=layout.block_bytes, seed=race.seed)
    assert replay.run() == len(trace)


@pytest.mark.slow
def test_groups_on_racks_are_decided_the_same_again() -> None:
    race = usual_race(seconds=PATIENCE_SECONDS)
    policies = [make_policy("ds_sync", {"rack_size": 2, "group_size": 2}) for _ in "ab"]
    with real_server(policies[0], race, PATIENT, steps=STEPS) as (server, _):
        server.run()
        server.finish()
    pairs = {event.members for event in server.trace if isinstance(event, Mixed)}
    assert pairs >= {(0, 1), (2, 3), (0, 2), (1, 3)}
    layout = server.shared.layout
    replay = Replay(policies[1], server.header, server.trace, block_bytes=layout.block_bytes, seed=race.seed)
    assert replay.run() == len(server.trace)


@pytest.mark.parametrize("name", ["selsync", pytest.param("bsp", marks=pytest.mark.slow)])
def test_on_parts_sorted_by_label_workers_inject_what_they_do_in_simulation(name: str) -> None:
    """Each draws the others' examples itself; rounds are added in worker order, so that sums have the same bits.

    A worker computes on one thread; the simulation must, too.
    """
    torch.set_num_threads(1)
    race = usual_race(
        data="embedded", model="fnn2", seconds=PATIENCE_SECONDS, partition="labels", injecting=0.5, injected=0.25
    )
    parameters: dict[str, Any] = {"threshold": 0.1, "window": 2} if name == "selsync" else {}
    with real_server(make_policy(name, parameters), race, PATIENT, steps=STEPS) as (server, _):
        server.run()
        server.finish()
    vectors = Vectors(race.make_problem(), race.descent(), worker_count=4, seed=race.seed)
    policy = make_policy(name, parameters)
    simulation = Simulation(policy, race.make_cluster(), Horizon(steps=STEPS), vectors=vectors, seed=race.seed)
    simulation.run()
    assert server.view.version == simulation.view.version > 2
    assert torch.equal(server.shared.model, vectors.shared)
    fresh, layout = make_policy(name, parameters), server.shared.layout
    replay = Replay(fresh, server.header, server.trace, block_bytes=layout.block_bytes, seed=race.seed)
    assert replay.run() == len(server.trace)


@pytest.mark.parametrize("selector", ["none", "top_k"])
def test_on_the_grid_a_barrier_has_the_bits_of_its_simulation(selector: str) -> None:
    """Sums are exact there, so that the order in which messages arrive leaves no trace in them."""
    race = usual_race(selector=selector, density=0.25, grid=True, seconds=PATIENCE_SECONDS)
    with real_server(make_policy("bsp", {}), race, PATIENT, steps=STEPS) as (server, _):
        server.run()
        server.finish()
    vectors = Vectors(race.make_problem(), race.descent(), worker_count=4, seed=race.seed)
    horizon = Horizon(steps=STEPS)
    simulation = Simulation(make_policy("bsp", {}), race.make_cluster(), horizon, vectors=vectors, seed=race.seed)
    simulation.run()
    assert server.shared.layout.is_on_grid
    assert vectors.layout.is_on_grid
    assert server.view.version == simulation.view.version == STEPS
    assert torch.equal(server.shared.model, vectors.shared)
    assert not torch.equal(vectors.shared, race.make_problem().initial)
