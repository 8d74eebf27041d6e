"""Backup workers shorten rounds, and whoever is always slow never has a say."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Recorded
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.backup import Backup
from sparsync.verify.monitors.trace import Applied, Dropped, Sent

STRAGGLER = Constant((1.0, 1.25, 1.5, 4.0))


def run(backups: int, *, horizon: Horizon, vectors: Vectors | None = None, **cluster: Any) -> Simulation:
    options: dict[str, Any] = {"durations": STRAGGLER} | cluster
    simulation = Simulation(Backup(backups), Cluster(4, **options), horizon, vectors=vectors)
    simulation.run()
    return simulation


def senders(simulation: Simulation) -> dict[int, int]:
    return {event.message: event.worker for event in simulation.trace if isinstance(event, Sent)}


@pytest.mark.parametrize(("backups", "seconds"), [(0, 4.0), (1, 1.5), (2, 1.25), (3, 1.0)])
def test_a_round_lasts_as_long_as_the_last_step_it_waits_for(backups: int, seconds: float) -> None:
    """Late ones are out of step with the rounds, but of these durations those needed never are."""
    simulation = run(backups, horizon=Horizon(versions=4))
    assert [event.time for event in simulation.trace if isinstance(event, Applied)] == [
        seconds * number for number in range(1, 5)
    ]


def test_every_report_of_a_persistent_straggler_is_dropped() -> None:
    simulation = run(1, horizon=Horizon(seconds=100.0))
    by_sender = senders(simulation)
    applied = [by_sender[uid] for event in simulation.trace if isinstance(event, Applied) for uid in event.messages]
    dropped = [by_sender[uid] for event in simulation.trace if isinstance(event, Dropped) for uid in event.messages]
    assert sorted(set(applied)) == [0, 1, 2]
    assert set(dropped) == {3}
    # A step of four seconds meets every third round of one and a half: it reads there and is late 24 times.
    assert len(dropped) == 25


def test_the_limit_is_the_optimum_of_those_who_are_heard() -> None:
    """f_w = ½‖x − c_w‖² for all: descent halves the distance to the mean optimum of the three fast workers."""
    problem = Quadratics([1.0, 1.0, 1.0], worker_count=4, spread=3.0, seed=1)
    optima = [-problem.loss_and_gradient(worker, 0, torch.zeros(3).double(), 1.0)[1] for worker in range(4)]
    vectors = Vectors(problem, Descent(step_size=0.5), worker_count=4)
    run(1, horizon=Horizon(versions=60), vectors=vectors)
    heard, everybody = torch.stack(optima[:3]).mean(dim=0), torch.stack(optima).mean(dim=0)
    # The distance has been halved 60 times; each of 60 roundings of numbers below 8 is halved by all later steps.
    assert (vectors.shared - heard).abs().max() < 16 * 2.0**-52 + 8 * 2.0**-60
    assert (vectors.shared - everybody).abs().max() > 0.1


@settings(max_examples=30, deadline=None)
@given(
    backups=st.integers(0, 3),
    rows=st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=4, max_size=4),
)
def test_a_round_has_all_reports_but_those_of_the_backups_and_each_weighs_the_same(
    backups: int, rows: list[list[float]]
) -> None:
    durations = Recorded(tuple(map(tuple, rows)))
    simulation = run(backups, horizon=Horizon(versions=12), durations=durations)
    rounds = [event for event in simulation.trace if isinstance(event, Applied)]
    needed = 4 - backups
    assert len(rounds) == 12
    assert {event.weights for event in rounds} == {(1 / needed,) * needed}


def test_a_crash_leaves_fewer_to_wait_for() -> None:
    """Without worker 2 a round of three alive with one backup waits for two: workers 0 and 1."""
    simulation = run(1, horizon=Horizon(versions=3), changes=(Change(1.4, 2, "crash"),))
    assert [event.time for event in simulation.trace if isinstance(event, Applied)] == [1.4, 2.65, 3.9]


def test_a_crash_before_any_report_makes_no_round() -> None:
    simulation = run(3, horizon=Horizon(versions=2), changes=(Change(0.5, 0, "crash"),))
    assert [event.time for event in simulation.trace if isinstance(event, Applied)] == [1.25, 2.5]


def test_the_number_of_backups_must_not_be_negative() -> None:
    with pytest.raises(ValueError, match="got -1"):
        Backup(-1)
