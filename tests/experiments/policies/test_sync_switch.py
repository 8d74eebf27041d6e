import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link, Recorded
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.sync_switch import Straggler, SyncSwitch
from sparsync.experiments.racing.contest import Race
from sparsync.verify.monitors.trace import Applied, Departed, Started, trace_hash

UNEVEN = Cluster(4, Constant((1.0, 1.25, 1.5, 3.0)), upload=Link(latency_seconds=0.25, bytes_per_second=64.0))
ONE_SLOW = Cluster(4, Constant((1.0, 1.0, 1.0, 5.0)))


def run(policy: Policy, cluster: Cluster = UNEVEN, steps: float = 20) -> Simulation:
    problem = Quadratics((1.0, 0.5), worker_count=cluster.worker_count, spread=1.0, noise=0.1)
    vectors = Vectors(problem, Descent(is_on_grid=True), worker_count=cluster.worker_count)
    simulation = Simulation(policy, cluster, Horizon(steps=steps), vectors=vectors)
    simulation.run()
    return simulation


def timed(policy: Policy, cluster: Cluster, horizon: Horizon) -> Simulation:
    """A run without vectors."""
    simulation = Simulation(policy, cluster, horizon)
    simulation.run()
    return simulation


def additions(simulation: Simulation) -> list[tuple[float, int]]:
    return [(event.time, len(event.messages)) for event in simulation.trace if isinstance(event, Applied)]


def sizes(simulation: Simulation) -> list[int]:
    return [size for _, size in additions(simulation)]


def test_never_switching_is_bsp_exactly() -> None:
    assert trace_hash(run(SyncSwitch(bsp_fraction=1)).trace) == trace_hash(run(Bsp()).trace)


def test_switching_at_once_is_asp_exactly() -> None:
    assert trace_hash(run(SyncSwitch(bsp_fraction=0)).trace) == trace_hash(run(Asp()).trace)


def test_it_says_that_it_never_switched_and_its_usual_parameters_do_in_a_usual_race() -> None:
    never = timed(SyncSwitch(total_steps=200), ONE_SLOW, Horizon(seconds=100.0)).policy
    assert never.remark().startswith("the run ended in its synchronous part, after 20 of the 50 rounds before the sw")
    for policy in (SyncSwitch(), SyncSwitch(bsp_fraction=1)):
        assert not timed(policy, ONE_SLOW, Horizon(seconds=100.0)).policy.remark()
    race = Race()
    usual = Simulation(SyncSwitch(), race.make_cluster(), Horizon(seconds=race.seconds))
    usual.run()
    assert not usual.policy.remark()
    assert {1, race.workers} <= set(sizes(usual))


def test_rounds_of_all_come_first_and_single_reports_afterwards() -> None:
    assert sizes(run(SyncSwitch(bsp_fraction=0.25, total_steps=20))) == [4] * 5 + [1] * 60


def test_an_example_moves_the_model_equally_far_before_and_after_the_switch() -> None:
    simulation = run(SyncSwitch(bsp_fraction=0.25, total_steps=20))
    weights = {weight for event in simulation.trace if isinstance(event, Applied) for weight in event.weights}
    assert weights == {0.25}


def test_the_step_scale_is_that_of_asynchronous_steps_only() -> None:
    problem = Quadratics((1.0,), worker_count=1)
    vectors = Vectors(problem, Descent(step_size=0.125), worker_count=1)
    policy = SyncSwitch(bsp_fraction=0.25, total_steps=40, asynchronous_step_scale=2.0)
    Simulation(policy, Cluster(1), Horizon(steps=40), vectors=vectors).run()
    # Forty products, each off by a few units in the last place.
    assert float(vectors.shared) == pytest.approx((1 - 0.125) ** 10 * (1 - 0.25) ** 30, rel=1e-13)


def growth_after_the_switch(step_size: float, *, scale: float) -> float:
    """Of |x| on x²/2 of each of four equally fast workers, over 108 asynchronous steps after 12 synchronous ones."""
    vectors = Vectors(Quadratics((1.0,), worker_count=4), Descent(step_size=step_size), worker_count=4)
    policy = SyncSwitch(bsp_fraction=0.1, total_steps=120, asynchronous_step_scale=scale)
    Simulation(policy, Cluster(4), Horizon(steps=120), vectors=vectors, make_judge=None, records=False).run()
    return abs(float(vectors.shared)) / (1 - step_size) ** 12


def test_whole_asynchronous_steps_are_unstable_just_beyond_the_frontier_of_delay_three() -> None:
    """A report of one of four workers is three versions late; x − ηx(three late) is stable below η = 2 sin(π/14)."""
    frontier = 2 * math.sin(math.pi / 14)
    assert growth_after_the_switch(1.05 * frontier, scale=4.0) > 10
    assert growth_after_the_switch(0.95 * frontier, scale=4.0) < 0.1
    assert growth_after_the_switch(1.05 * frontier, scale=1.0) < 0.1


