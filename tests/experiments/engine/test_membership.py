"""Who crashes loses its step, who leaves finishes it, and who joins begins anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Drop, Effect, Pull, Send
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.view import Message
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.trace import (
    Applied,
    Departed,
    Joined,
    Released,
    Sent,
    Started,
    Stepped,
    trace_hash,
)
from tests.support.simulated_runs import CURVATURES, Gossip, make_vectors, run, times


def test_a_crash_loses_the_step_under_way_and_not_the_messages_sent() -> None:
    cluster = Cluster(
        2,
        Constant((1.0, 1.0)),
        upload=Link(latency_seconds=0.75),
        changes=(Change(1.5, 0, "crash"), Change(3.0, 0, "join")),
    )
    simulation = run(Asp(), cluster, Horizon(seconds=4.0), vectors=make_vectors(2))
    mine = [event.message for event in simulation.trace if isinstance(event, Sent) and event.worker == 0]
    applied = [uid for event in simulation.trace if isinstance(event, Applied) for uid in event.messages]
    assert times(simulation, Departed, 0) == [1.5]
    assert times(simulation, Stepped, 0) == [1.0, 4.0]
    assert mine[0] in applied
    assert [event.clock for event in simulation.trace if isinstance(event, Stepped) and event.worker == 0] == [1, 2]


def test_a_message_outlives_the_last_worker() -> None:
    cluster = Cluster(1, upload=Link(latency_seconds=5.0), changes=(Change(1.5, 0, "crash"),))
    simulation = run(Asp(), cluster, Horizon(steps=9))
    assert (times(simulation, Departed), times(simulation, Applied)) == ([1.5], [6.0])


def test_a_model_on_its_way_to_who_crashed_starts_nobody() -> None:
    changes = (Change(1.5, 0, "crash"), Change(1.75, 0, "join"))
    simulation = run(Asp(), Cluster(2, download=Link(latency_seconds=2.0), changes=changes), Horizon(seconds=4.5))
    assert times(simulation, Started, 0) == [0.0, 3.75]


@dataclass(eq=False)
class Holding(Asp):
    """Applies nothing, and notes who came and went."""

    seen: list[tuple[int, bool]] = field(default_factory=list)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        del message
        return ()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        self.seen.append((worker, worker in self.view.alive))
        return ()


@pytest.mark.parametrize(("latency_seconds", "reporting_counts"), [(0.25, [1, 0, 0]), (1.0, [0, 0, 0])])
def test_reports_of_who_is_gone_or_back_do_not_count(latency_seconds: float, reporting_counts: list[int]) -> None:
    changes = (Change(1.5, 0, "crash"), Change(3.0, 0, "join"))
    cluster = Cluster(2, Constant((1.0, 10.0)), upload=Link(latency_seconds), changes=changes)
    policy, found = Holding(), []
    simulation = Simulation(policy, cluster, Horizon(seconds=3.5))
    for until in (1.25, 2.5, 3.5):
        simulation.advance(until)
        found.append(simulation.view.reporting_count)
    assert (found, list(simulation.view.inbox)) == (reporting_counts, [0])
    assert policy.seen == [(0, False), (0, True)]


def test_a_crash_during_a_step_loses_that_step() -> None:
    cluster = Cluster(2, Constant((1.0,)), changes=(Change(1.5, 0, "crash"), Change(3.25, 0, "join")))
    simulation = run(Asp(), cluster, Horizon(seconds=4.5))
    assert times(simulation, Started, 0) == [0.0, 1.0, 3.25, 4.25]
    assert times(simulation, Stepped, 0) == [1.0, 4.25]
    assert simulation.view.interval[0] == 1.0


def test_leaving_waits_for_the_end_of_the_step_and_for_the_gate() -> None:
    cluster = Cluster(2, Constant((1.0, 2.0)), changes=(Change(0.25, 0, "leave"),))
    simulation = run(Bsp(), cluster, Horizon(seconds=5.0))
    gone = [event for event in simulation.trace if isinstance(event, Departed)]
    assert [(event.time, event.worker, event.reason) for event in gone] == [(2.0, 0, "left")]
    assert times(simulation, Stepped, 0) == [1.0]
    assert times(simulation, Stepped, 1) == [2.0, 4.0]


def test_joining_starts_from_the_current_model() -> None:
    cluster = Cluster(2, download=Link(latency_seconds=0.25), changes=(Change(2.0, 1, "join"),), absent=frozenset({1}))
    simulation = run(Asp(), cluster, Horizon(seconds=2.5), vectors=make_vectors(2))
    joined = [event for event in simulation.trace if isinstance(event, Joined)][-1]
    last = [event for event in simulation.trace if isinstance(event, Applied) and event.time <= 2.0][-1]
    assert (joined.time, joined.worker, joined.version) == (2.0, 1, last.version)
    assert joined.model == last.model
    assert joined.model != simulation.header.initial
    assert times(simulation, Started, 1) == [2.25]
    assert simulation.view.round_trip[1] == 0.0


def test_the_model_that_travels_to_who_joins_is_among_those_pulled() -> None:
    changes = (Change(2.0, 1, "join"), Change(2.5, 1, "crash"), Change(3.0, 1, "join"))
    cluster = Cluster(2, Constant((10.0,)), download=Link(0.25, 100.0), changes=changes, absent=frozenset({1}))
    simulation = run(Asp(), cluster, Horizon(seconds=9.0), message_bytes=100)
    # The line is busy for a second each; what everybody begins with is there.
    assert times(simulation, Started, 1) == [4.25]
    assert simulation.pulled_bytes == 200


def test_who_joins_where_no_model_is_shared_goes_on_from_its_own() -> None:
    @dataclass(eq=False)
    class Decentralised(Gossip):
        is_decentralised: ClassVar[bool] = True

    cluster = Cluster(2, changes=(Change(2.5, 1, "join"),), absent=frozenset({1}))
    simulation = run(Decentralised(), cluster, Horizon(seconds=3.0))
    assert [event.version for event in simulation.trace if isinstance(event, Joined)] == [0, -1]


def test_who_joins_may_open_a_gate_that_hangs_on_nothing_else() -> None:
    @dataclass(eq=False)
    class Together(Asp):
        gate_opens_on: ClassVar[Wake] = "own_message"

        def gate(self, worker: int) -> bool:
            return super().gate(worker) and self.view.alive_count == 2

    cluster = Cluster(2, changes=(Change(2.5, 1, "join"),), absent=frozenset({1}))
    assert times(run(Together(), cluster, Horizon(seconds=3.0)), Released) == [2.5]


def test_what_was_dropped_corrects_nobody() -> None:
    @dataclass(eq=False)
    class Dropping(Asp):
        def on_arrive(self, message: Message) -> Iterable[Effect]:
            return (Drop((message.uid,)),)

        def refresh(self, worker: int) -> Pull:
            del worker
            return Pull(local_correction=True)

    simulation = run(Dropping(), Cluster(1), Horizon(steps=3), vectors=make_vectors(1), make_judge=None)
    assert [event.corrections for event in simulation.trace if isinstance(event, Released)] == [(), ()]


def test_who_joins_before_it_has_left_stays() -> None:
    cluster = Cluster(2, Constant((4.0, 1.0)), changes=(Change(1.0, 0, "leave"), Change(2.0, 0, "join")))
    simulation = run(Bsp(), cluster, Horizon(seconds=9.0))
    assert times(simulation, Departed) == []
    assert times(simulation, Joined, 0) == [0.0]
    assert times(simulation, Stepped, 0) == [4.0, 8.0]


def test_changes_of_what_is_so_already_change_nothing() -> None:
    simulation = Simulation(Bsp(), Cluster(3, absent=frozenset({2})), Horizon(steps=4))
    for change in (Change(0.5, 0, "join"), Change(0.5, 2, "crash"), Change(0.5, 2, "leave"), Change(9.0, 0, "join")):
        simulation.order(change)
    simulation.run()
    plain = run(Bsp(), Cluster(3, absent=frozenset({2})), Horizon(steps=4))
    assert trace_hash(simulation.trace) == trace_hash(plain.trace)


@pytest.mark.parametrize("policy", [Bsp(), Ssp(0), Ssp(1), Asp()], ids=lambda policy: type(policy).__name__)
def test_nobody_waits_for_or_is_credited_with_messages_of_an_earlier_life(policy: Policy) -> None:
    # Worker 0 crashes with a report under way for 5 s and is back at once: that report is no step of its new life.
    changes = (Change(1.5, 0, "crash"), Change(1.75, 0, "join"))
    cluster = Cluster(4, upload=Link(latency_seconds=5.0), changes=changes)
    problem = Quadratics(CURVATURES, worker_count=4, seed=2)
    vectors = Vectors(problem, Descent(), worker_count=4)
    simulation = run(policy, cluster, Horizon(seconds=60.0), vectors=vectors)
    applied = [uid for event in simulation.trace if isinstance(event, Applied) for uid in event.messages]
    assert sorted(applied) == list(range(len(applied)))
    assert min(simulation.view.clock) >= 8


def test_a_departed_worker_takes_its_batch_with_it() -> None:
    @dataclass(eq=False)
    class EveryThird(Policy):
        batches: list[float] = field(default_factory=list)

        def on_step(self, worker: int) -> Iterable[Effect]:
            return (Send(worker),) if self.view.clock[worker] % 3 == 0 else ()

        def on_arrive(self, message: Message) -> Iterable[Effect]:
            self.batches.append(message.batch)
            return super().on_arrive(message)

        def refresh(self, worker: int) -> Pull:
            return Pull(shared=self.view.clock[worker] % 3 == 0)

    changes = (Change(4.5, 0, "crash"), Change(4.75, 0, "join"))
    policy = EveryThird()
    run(policy, Cluster(2, Constant((1.0, 100.0)), changes=changes), Horizon(seconds=10.0))
    # Steps 1-3; step 4 is lost to the crash, what follows it are steps 5 and 6.
    assert policy.batches == [3.0, 2.0, 3.0]
