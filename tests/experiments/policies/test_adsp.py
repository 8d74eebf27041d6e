import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Alarm
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.view import View
from sparsync.experiments.policies.adsp import Adsp
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.verify.monitors.trace import Rang, Sent, Started, Stepped, StepStatistics, trace_hash

QUARTERS = st.integers(1, 16).map(lambda count: count / 4)
HALF_A_SECOND = Link(latency_seconds=0.5)


def timed(policy: Policy, cluster: Cluster, seconds: float) -> Simulation:
    """A run without vectors."""
    simulation = Simulation(policy, cluster, Horizon(seconds=seconds))
    simulation.run()
    return simulation


def learned(policy: Policy, cluster: Cluster, horizon: Horizon) -> Simulation:
    problem = Quadratics((1.0, 0.5), worker_count=cluster.worker_count, noise=0.01)
    vectors = Vectors(problem, Descent(is_on_grid=True), worker_count=cluster.worker_count)
    simulation = Simulation(policy, cluster, horizon, vectors=vectors)
    simulation.run()
    return simulation


def commit_times(simulation: Simulation, worker: int) -> list[float]:
    return [event.time for event in simulation.trace if isinstance(event, Sent) and event.worker == worker]


def computing_share(simulation: Simulation, worker: int, begin: float, end: float) -> float:
    """Of the time between two moments at which the worker computes or has just computed."""
    steps = [event for event in simulation.trace if isinstance(event, (Started, Stepped)) and event.worker == worker]
    spans = [(a.time, b.time) for a, b in pairwise(steps) if isinstance(a, Started)]
    return sum(b - a for a, b in spans if begin <= a and b <= end) / (end - begin)


def test_the_waiting_share_is_overhead_times_commits_over_the_period() -> None:
    cluster = Cluster(3, Constant((0.5, 1.0, 4.0)), upload=HALF_A_SECOND, download=HALF_A_SECOND)
    simulation = timed(Adsp(period=20.0, commits=4), cluster, 200.0)
    for worker in range(3):
        # The first commit comes later: no overhead is known before it.
        second, *_, last = commit_times(simulation, worker)[1:]
        assert computing_share(simulation, worker, second, last) == 1 - 1.0 * 4 / 20.0


def test_a_worker_neither_knows_nor_waits_for_the_slowness_of_others() -> None:
    even, uneven = (timed(Adsp(), Cluster(2, Constant((1.0, slow))), 100.0) for slow in (1.0, 50.0))
    assert commit_times(even, 0) == commit_times(uneven, 0)
    barrier = timed(Bsp(), Cluster(2, Constant((1.0, 50.0))), 100.0)
    assert computing_share(barrier, 0, 0.0, 100.0) == 0.02
    assert computing_share(uneven, 0, 0.0, 100.0) == 1.0


@given(seconds=QUARTERS, latency=st.sampled_from((0.0, 0.25, 0.5, 1.0)), commits=st.sampled_from((1, 2, 4, 5)))
def test_commits_are_at_least_a_share_of_the_period_apart_and_less_than_a_step_more(
    seconds: float, latency: float, commits: float
) -> None:
    cluster = Cluster(1, Constant((seconds,)), upload=Link(latency), download=Link(latency))
    times = commit_times(timed(Adsp(period=20.0, commits=commits), cluster, 120.0), 0)
    usual, overhead = 20.0 / commits, 2 * latency
    expected = overhead + seconds * max(1, math.ceil((usual - overhead) / seconds))
    gaps = {after - before for before, after in pairwise(times[1:])}
    assert gaps == {expected}
    assert usual <= expected < usual + seconds or seconds + overhead > usual


def test_steps_shorter_than_the_interval_do_not_keep_commit_counts_within_one_per_period() -> None:
    """Steps of 1.5 and of 1 second, commits due every 2: ten commits a period against six or seven."""
    simulation = timed(Adsp(period=20.0, commits=10), Cluster(2, Constant((1.0, 1.5))), 600.0)
    assert [len(commit_times(simulation, worker)) for worker in (0, 1)] == [10 * 30, 10 * 20]


