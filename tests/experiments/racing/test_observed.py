"""A trace is a cluster: what it was recorded on comes out again, and other policies do there what they would have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparsync.experiments.engine.clusters import BatchCost, Change, Cluster, Link, Recorded
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.ds_sync import DsSync
from sparsync.experiments.policies.lb_bsp import LbBsp
from sparsync.experiments.policies.local_sgd import LocalSgd
from sparsync.experiments.racing.observed import observed_cluster
from sparsync.verify.monitors.trace import Event

LINE = Link(latency_seconds=0.25, bytes_per_second=1e4)
DURATIONS = Recorded(((1.0, 2.0, 0.5), (3.0,), (1.5, 1.0)))
CLUSTER = Cluster(3, DURATIONS, upload=LINE, download=LINE)


def trace_of(policy: Policy, cluster: Cluster, *, message_bytes: int = 5000) -> list[Event]:
    run = Simulation(policy, cluster, Horizon(seconds=60.0), message_bytes=message_bytes)
    run.run()
    return run.trace


def test_durations_are_those_of_each_worker_and_step() -> None:
    found = observed_cluster(trace_of(Asp(), CLUSTER), 3).durations
    assert [[found(worker, step) for step in range(6)] for worker in range(3)] == [
        pytest.approx([DURATIONS(worker, step) for step in range(6)]) for worker in range(3)
    ]


def test_durations_are_those_of_a_usual_batch() -> None:
    found = observed_cluster(trace_of(LbBsp(), replace(CLUSTER, durations=Recorded(((1.0,), (3.0,), (1.5,))))), 3)
    assert [found.durations(worker, 9) for worker in range(3)] == pytest.approx([1.0, 3.0, 1.5])


def test_where_steps_are_not_in_proportion_durations_are_those_of_a_usual_batch_too() -> None:
    cost = BatchCost(0.25, flat_until=0.5)
    cluster = replace(CLUSTER, durations=Recorded(((1.0,), (3.0,), (1.5,))), batch_costs=(cost,))
    found = observed_cluster(trace_of(LbBsp(), cluster), 3, cost)
    assert found.batch_costs == (cost,)
    assert [found.durations(worker, 9) for worker in range(3)] == pytest.approx([1.0, 3.0, 1.5])


def test_a_message_takes_as_long_as_it_took() -> None:
    found = observed_cluster(trace_of(Asp(), CLUSTER), 3)
    for link in (found.upload, found.download):
        assert link.latency_seconds + link.occupied_seconds(5000) == pytest.approx(0.75)
        assert not link.is_shared


def test_where_models_are_mixed_that_is_the_upload() -> None:
    found = observed_cluster(trace_of(DsSync(), CLUSTER), 3)
    # Each of two members sends half of what both publish.
    assert found.upload.latency_seconds + found.upload.occupied_seconds(5000) == pytest.approx(0.75)


def test_an_order_takes_as_long_as_it_took() -> None:
    found = observed_cluster(trace_of(LocalSgd(period=4), replace(CLUSTER, order_seconds=0.125)), 3)
    assert found.order_seconds == pytest.approx(0.125)


def test_who_came_and_went_does_so_again() -> None:
    changes = (Change(5.25, 1, "crash"), Change(9.5, 2, "join"), Change(12.0, 1, "join"))
    found = observed_cluster(trace_of(Asp(), replace(CLUSTER, changes=changes, absent=frozenset({2}))), 3)
    assert (found.changes, found.absent) == (changes, frozenset({2}))


def test_who_finished_no_step_is_as_fast_as_usual() -> None:
    found = observed_cluster(trace_of(Asp(), replace(CLUSTER, absent=frozenset({0, 2}))), 3)
    assert [found.durations(worker, 0) for worker in range(3)] == [3.0, 3.0, 3.0]


def test_a_trace_without_a_step_is_no_cluster() -> None:
    with pytest.raises(ValueError, match="no worker finished a step"):
        observed_cluster(trace_of(Asp(), replace(CLUSTER, durations=Recorded(((99.0,),)))), 3)
