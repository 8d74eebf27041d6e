"""When runs end, that stuck ones are reported, and that nothing is carried out that cannot be."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import pytest

import sparsync.experiments.engine.simulation as simulation_module
from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Drawn, Link, Recorded, exponential
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Add, Alarm, Drop, Effect, Look, Mix, Plan, Send
from sparsync.experiments.engine.horizon import Deadlock, Horizon, PolicyError
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.view import Message
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.trace import (
    Departed,
    Rang,
    Released,
    Started,
    Stepped,
    trace_hash,
)
from tests.support.simulated_runs import CURVATURES, Gossip, make_vectors, run, times

# When it ends.


def test_the_horizon_by_steps_lets_everybody_leave() -> None:
    simulation = run(Asp(), Cluster(2, Constant((1.0, 3.0))), Horizon(steps=3))
    assert simulation.view.clock == [3, 3]
    assert [(event.time, event.reason) for event in simulation.trace if isinstance(event, Departed)] == [
        (3.0, "left"),
        (9.0, "left"),
    ]
    assert simulation.view.now == 9.0


def test_the_horizon_by_seconds_includes_its_end_and_is_where_time_stops() -> None:
    simulation = run(Asp(), Cluster(1, Constant((1.5,))), Horizon(seconds=3.0))
    assert times(simulation, Stepped) == [1.5, 3.0]
    assert run(Asp(), Cluster(1, Constant((1.5,))), Horizon(seconds=4.0)).view.now == 4.0


def test_the_horizon_by_versions_stops_at_once() -> None:
    for horizon in (Horizon(versions=4), Horizon(versions=4, seconds=9.0)):
        simulation = run(Asp(), Cluster(3), horizon)
        assert simulation.view.version == 4
        assert simulation.view.now == 2.0
        assert isinstance(simulation.trace[-1], Released)


@pytest.mark.parametrize("limits", [{}, {"seconds": 0.0}, {"steps": -1}, {"versions": math.nan}, {"seconds": math.nan}])
def test_a_horizon_is_positive_and_somewhere(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"horizon must be positive|needs an end"):
        Horizon(**limits)


@pytest.mark.parametrize(
    "limits", [{"steps": 2.5}, {"versions": 0.5}, {"steps": True}, {"seconds": 9, "versions": 1.5}]
)
def test_steps_and_versions_are_whole(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"(steps|versions) must be a whole number or infinity, got (\d\.5|True)"):
        Horizon(**limits)


def test_a_run_whose_models_are_its_workers_own_does_not_end_by_versions() -> None:
    @dataclass(eq=False)
    class Decentralised(Gossip):
        is_decentralised: ClassVar[bool] = True

    with pytest.raises(ValueError, match="without a shared model needs seconds or steps as its end, got Horizon"):
        Simulation(Decentralised(), Cluster(2), Horizon(versions=5))
    assert run(Decentralised(), Cluster(2), Horizon(versions=5, steps=3)).view.clock == [3, 3]


def test_messages_have_a_size() -> None:
    with pytest.raises(ValueError, match="message_bytes must be at least 0, got -1"):
        Simulation(Asp(), Cluster(1), Horizon(steps=1), message_bytes=-1)


def test_bells_do_not_ring_for_ever_where_nobody_is_left() -> None:
    @dataclass(eq=False)
    class Clockwork(Asp):
        def attach(self, view: Any) -> Iterable[Effect]:
            super().attach(view)
            return (Alarm(0.75, "tick"),)

        def on_alarm(self, key: Hashable) -> Iterable[Effect]:
            return (Alarm(self.view.now + 0.75, key),)

    simulation = run(Clockwork(), Cluster(2), Horizon(steps=3))
    assert simulation.view.now == 3.0
    assert times(simulation, Rang) == [0.75, 1.5, 2.25, 3.0]


def test_a_run_in_pieces_is_the_run_at_once() -> None:
    cluster = Cluster(4, Drawn(exponential()), upload=Link(0.1), changes=(Change(5.0, 1, "crash"),))
    whole = run(Ssp(1), cluster, Horizon(seconds=20.0), vectors=make_vectors(4, selector="top_k", density=0.5))
    pieces = Simulation(Ssp(1), cluster, Horizon(seconds=20.0), vectors=make_vectors(4, selector="top_k", density=0.5))
    for until in (0.0, 0.3, 7.0, 7.0, 19.0, 40.0):
        pieces.advance(until)
    pieces.finish()
    assert pieces.view.now == 20.0
    assert trace_hash(pieces.trace) == trace_hash(whole.trace)
    with pytest.raises(ValueError, match=r"it is 20\.0, too late to simulate until 19\.0"):
        pieces.advance(19.0)


def test_two_equal_runs_have_one_hash_and_another_seed_has_another() -> None:
    cluster = Cluster(4, Drawn(exponential(), seed=1), upload=Link(0.1), download=Link(0.1))

    def trace(seed: int) -> str:
        vectors = Vectors(
            Quadratics(CURVATURES, worker_count=4, seed=2),
            Descent(selector="random_k", density=0.34),
            worker_count=4,
            seed=seed,
        )
        return trace_hash(run(Ssp(2), cluster, Horizon(seconds=9.0), vectors=vectors).trace)

    assert trace(0) == trace(0) != trace(1)


def test_looking_in_between_sees_what_has_happened_by_then() -> None:
    simulation, seen = Simulation(Asp(), Cluster(1, changes=(Change(2.5, 0, "leave"),)), Horizon(seconds=5.0)), []
    for place in range(11):
        simulation.advance(place / 2)
        seen.append((simulation.view.now, simulation.view.clock[0]))
    assert seen == [(place / 2, min(place // 2, 3)) for place in range(11)]


# What goes wrong.


def test_a_deadlock_is_reported_with_its_trace() -> None:
    @dataclass(eq=False)
    class Closed(Asp):
        def gate(self, worker: int) -> bool:
            return worker == 0 and self.view.clock[0] < 2

    with pytest.raises(Deadlock, match=r"workers \[0, 1\] wait, and nothing is due") as caught:
        run(Closed(), Cluster(2), Horizon(seconds=100.0))
    assert [type(event).__name__ for event in caught.value.trace[-2:]] == ["Arrived", "Applied"]
    assert len([event for event in caught.value.trace if isinstance(event, Stepped)]) == 3


@dataclass(eq=False)
class Patient(Asp):
    """After the first step everybody waits for so many alarms, one each quarter of a second."""

    patience: int = 0
    alarm_count: int = 0

    def attach(self, view: Any) -> Iterable[Effect]:
        super().attach(view)
        return (Alarm(2.0, "again"),)

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        self.alarm_count += 1
        return (Alarm(self.view.now + 0.25, key), Look())

    def gate(self, worker: int) -> bool:
        return super().gate(worker) and self.alarm_count >= self.patience


@pytest.mark.parametrize("horizon", [Horizon(steps=2), Horizon(versions=99)], ids=str)
def test_whoever_waits_for_more_alarms_than_that_is_stuck_where_the_run_has_no_other_end(
    horizon: Horizon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation_module, "ALARM_PATIENCE", 40)
    # The last of 41 alarms opens the gates, at 12 seconds; those who leave then do not wait any more.
    patient = Simulation(Patient(41), Cluster(2), horizon)
    patient.advance(12.5)
    assert times(patient, Released) == [12.0, 12.0]
    stuck = Simulation(Patient(10**9), Cluster(2), horizon)
    stuck.advance(11.6)
    with pytest.raises(Deadlock, match=r"workers \[0, 1\] wait, and 40 alarms in a row changed nothing") as caught:
        stuck.run()
    assert caught.value.trace == tuple(stuck.trace)
    assert times(stuck, Rang)[-1] == 12.0


def test_alarms_are_counted_anew_after_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_module, "ALARM_PATIENCE", 40)
    stuck = Simulation(Patient(10**9), Cluster(3), Horizon(steps=2))
    stuck.advance(11.6)
    stuck.order(Change(11.7, 2, "crash"))
    with pytest.raises(Deadlock, match=r"workers \[0, 1\] wait, and 40 alarms in a row changed nothing"):
        stuck.run()
    assert times(stuck, Rang)[-1] == 11.75 + 40 * 0.25


def test_alarms_are_counted_neither_against_those_who_leave_then_nor_while_another_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulation_module, "ALARM_PATIENCE", 40)
    assert times(run(Patient(41), Cluster(2), Horizon(steps=1)), Departed) == [12.0, 12.0]
    # Worker 0 waits for 57 alarms, worker 1 for the last of them.
    patient = run(Patient(57), Cluster(2, Constant((1.0, 15.75))), Horizon(steps=1))
    assert times(patient, Departed) == [16.0, 16.0]


def test_a_run_that_ends_by_itself_is_not_stopped_for_its_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation_module, "ALARM_PATIENCE", 40)
    simulation = run(Patient(10**9), Cluster(2), Horizon(seconds=100.0))
    assert (simulation.view.clock, simulation.view.waiting) == ([1, 1], {0, 1})
    assert len(times(simulation, Rang)) == 393


@dataclass(eq=False)
class Orders(Policy):
    """Orders what it is told to, when worker 0 finishes its first step."""

    gives: tuple[Effect, ...] = ()

    def on_step(self, worker: int) -> Iterable[Effect]:
        if worker == 0 and self.view.clock[0] == 1:
            return (Send(worker), *self.gives)
        return (Send(worker),)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        del message
        return ()


BAD_ORDERS: dict[str, tuple[tuple[Effect, ...], str]] = {
    "sending while computing": ((Send(1),), "worker 1 cannot send: it is not at the gate"),
    "no blocks": ((Send(0, ()),), "worker 0 cannot send a message without blocks"),
    "a block twice": ((Send(0, (1, 1)),), r"cannot send blocks \(1, 1\): there are 0 to 2, each once"),
    "a negative block": ((Send(0, (-1,)),), r"cannot send blocks \(-1,\)"),
    "an unknown block": ((Send(0, (0, 3)),), r"cannot send blocks \(0, 3\)"),
    "adding what is under way": ((Add((0,), (1.0,)),), "message 0 is not in the inbox"),
    "adding what was never sent": ((Add((77,), (1.0,)),), "message 77 is not in the inbox"),
    "dropping what was never sent": ((Drop((77,)),), "message 77 is not in the inbox"),
    "a weight of no number": ((Add((0,), (math.nan,)),), r"weights must be finite, got \(nan,\)"),
    "an infinite weight": ((Add((0,), (-math.inf,)),), r"weights must be finite, got \(-inf,\)"),
    "too few weights": ((Add((0, 1), (1.0,)),), "2 messages with 1 weights"),
    "mixing one who computes": (
        (Mix((0, 1), ((0.5, 0.5), (0.5, 0.5))),),
        r"cannot mix \(0, 1\): \[1\] are not at the gate",
    ),
    "mixing one twice": ((Mix((0, 0), ((0.5, 0.5), (0.5, 0.5))),), r"cannot mix \(0, 0\): .*each once"),
    "mixing nobody": ((Mix((), ()),), r"cannot mix \(\): name members"),
    "too few rows": ((Mix((0,), ()),), "1 members need as many rows"),
    "too long a row": ((Mix((0,), ((1.0, 0.0),)),), "1 members need as many rows"),
    "a row that does not sum to one": ((Mix((0,), ((0.9,),)),), "must be non-negative and sum to 1"),
    "a row of no number": ((Mix((0,), ((math.nan,),)),), "must be non-negative and sum to 1"),
    "an alarm in the past": ((Alarm(0.5, "late"),), r"an alarm for 0\.5 at 1\.0"),
    "an alarm never": ((Alarm(math.inf, "never"),), r"an alarm for inf at 1\.0"),
    "an alarm at no time": ((Alarm(math.nan, "when"),), r"an alarm for nan at 1\.0"),
}


@pytest.mark.parametrize(("gives", "message"), BAD_ORDERS.values(), ids=BAD_ORDERS)
@pytest.mark.parametrize("has_vectors", [True, False])
def test_what_cannot_be_carried_out_is_refused(gives: tuple[Effect, ...], message: str, has_vectors: bool) -> None:
    vectors = make_vectors(2) if has_vectors else None
    cluster = Cluster(2, Constant((1.0, 2.0)), upload=Link(latency_seconds=0.25))
    simulation = Simulation(Orders(gives), cluster, Horizon(seconds=5.0), vectors=vectors)
    if not has_vectors:
        simulation.view.block_bytes = (8, 8, 8)
    with pytest.raises(PolicyError, match=message):
        simulation.run()


def test_adding_twice_is_refused() -> None:
    @dataclass(eq=False)
    class Twice(Policy):
        def on_arrive(self, message: Message) -> Iterable[Effect]:
            return (Add((message.uid, message.uid), (0.5, 0.5)),)

    with pytest.raises(PolicyError, match="message 0 is not in the inbox"):
        run(Twice(), Cluster(1), Horizon(steps=1))


def test_rows_are_refused_that_have_a_negative_weight() -> None:
    rows = ((1.5, -0.5), (-0.5, 1.5))

    @dataclass(eq=False)
    class Sharp(Gossip):
        def on_step(self, worker: int) -> Iterable[Effect]:
            del worker
            return (Mix((0, 1), rows),) if len(self.view.waiting) == 2 else ()

    with pytest.raises(PolicyError, match="must be non-negative and sum to 1"):
        run(Sharp(), Cluster(2), Horizon(seconds=3.0))


BAD_PLANS = [Plan(batch=0.0), Plan(batch=math.inf), Plan(step_scale=0.0), Plan(step_scale=math.nan)]


@pytest.mark.parametrize("plan", BAD_PLANS)
def test_steps_are_refused_that_take_no_examples_or_no_time(plan: Plan) -> None:
    @dataclass(eq=False)
    class Planner(Asp):
        def plan(self, worker: int) -> Plan:
            del worker
            return plan

    with pytest.raises(PolicyError, match="worker 0 cannot take a step planned as Plan"):
        run(Planner(), Cluster(1), Horizon(steps=1))


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_refused_though_its_gradient_is(
    loss: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = make_vectors(1)
    monkeypatch.setattr(vectors.problem, "loss_and_gradient", lambda *_: (loss, vectors.problem.initial))
    with pytest.raises(FloatingPointError, match=f"step 0 of worker 0: loss {loss}, gradient norm"):
        run(Asp(), Cluster(1), Horizon(steps=1), vectors=vectors)


@dataclass
class Lasting:
    """Durations that nobody checks."""

    seconds: float

    def __call__(self, worker: int, step: int) -> float:
        del worker, step
        return self.seconds


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_steps_take_a_positive_time(seconds: float) -> None:
    with pytest.raises(ValueError, match=f"step 0 of worker 0 would take {seconds} seconds"):
        run(Asp(), Cluster(1, Lasting(seconds)), Horizon(steps=1))


def test_a_step_too_short_for_the_clock_is_refused() -> None:
    durations = Recorded(((1.0, 1e-17),))
    with pytest.raises(ValueError, match="step 1 of worker 0 would take 1e-17 seconds"):
        run(Asp(), Cluster(1, durations), Horizon(seconds=2.0))


def test_orders_come_neither_too_late_nor_for_strangers() -> None:
    simulation = Simulation(Asp(), Cluster(2), Horizon(seconds=9.0))
    simulation.advance(5.0)
    with pytest.raises(ValueError, match=r"it is 5\.0, too late for Change\(time=4\.5, worker=1, kind='crash'\)"):
        simulation.order(Change(4.5, 1, "crash"))
    for stranger in (-1, 2):
        with pytest.raises(ValueError, match=f"there are workers 0 to 1, got Change.*worker={stranger}"):
            simulation.order(Change(6.0, stranger, "crash"))
    simulation.order(Change(5.0, 1, "crash"))
    simulation.run()
    assert times(simulation, Departed) == [5.0]


def test_vectors_are_for_as_many_workers_as_the_cluster_has() -> None:
    with pytest.raises(ValueError, match="vectors of 3 workers for a cluster of 2"):
        Simulation(Asp(), Cluster(2), Horizon(steps=1), vectors=make_vectors(3))


# What is reported.


def test_the_report_divides_time_as_computed_by_hand() -> None:
    # One slow worker under a barrier: 1 s of work and 2 s of waiting in every 3 s.
    simulation = run(Bsp(), Cluster(2, Constant((1.0, 3.0))), Horizon(seconds=9.0))
    fast, slow = simulation.report().workers
    assert (fast.computing_seconds, fast.waiting_seconds, fast.transferring_seconds) == (3.0, 6.0, 0.0)
    assert (slow.computing_seconds, slow.waiting_seconds, slow.transferring_seconds) == (9.0, 0.0, 0.0)
    assert (fast.sent, fast.applied, simulation.report().largest_gap) == (3, 3, 1)


def test_a_run_without_a_judge_has_no_report() -> None:
    with pytest.raises(RuntimeError, match="without a judge"):
        run(Asp(), Cluster(1), Horizon(steps=1), make_judge=None).report()


def test_barrier_rounds_take_the_longest_step_and_the_way_there_and_back() -> None:
    seconds = ((1.0, 4.0, 2.0), (3.0, 0.5, 2.5))
    cluster = Cluster(2, Recorded(seconds), upload=Link(0.25), download=Link(0.5))
    simulation = run(Bsp(), cluster, Horizon(steps=3))
    starts, now = [], Fraction(0)
    for round_ in range(3):
        starts += [float(now)] * 2
        now += Fraction(max(row[round_] for row in seconds)) + Fraction(3, 4)
    assert times(simulation, Started) == starts
