"""Local SGD averages the models of all workers every H steps, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.local_sgd import LocalSgd
from sparsync.verify.monitors.trace import Applied, Sent, Stepped

GRID = 2.0**20


def run(period: int, *, steps: int = 12, worker_count: int = 4, **cluster: Any) -> Simulation:
    problem = Quadratics([1.0, 0.5, 2.0], worker_count=worker_count, spread=1.0, noise=0.1, seed=2)
    vectors = Vectors(problem, Descent(is_on_grid=True), worker_count=worker_count)
    settings: dict[str, Any] = {"durations": Constant((1.0, 1.5, 2.0, 3.25))} | cluster
    simulation = Simulation(LocalSgd(period), Cluster(worker_count, **settings), Horizon(steps=steps), vectors=vectors)
    simulation.run()
    return simulation


@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_each_round_is_the_mean_of_lone_descents(period: int) -> None:
    """Twelve steps in rounds of H, written down without an engine, are equal to the last bit."""
    problem = Quadratics([1.0, 0.5, 2.0], worker_count=4, spread=1.0, noise=0.1, seed=2)
    shared = problem.initial.clone()
    for first in range(0, 12, period):
        ends = [shared.clone() for _ in range(4)]
        for step in range(first, first + period):
            for worker, model in enumerate(ends):
                _, gradient = problem.loss_and_gradient(worker, step, model, 1.0)
                model += (gradient * -0.1 * GRID).round() / GRID
        shared = torch.stack(ends).mean(dim=0)
    vectors = run(period).vectors
    assert vectors is not None
    assert torch.equal(vectors.shared, shared)


@pytest.mark.parametrize("period", [1, 2, 5])
def test_the_fastest_is_a_whole_period_ahead_and_no_more(period: int) -> None:
    trace = run(period, steps=20, durations=Constant((1.0, 50.0))).trace
    clock = [0] * 4
    gaps = []
    for event in trace:
        if isinstance(event, Stepped):
            clock[event.worker] = event.clock
            gaps.append(event.clock - min(clock))
    assert max(gaps) == period


def test_only_every_period_th_step_is_reported() -> None:
    sent = [(event.time, event.worker) for event in run(4, durations=Constant((1.0,))).trace if isinstance(event, Sent)]
    assert sent == [(time, worker) for time in (4.0, 8.0, 12.0) for worker in range(4)]


def test_one_that_joins_within_a_period_reports_with_the_others() -> None:
    """Others have finished two steps of four at 2.5: it is to make two, and a message says how many it covers."""
    simulation = run(4, steps=8, durations=Constant((1.0,)), absent=frozenset({3}), changes=(Change(2.5, 3, "join"),))
    first = next(event for event in simulation.trace if isinstance(event, Applied))
    assert first.messages == (0, 1, 2, 3)
    assert first.weights == (0.25,) * 4
    assert first.time == 4.5
    steps_of_the_new_one = [
        event.time for event in simulation.trace if isinstance(event, Stepped) and event.worker == 3
    ]
    assert steps_of_the_new_one[:3] == [3.5, 4.5, 5.5]


def test_fewer_reports_take_less_time_on_a_slow_link() -> None:
    """Six rounds of one step wait for six transfers there and back, two of three steps for two."""
    link = Link(latency_seconds=1.0)
    ends = [run(period, steps=6, durations=Constant((1.0,)), upload=link, download=link).view.now for period in (1, 3)]
    assert ends == [6 + 6 + 5, 6 + 2 + 1]


def test_a_period_must_be_positive() -> None:
    with pytest.raises(ValueError, match="got 0"):
        LocalSgd(0)