def test_behind_a_barrier_intervals_between_steps_do_not_tell_who_is_slow() -> None:
    simulation = timed(Bsp(), ONE_SLOW, Horizon(steps=20))
    assert simulation.view.interval == [5.0] * 4


def test_everything_is_asynchronous_while_a_straggler_lasts_and_rounds_come_back_after_it() -> None:
    seconds = ((1.0,), (1.0,), (1.0,), (1.0, 1.0, 5.0, 5.0) + (1.0,) * 40)
    policy = SyncSwitch(bsp_fraction=0.5, total_steps=40, straggler="asynchronous")
    simulation = timed(policy, Cluster(4, Recorded(seconds)), Horizon(seconds=20.0))
    found = additions(simulation)
    # Slow in round 3, which ends at 7; slow once more, until 12; then one second, at 13, as fast as everybody.
    assert found[:3] == [(1.0, 4), (2.0, 4), (7.0, 4)]
    assert [size for time, size in found if 7.0 < time < 13.0] == [1] * 16
    assert [size for time, size in found if time > 13.0] == [4] * 7
    assert policy.round_count == 10


def test_reports_that_wait_when_a_straggler_is_found_are_applied_then() -> None:
    policy = SyncSwitch(bsp_fraction=1, straggler="asynchronous")
    simulation = timed(policy, Cluster(5, Constant((1.0, 1.0, 1.0, 5.0, 6.0))), Horizon(seconds=5.5))
    assert [size for _, size in additions(simulation)][:1] == [4]
    assert additions(simulation)[0][0] == 5.0


def test_an_excluded_straggler_stands_still_until_the_switch() -> None:
    policy = SyncSwitch(bsp_fraction=0.5, total_steps=40, straggler="exclude")
    simulation = timed(policy, ONE_SLOW, Horizon(seconds=60.0))
    assert additions(simulation)[:20] == [(5.0, 4), *((5.0 + round_, 3) for round_ in range(1, 20))]
    starts = [event.time for event in simulation.trace if isinstance(event, Started) and event.worker == 3]
    assert starts[:3] == [0.0, 24.0, 29.0]


def test_an_excluded_straggler_goes_on_when_nobody_else_is_left() -> None:
    policy = SyncSwitch(bsp_fraction=1, straggler="exclude")
    simulation = timed(policy, ONE_SLOW, Horizon(steps=10))
    last = [event for event in simulation.trace if isinstance(event, Departed)][-1]
    assert simulation.view.clock == [10] * 4
    assert (last.worker, last.time) == (3, 14.0 + 45.0)


def test_a_round_that_waited_for_one_that_crashed_is_added() -> None:
    cluster = Cluster(2, Constant((1.0, 3.0)), changes=(Change(2.5, 1, "crash"),))
    assert additions(timed(SyncSwitch(bsp_fraction=1), cluster, Horizon(seconds=3.6))) == [(2.5, 1), (3.5, 1)]


@given(
    seconds=st.lists(st.sampled_from((1.0, 1.25, 1.5, 1.75, 2.0)), min_size=1, max_size=5),
    straggler=st.sampled_from(("asynchronous", "exclude")),
)
def test_without_stragglers_all_policies_for_them_are_one(seconds: list[float], straggler: Straggler) -> None:
    cluster = Cluster(len(seconds), Constant(tuple(seconds)))
    waiting = timed(SyncSwitch(total_steps=20), cluster, Horizon(steps=10))
    other = timed(SyncSwitch(total_steps=20, straggler=straggler), cluster, Horizon(steps=10))
    assert trace_hash(waiting.trace) == trace_hash(other.trace)


def test_a_report_of_an_earlier_life_does_not_start_the_clock_of_the_new_one() -> None:
    """Worker 2 is back at 1.5 s, its old report there at 3 s and its new one at 7.5 s: it took 6 s, others take 3 s."""
    changes = (Change(1.25, 2, "crash"), Change(1.5, 2, "join"))
    durations = Recorded(((1.0,), (1.0,), (1.0, 4.0)))
    cluster = Cluster(3, durations, upload=Link(latency_seconds=2.0), changes=changes)
    policy = SyncSwitch(bsp_fraction=0, straggler_factor=1.75)
    timed(policy, cluster, Horizon(seconds=8.0))
    assert policy.stragglers == {2}


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"bsp_fraction": 1.5}, "1.5"),
        ({"total_steps": 0}, "got 0"),
        ({"asynchronous_step_scale": 0.0}, "0.0"),
        ({"straggler": "shoot"}, "'shoot'"),
        ({"straggler_factor": 0.5}, "0.5"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(parameters: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        SyncSwitch(**parameters)  # type: ignore[arg-type]
