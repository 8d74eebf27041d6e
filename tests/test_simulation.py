"""The event loop against hand-computed times and orders, and against policies that order what cannot be."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import pytest

import sparsync.experiments.engine.simulation as simulation_module
from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Drawn, Link, Recorded, exponential
from sparsync.experiments.engine.effects import KEEP, Add, Alarm, Drop, Effect, Look, Mix, Plan, Pull, Send
from sparsync.experiments.engine.horizon import Deadlock, Horizon, PolicyError
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Descent, Vectors
from sparsync.experiments.engine.view import Message
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.trace import (
    Applied,
    Arrived,
    Departed,
    Event,
    Joined,
    Mixed,
    Rang,
    Released,
    Sent,
    Started,
    Stepped,
    trace_hash,
)

CURVATURES = (1.0, 0.5, 2.0)


def make_vectors(worker_count: int, **options: Any) -> Vectors:
    problem = Quadratics(CURVATURES, worker_count=worker_count, spread=1.0, noise=0.1, block_count=3, seed=2)
    return Vectors(problem, Descent(is_on_grid=True, **options), worker_count=worker_count)


def run(policy: Policy, cluster: Cluster, horizon: Horizon, **options: Any) -> Simulation:
    simulation = Simulation(policy, cluster, horizon, **options)
    simulation.run()
    return simulation


def times(simulation: Simulation, kind: type[Event], worker: int | None = None) -> list[float]:
    found = [event for event in simulation.trace if isinstance(event, kind)]
    return [event.time for event in found if worker is None or getattr(event, "worker", None) == worker]


def kinds(simulation: Simulation, time: float) -> list[str]:
    return [type(event).__name__ for event in simulation.trace if event.time == time]


# Order of simultaneous events.


@dataclass(eq=False)
class Bells(Asp):
    """Asynchronous, with alarms at given times and a list of all that was called."""

    at: tuple[float, ...] = ()
    calls: list[str] = field(default_factory=list)

    def attach(self, view: Any) -> Iterable[Effect]:
        super().attach(view)
        return tuple(Alarm(time, ("bell", place)) for place, time in enumerate(self.at))

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        self.calls.append(f"alarm {key}")
        return ()

    def on_step(self, worker: int) -> Iterable[Effect]:
        self.calls.append(f"step {worker}")
        return super().on_step(worker)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        self.calls.append(f"arrival {message.uid}")
        return super().on_arrive(message)

    def plan(self, worker: int) -> Plan:
        self.calls.append(f"delivery {worker}")
        return super().plan(worker)

    def on_membership(self, worker: int) -> Iterable[Effect]:
        self.calls.append(f"change {worker}")
        return super().on_membership(worker)


def test_simultaneous_events_are_changes_arrivals_alarms_deliveries_then_steps() -> None:
    # At 2: worker 3 joins; the message that 0 sent at 1 arrives; an alarm; the model that 1 reads from 1.5 on is there;
    # 2 finishes a step.
    cluster = Cluster(
        4,
        Recorded(((1.0,), (0.5, 9.0), (2.0,), (9.0,))),
        upload=Link(latency_seconds=1.0),
        download=Link(latency_seconds=0.5),
        changes=(Change(2.0, 3, "join"),),
        absent=frozenset({3}),
    )
    policy = Bells(at=(2.0,))
    run(policy, cluster, Horizon(seconds=2.0))
    at_two = policy.calls[policy.calls.index("change 3") :]
    assert at_two == ["change 3", "arrival 1", "alarm ('bell', 0)", "delivery 1", "step 2"]


def test_equal_kinds_at_equal_times_come_as_they_were_scheduled() -> None:
    policy = Bells(at=(3.0, 1.5, 3.0, 1.5))
    run(policy, Cluster(1, Constant((10.0,))), Horizon(seconds=5.0))
    assert [call for call in policy.calls if "bell" in call] == [f"alarm ('bell', {place})" for place in (1, 3, 0, 2)]


def test_a_message_without_latency_is_in_the_model_before_the_next_simultaneous_step() -> None:
    simulation = run(Asp(), Cluster(2), Horizon(seconds=1.0))
    assert kinds(simulation, 1.0) == ["Stepped", "Sent", "Arrived", "Applied", "Released", "Started"] * 2


@dataclass(eq=False)
class Restless(Bsp):
    """A barrier whose gates are looked at after any event."""

    gate_opens_on: ClassVar[Wake] = "anything"


@pytest.mark.parametrize("policy", [Bsp(), Ssp(0), Restless()], ids=lambda policy: type(policy).__name__)
def test_gates_open_in_worker_order(policy: Policy) -> None:
    cluster = Cluster(3, Recorded(((3.0,), (2.0,), (1.0,))))
    simulation = run(policy, cluster, Horizon(seconds=3.0))
    assert [event.worker for event in simulation.trace if isinstance(event, Released)] == [0, 1, 2]


@dataclass(eq=False)
class OpensAtFive(Asp):
    """All gates are open from 5 seconds on, and what is ordered then says where to look."""

    orders: tuple[Look, ...] = ()
    is_open: bool = False

    def attach(self, view: Any) -> Iterable[Effect]:
        super().attach(view)
        return (Alarm(5.0, "open"), Alarm(7.0, "look at nobody"))

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        self.is_open = True
        return self.orders if key == "open" else ()

    def gate(self, worker: int) -> bool:
        return self.is_open and super().gate(worker)


@pytest.mark.parametrize(
    ("orders", "opened"),
    [((Look(),), [0, 1, 2]), ((Look((2, 0)),), [0, 2]), ((Look((1,)), Look((2,))), [1, 2]), ((), [])],
)
def test_a_gate_that_hangs_on_a_policy_s_own_counter_is_looked_at_when_it_says_so(
    orders: tuple[Look, ...], opened: list[int]
) -> None:
    simulation = Simulation(OpensAtFive(orders), Cluster(3, Recorded(((1.0, 9.0),))), Horizon(seconds=9.0))
    simulation.advance(6.0)
    assert [event.worker for event in simulation.trace if isinstance(event, Released)] == opened
    assert set(times(simulation, Released)) <= {5.0}


@dataclass(eq=False)
class Counts(Ssp):
    """Looks at what the view counts whenever it is called."""

    look_count: int = 0

    def check(self) -> None:
        view, self.look_count = self.view, self.look_count + 1
        progress = [view.progress[worker] for worker in view.alive]
        assert view.alive_count == len(view.alive)
        assert (view.least_progress, view.most_progress) == (min(progress, default=0), max(progress, default=0))

    def on_step(self, worker: int) -> Iterable[Effect]:
        self.check()
        return super().on_step(worker)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        self.check()
        yield from super().on_arrive(message)
        self.check()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        self.check()
        return super().on_membership(worker)


def test_least_and_most_progress_are_those_of_the_workers_alive() -> None:
    changes = (Change(3.2, 0, "crash"), Change(9.1, 2, "leave"), Change(12.3, 0, "join"), Change(20.2, 1, "crash"))
    cluster = Cluster(4, Drawn(exponential()), upload=Link(latency_seconds=0.2), changes=changes)
    policy = Counts(5)
    run(policy, cluster, Horizon(seconds=40.0))
    assert policy.look_count > 100


# Which model.


def test_a_gradient_is_taken_at_the_model_held_at_the_start() -> None:
    vectors = make_vectors(2)
    simulation = run(Asp(), Cluster(2, Constant((1.0, 3.0))), Horizon(seconds=3.0), vectors=vectors)
    slow = next(event for event in simulation.trace if isinstance(event, Stepped) and event.worker == 1)
    assert simulation.view.version == 4
    start = vectors.problem.initial
    _, gradient = vectors.problem.loss_and_gradient(1, 0, start, 1.0)
    assert slow.created == vectors.sketch((gradient * -0.1 * 2**20).round() / 2**20)


def test_a_released_worker_reads_the_model_as_of_its_release_not_of_its_delivery() -> None:
    # Worker 0 is released at 1 and has its model at 3; worker 1's report is in the shared model from 2 on.
    cluster = Cluster(2, Recorded(((1.0,), (2.0, 9.0))), download=Link(latency_seconds=2.0))
    vectors = make_vectors(2)
    simulation = run(Asp(), cluster, Horizon(seconds=3.5), vectors=vectors)
    released = [event for event in simulation.trace if isinstance(event, Released)]
    applied = [event for event in simulation.trace if isinstance(event, Applied)]
    assert [(event.time, event.worker, event.version) for event in released] == [(1.0, 0, 1), (2.0, 1, 2)]
    assert [event.base for event in released] == [event.model for event in applied]
    assert released[0].base != released[1].base
    assert times(simulation, Started, 0) == [0.0, 3.0]
    assert vectors.sketch(vectors.base[0]) == released[0].base


# Times.


def test_latency_and_bandwidth_add_up_in_each_direction() -> None:
    # A step takes 2 s; 100 bytes up take 0.25 + 100/200 s, 100 bytes down 0.125 + 100/400 s.
    cluster = Cluster(1, Constant((2.0,)), upload=Link(0.25, 200.0), download=Link(0.125, 400.0))
    simulation = run(Asp(), cluster, Horizon(steps=2), message_bytes=100)
    assert times(simulation, Stepped) == [2.0, 5.125]
    assert times(simulation, Arrived) == [2.75, 5.875]
    assert times(simulation, Started) == [0.0, 3.125]
    assert simulation.view.round_trip == [1.125]
    assert (simulation.sent_bytes, simulation.pulled_bytes) == (200, 100)


def test_messages_of_one_worker_queue_on_its_own_line() -> None:
    @dataclass(eq=False)
    class TwoMessages(Policy):
        def on_step(self, worker: int) -> Iterable[Effect]:
            return (Send(worker, (0,)), Send(worker, (1, 2)))

    vectors = make_vectors(1)
    cluster = Cluster(1, upload=Link(latency_seconds=0.5, bytes_per_second=8.0, message_seconds=0.25))
    simulation = run(TwoMessages(), cluster, Horizon(steps=1), vectors=vectors)
    # 8 bytes occupy the line for 0.25 + 1 s, then 16 bytes for 0.25 + 2 s; latency does not occupy it.
    assert times(simulation, Arrived) == [1.0 + 1.25 + 0.5, 1.0 + 1.25 + 2.25 + 0.5]
    assert times(simulation, Departed) == [5.0]


@pytest.mark.parametrize(("is_shared", "arrivals"), [(True, [2.0, 3.0, 4.0, 6.0]), (False, [2.0, 2.0, 2.5, 6.0])])
def test_a_shared_line_serves_first_come_first(is_shared: bool, arrivals: list[float]) -> None:
    # Three reports at 1, 1 and 1.5, each 1 s on the line; one at 5 meets an idle line.
    cluster = Cluster(4, Constant((1.0, 1.0, 1.5, 5.0)), upload=Link(bytes_per_second=100.0, is_shared=is_shared))
    simulation = run(Asp(), cluster, Horizon(steps=1), message_bytes=100)
    assert times(simulation, Arrived) == arrivals
    assert [event.message for event in simulation.trace if isinstance(event, Arrived)] == [0, 1, 2, 3]


def test_a_batch_takes_as_many_times_longer() -> None:
    @dataclass(eq=False)
    class Larger(Asp):
        def plan(self, worker: int) -> Plan:
            return Plan(batch=1.5 + self.view.clock[worker])

    simulation = run(Larger(), Cluster(1, Constant((2.0,))), Horizon(steps=2))
    assert times(simulation, Stepped) == [3.0, 8.0]
    assert simulation.view.compute_seconds == simulation.view.interval == [5.0]


@dataclass(eq=False)
class Gossip(Policy):
    """Everybody mixes with everybody after every step."""

    done: int = 0

    def on_step(self, worker: int) -> Iterable[Effect]:
        del worker
        if len(self.view.waiting) < self.view.alive_count:
            return ()
        self.done += 1
        members = tuple(sorted(self.view.waiting))
        return (Mix(members, ((1 / len(members),) * len(members),) * len(members)),)

    def gate(self, worker: int) -> bool:
        return self.done >= self.view.clock[worker]

    def refresh(self, worker: int) -> Pull:
        del worker
        return KEEP


def test_mixing_models_takes_the_time_of_a_ring() -> None:
    # Four members of 80 bytes: each sends 2 · 3/4 · 80 = 120 bytes, 1.5 s at 80 bytes per second, and 0.25 s latency.
    cluster = Cluster(4, upload=Link(latency_seconds=0.25, bytes_per_second=80.0))
    simulation = run(Gossip(), cluster, Horizon(seconds=3.0), message_bytes=80)
    assert times(simulation, Mixed) == [1.0]
    assert times(simulation, Started) == [0.0] * 4 + [2.75] * 4
    assert simulation.sent_bytes == 320


# Who comes and goes.


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


def test_a_message_that_spares_the_last_step_leaves_its_examples_to_the_next() -> None:
    @dataclass(eq=False)
    class Sparing(Policy):
        batches: list[list[float]] = field(default_factory=list)

        def plan(self, worker: int) -> Plan:
            return Plan(batch=2.0 ** self.view.clock[worker])

        def on_step(self, worker: int) -> Iterable[Effect]:
            clock = self.view.clock[worker]
            self.batches.append([])
            plain, sparing = Send(worker, (0,)), Send(worker, (1,), spares_last_step=True)
            return {2: (sparing, sparing), 4: (plain, plain), 5: (sparing,), 6: (sparing,)}.get(clock, ())

        def on_arrive(self, message: Message) -> Iterable[Effect]:
            self.batches[-1].append(message.batch)
            return super().on_arrive(message)

    policy = Sparing()
    run(policy, Cluster(1), Horizon(steps=6), vectors=make_vectors(1))
    # Steps hold 1, 2, 4, 8, 16 and 32.
    assert policy.batches == [[], [1.0, 1.0], [], [2.0 + 4 + 8] * 2, [0.0], [16.0]]


@pytest.mark.parametrize("options", [None, {}, {"selector": "top_k", "density": 0.34}], ids=str)
def test_mixing_alone_publishes_nothing_and_changes_nothing(options: dict[str, Any] | None) -> None:
    vectors = None if options is None else make_vectors(1, **options)
    cluster = Cluster(1, upload=Link(latency_seconds=5.0, message_seconds=2.0))
    simulation = run(Gossip(), cluster, Horizon(steps=3), vectors=vectors, message_bytes=24)
    mixed = [event for event in simulation.trace if isinstance(event, Mixed)]
    assert [event.sent_bytes for event in mixed] == [0, 0, 0]
    assert simulation.sent_bytes == simulation.report().mixed_bytes == 0
    assert times(simulation, Stepped) == [1.0, 2.0, 3.0]
    if vectors is not None:
        assert {event.copies for event in mixed} == {(vectors.sketch(vectors.problem.initial),)}
        assert bool((vectors.model_of(0) != vectors.problem.initial).any())


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
    simulation = run(Asp(), Cluster(3), Horizon(versions=4))
    assert simulation.view.version == 4
    assert simulation.view.now == 2.0
    assert isinstance(simulation.trace[-1], Released)


@pytest.mark.parametrize("limits", [{}, {"seconds": 0.0}, {"steps": -1}, {"versions": math.nan}, {"seconds": math.nan}])
def test_a_horizon_is_positive_and_somewhere(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"horizon must be positive|needs an end"):
        Horizon(**limits)


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
    stuck.advance(11.9)
    with pytest.raises(Deadlock, match=r"workers \[0, 1\] wait, and 40 alarms in a row changed nothing") as caught:
        stuck.run()
    assert caught.value.trace == tuple(stuck.trace)
    assert times(stuck, Rang)[-1] == 12.0


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


def test_orders_come_neither_too_late_nor_for_strangers() -> None:
    simulation = Simulation(Asp(), Cluster(2), Horizon(seconds=9.0))
    simulation.advance(5.0)
    with pytest.raises(ValueError, match=r"it is 5\.0, too late for Change\(time=4\.5, worker=1, kind='crash'\)"):
        simulation.order(Change(4.5, 1, "crash"))
    for stranger in (-1, 2):
        with pytest.raises(ValueError, match=f"there are workers 0 to 1, got Change.*worker={stranger}"):
            simulation.order(Change(6.0, stranger, "crash"))


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
