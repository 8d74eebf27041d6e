"""The event loop against hand-computed times and orders."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Drawn, Link, Recorded, exponential
from sparsync.experiments.engine.effects import Alarm, Effect, Look, Plan, Send
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.view import Message
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.local_sgd import LocalSgd
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.trace import (
    Applied,
    Arrived,
    Departed,
    Mixed,
    Released,
    Started,
    Stepped,
)
from tests.support.simulated_runs import Gossip, kinds, make_vectors, run, times

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


def test_who_goes_may_open_the_gate_of_one_before() -> None:
    @dataclass(eq=False)
    class AfterTheNext(Asp):
        gate_opens_on: ClassVar[Wake] = "anything"

        def gate(self, worker: int) -> bool:
            waiting = self.view.waiting
            return self.view.is_settled(0) and (1 not in waiting if worker == 0 else 0 in waiting)

    cluster = Cluster(2, Constant((2.0, 1.0)), download=Link(latency_seconds=0.5))
    simulation = run(AfterTheNext(), cluster, Horizon(seconds=2.0))
    released = [(event.time, event.worker) for event in simulation.trace if isinstance(event, Released)]
    assert released == [(2.0, 1), (2.0, 0)]


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
    assert vectors.sketch(vectors.workers[0].base) == released[0].base


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


def test_the_seed_names_the_random_numbers_of_the_policy() -> None:
    draws = [Simulation(Asp(), Cluster(1), Horizon(steps=1), seed=seed).view.random.random() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


def test_a_step_is_computed_in_a_part_of_the_interval_between_two() -> None:
    view = run(Bsp(), Cluster(2, Constant((1.0, 3.0))), Horizon(seconds=6.0)).view
    assert (view.compute_seconds, view.interval) == ([1.0, 3.0], [3.0, 3.0])


def test_a_round_trip_is_from_the_last_sending_to_its_reply() -> None:
    @dataclass(eq=False)
    class EverySecond(Asp):
        def on_step(self, worker: int) -> Iterable[Effect]:
            return super().on_step(worker) if self.view.clock[worker] % 2 else ()

    cluster = Cluster(1, upload=Link(latency_seconds=0.25), download=Link(latency_seconds=0.5))
    simulation = Simulation(EverySecond(), cluster, Horizon(steps=4))
    simulation.advance(1.5)
    assert simulation.view.round_trip == [0.0]
    for until in (1.75, 3.25):
        simulation.advance(until)
        assert simulation.view.round_trip == [0.75]
    assert times(simulation, Started) == [0.0, 1.75, 3.25]


def test_mixing_models_takes_the_time_of_a_ring() -> None:
    # Four members of 80 bytes: each sends 2 · 3/4 · 80 = 120 bytes, 1.5 s at 80 bytes per second, and 0.25 s latency.
    cluster = Cluster(4, upload=Link(latency_seconds=0.25, bytes_per_second=80.0))
    simulation = run(Gossip(), cluster, Horizon(seconds=3.0), message_bytes=80)
    assert times(simulation, Mixed) == [1.0]
    assert times(simulation, Started) == [0.0] * 4 + [2.75] * 4
    assert (simulation.sent_bytes, simulation.pulled_bytes) == (320, 3 * 320)
    assert {(worker.sent_bytes, worker.pulled_bytes) for worker in simulation.report().workers} == {(80, 240)}


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
    assert [event.sent_bytes for event in mixed] == [(0,), (0,), (0,)]
    assert simulation.sent_bytes == simulation.pulled_bytes == simulation.report().mixed_bytes == 0
    assert times(simulation, Stepped) == [1.0, 2.0, 3.0]
    if vectors is not None:
        assert {event.copies for event in mixed} == {(vectors.sketch(vectors.problem.initial),)}
        assert bool((vectors.workers[0].model != vectors.problem.initial).any())


def test_an_order_takes_time_where_no_model_travels() -> None:
    cluster = Cluster(1, Constant((1.0,)), download=Link(latency_seconds=0.5), order_seconds=0.25)
    simulation = Simulation(LocalSgd(period=2), cluster, Horizon(steps=4))
    simulation.run()
    # To the first and every other step with its own model, to the third with the shared one.
    assert times(simulation, Started) == [0.25, 1.5, 3.0, 4.25]


def test_a_piece_may_end_with_a_number_of_steps_of_all_workers_together() -> None:
    run_in_pieces = Simulation(Asp(), Cluster(2, Constant((1.0, 3.0))), Horizon(seconds=9.0))
    run_in_pieces.advance(8.0, step_count=5)
    assert (run_in_pieces.step_count, run_in_pieces.view.clock, run_in_pieces.view.now) == (5, [4, 1], 4.0)
    run_in_pieces.advance(8.0, step_count=5)
    assert run_in_pieces.view.now == 4.0
    run_in_pieces.advance(4.5, step_count=6)
    assert (run_in_pieces.step_count, run_in_pieces.view.now) == (5, 4.5)