def test_commits_are_even_where_steps_divide_the_interval() -> None:
    simulation = timed(Adsp(period=20.0, commits=4), Cluster(4, Constant((0.25, 0.5, 1.0, 5.0))), 600.0)
    assert {len(commit_times(simulation, worker)) for worker in range(4)} == {120}


def test_least_seconds_bound_the_commits_from_above() -> None:
    simulation = timed(Adsp(period=20.0, commits=10, least_seconds=4.0), Cluster(1, Constant((1.0,))), 40.0)
    assert commit_times(simulation, 0) == [4.0 * count for count in range(1, 11)]


def test_committing_every_step_is_asp_exactly() -> None:
    cluster = Cluster(4, Constant((1.0, 1.25, 1.5, 3.0)), upload=HALF_A_SECOND, download=HALF_A_SECOND)
    adsp, asp = (learned(policy, cluster, Horizon(steps=15)) for policy in (Adsp(commits=math.inf), Asp()))
    assert trace_hash(adsp.trace) == trace_hash(asp.trace)


def test_one_that_comes_back_begins_to_train_anew() -> None:
    changes = (Change(4.5, 0, "crash"), Change(8.0, 0, "join"))
    simulation = timed(Adsp(period=20.0, commits=4), Cluster(2, changes=changes), 20.0)
    assert commit_times(simulation, 0) == [13.0, 18.0]


def test_the_search_looks_three_times_a_period_and_pauses_when_it_is_finished() -> None:
    policy = Adsp(period=8.0, commits=1, target_loss=0.001, search_seconds=100.0)
    simulation = learned(policy, Cluster(2, Constant((0.5, 1.0))), Horizon(seconds=200.0))
    times = [event.time for event in simulation.trace if isinstance(event, Rang)]
    pauses = [after - before for before, after in pairwise(times)]
    assert times[0] == 8.0
    assert set(pauses) == {4.0, 100.0}
    # Two looks for each trial besides the very first.
    assert pauses.index(100.0) % 2 == 0
    assert policy.search is not None
    assert policy.commit_rate == policy.search.commits


def test_the_search_ends_at_the_commits_under_which_losses_fall_fastest() -> None:
    """Two workers whose losses have the mean 1/progress; with c commits a period progress grows fastest at c = 3."""
    slopes = {1: 0.125, 2: 0.25, 3: 0.5, 4: 0.25}
    view = View(2, block_bytes=(8,), seed=0)
    view.alive, view.clock = {0, 1}, [1, 1]
    policy, progress = Adsp(period=2.0, commits=1, target_loss=0.03125, search_seconds=math.inf), 1.0
    alarms = list(policy.attach(view))
    while alarms:
        (alarm,) = alarms
        assert isinstance(alarm, Alarm)
        progress += slopes[int(policy.commit_rate)] * (alarm.time - view.now)
        view.now = alarm.time
        view.statistics = [StepStatistics(loss=share / progress) for share in (0.5, 1.5)]
        alarms = list(policy.on_alarm(alarm.key))
    # The first period warms up; then four trials of a period.
    assert (policy.commit_rate, view.now) == (3, 10.0)


def test_alarms_end_when_everybody_is_gone_and_begin_again_with_the_next_worker() -> None:
    changes = (Change(100.0, 0, "crash"), Change(100.0, 1, "crash"), Change(500.0, 1, "join"))
    policy = Adsp(period=8.0, commits=1, target_loss=0.001, search_seconds=10.0)
    simulation = learned(policy, Cluster(2, changes=changes), Horizon(seconds=530.0))
    times = [event.time for event in simulation.trace if isinstance(event, Rang)]
    assert not [time for time in times if 112.0 < time < 508.0]
    assert [time for time in times if time > 500.0]


def test_a_search_does_not_keep_a_run_alive_that_everybody_has_left() -> None:
    simulation = learned(Adsp(target_loss=0.001, search_seconds=5.0), Cluster(2), Horizon(steps=50))
    assert simulation.view.clock == [50, 50]


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"period": 0.0}, "period must be positive, got 0.0"),
        ({"period": math.inf}, "got inf"),
        ({"commits": -1}, "commits must be positive, got -1"),
        ({"least_seconds": -2.0}, "-2.0"),
        ({"search_seconds": 0.0}, "search_seconds must be positive, got 0.0"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(parameters: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Adsp(**parameters)
