"""Collaborative training: an update holds so many examples, whoever brought them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link, Recorded
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Plan
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.dedloc import Dedloc
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import judge_trace
from sparsync.verify.monitors.trace import Applied, Arrived, Released, Sent, Started, Stepped


class Uneven(Dedloc):
    """Workers that take steps on different batches."""

    def plan(self, worker: int) -> Plan:
        return Plan(batch=(0.5, 1.0, 1.75, 3.0)[worker])


def run(
    policy: Dedloc, *, horizon: Horizon, worker_count: int = 4, vectors: Vectors | None = None, **cluster: Any
) -> Simulation:
    simulation = Simulation(policy, Cluster(worker_count, **cluster), horizon, vectors=vectors)
    simulation.run()
    return simulation


def updates(simulation: Simulation) -> list[Applied]:
    return [event for event in simulation.trace if isinstance(event, Applied)]


def batch_of_messages(simulation: Simulation) -> dict[int, float]:
    """The batch of the step before each message, from the trace."""
    batch: dict[int, float] = {}
    found: dict[int, float] = {}
    for event in simulation.trace:
        if isinstance(event, Started):
            batch[event.worker] = event.batch
        if isinstance(event, Sent):
            found[event.message] = batch[event.worker]
    return found


ROWS = st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=4, max_size=4)


@settings(max_examples=25, deadline=None)
@given(target=st.floats(0.5, 20.0), rows=ROWS, uneven=st.booleans(), latency=st.sampled_from([0.0, 0.5, 4.0]))
def test_an_update_holds_the_target_and_less_than_one_report_more(
    target: float, rows: list[list[float]], uneven: bool, latency: float
) -> None:
    policy = (Uneven if uneven else Dedloc)(target)
    link = Link(latency_seconds=latency)
    simulation = run(policy, horizon=Horizon(seconds=60.0), durations=Recorded(tuple(map(tuple, rows))), upload=link)
    batches = batch_of_messages(simulation)
    for event in updates(simulation):
        held = [batches[uid] for uid in event.messages]
        # Exactly: as floats, target and largest batch may round to what is held.
        assert target <= sum(map(Fraction, held)) < Fraction(target) + (3 if uneven else 1)
        assert event.weights == pytest.approx([batch / sum(held) for batch in held], rel=1e-15)
    assert updates(simulation) or sum(batches.values()) < target + 4 * 3.0


@pytest.mark.parametrize("target", [1, 3])
def test_one_worker_descends_on_batches_of_the_target_size(target: int) -> None:
    """With target 1 that is plain descent; with 3, one step of the mean of three gradients at the same model."""
    problem = Quadratics([1.0, 0.5], worker_count=1, spread=1.0, noise=0.5)
    vectors = Vectors(problem, Descent(), worker_count=1)
    link = Link(latency_seconds=0.5)
    run(Dedloc(target), horizon=Horizon(versions=4), worker_count=1, vectors=vectors, upload=link, download=link)
    model = problem.initial.clone()
    for update in range(4):
        steps = range(target * update, target * (update + 1))
        model -= 0.1 * torch.stack([problem.loss_and_gradient(0, step, model, 1.0)[1] for step in steps]).mean(dim=0)
    # Four updates, each of six roundings of numbers below 4; they contract errors.
    assert (vectors.shared - model).abs().max() < 4 * 6 * 4 * 2.0**-53


def test_nobody_waits_for_others() -> None:
    """A worker is at the gate only while its own report travels, 0.25 seconds for each."""
    simulation = run(
        Dedloc(5),
        horizon=Horizon(seconds=100.0),
        durations=Constant((1.0, 2.0, 7.0, 30.0)),
        upload=Link(latency_seconds=0.25),
    )
    report = judge_trace(simulation.header, Guarantee(), simulation.trace, 100.0)
    assert [worker.waiting_seconds for worker in report.workers] == pytest.approx(
        [0.25 * worker.sent for worker in report.workers]
    )
    assert [worker.steps for worker in report.workers] == [80, 44, 13, 3]


def test_a_worker_pulls_where_there_is_a_new_version_and_keeps_its_model_otherwise() -> None:
    simulation = run(Dedloc(3), horizon=Horizon(seconds=4.0), worker_count=2, durations=Constant((1.0, 1.5)))
    releases = [(event.time, event.worker, event.version) for event in simulation.trace if isinstance(event, Released)]
    # Reports at 1, 1.5 and 2 make version 1, those at 3, 3 and 4 version 2.
    assert sorted(releases) == [(1.0, 0, -1), (1.5, 1, -1), (2.0, 0, 1), (3.0, 0, -1), (3.0, 1, 1), (4.0, 0, 2)]


def test_a_report_waits_for_less_than_the_target_of_its_sender_s_further_steps() -> None:
    simulation = run(Dedloc(6), horizon=Horizon(seconds=200.0), durations=Constant((1.0, 100.0)), worker_count=2)
    assert judge_trace(simulation.header, Guarantee(deferral=5), simulation.trace, 200.0).largest_deferral == 5


def test_updates_come_as_fast_as_those_present_work_and_as_large_as_ever() -> None:
    """Four workers make an update of 8 in two seconds; two of them, who are left, in four."""
    changes = (Change(4.5, 0, "crash"), Change(4.5, 3, "leave"))
    simulation = run(Dedloc(8), horizon=Horizon(seconds=13.0), durations=Constant((1.0,)), changes=changes)
    assert [event.time for event in updates(simulation)] == [2.0, 4.0, 8.0, 12.0]
    assert {len(event.messages) for event in updates(simulation)} == {8}
    assert [event.clock for event in simulation.trace if isinstance(event, Stepped) and event.worker == 3][-1] == 5


def test_a_target_must_be_positive() -> None:
    with pytest.raises(ValueError, match="got 0"):
        Dedloc(0)


def test_reports_are_added_in_worker_order_whoever_came_first() -> None:
    simulation = run(
        Dedloc(target_batch=3), horizon=Horizon(versions=1), worker_count=3, durations=Constant((3.0, 2.0, 1.75))
    )
    senders = {event.message: event.worker for event in simulation.trace if isinstance(event, Sent)}
    (update,) = updates(simulation)
    arrived = [event.message for event in simulation.trace if isinstance(event, Arrived)]
    assert [senders[message] for message in arrived] == [2, 1, 0]
    assert [senders[message] for message in update.messages] == [0, 1, 2]
