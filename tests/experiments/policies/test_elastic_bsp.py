"""ElasticBSP's barriers, steps between them, and what they cost."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.planners.zipline import COSTS, Objective
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.elastic_bsp import ElasticBsp
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Event, Released, Stepped
from tests.support.policy_runs import largest_lead, run_of

SECONDS = st.lists(st.lists(st.integers(1, 9).map(float), min_size=1, max_size=4), min_size=2, max_size=4)
SPEEDS = [[1.0], [1.7], [2.3]]


def supersteps(run: Simulation) -> Iterator[tuple[float, Counter[int]]]:
    """When each superstep ended, and how many steps each worker made in it.

    It ends when all workers are released with nothing else between.
    """
    steps: Counter[int] = Counter()
    for is_release, group in itertools.groupby(run.trace, lambda event: isinstance(event, Released)):
        events: list[Event] = list(group)
        if not is_release:
            steps.update(event.worker for event in events if isinstance(event, Stepped))
        elif len(events) == run.view.worker_count:
            yield events[0].time, steps
            steps = Counter()


def waited(run: Simulation) -> float:
    """Seconds that all workers together spent between a step's end and their release."""
    ends: dict[int, float] = {}
    total = 0.0
    for event in run.trace:
        if isinstance(event, Stepped):
            ends[event.worker] = event.time
        elif isinstance(event, Released):
            total += event.time - ends.pop(event.worker)
    return total


@given(SECONDS, st.integers(1, 5), st.sampled_from(sorted(COSTS)))
def test_between_barriers_everybody_makes_one_to_lookahead_steps(
    seconds: list[list[float]], lookahead: int, objective: Objective
) -> None:
    run = run_of(ElasticBsp(lookahead, objective, monitoring=0), seconds, Horizon(seconds=60.0), latency=0.25)
    ended = list(supersteps(run))
    assert ended
    for _, steps in ended:
        assert set(steps) == set(range(len(seconds)))
        assert max(steps.values()) <= lookahead


@pytest.mark.parametrize("monitoring", [1, 2, 3])
@pytest.mark.parametrize("slowest", [2.0, 3.5, 7.0])
def test_monitoring_adds_the_steps_that_the_fast_make_meanwhile(monitoring: int, slowest: float) -> None:
    run = run_of(ElasticBsp(lookahead=5, monitoring=monitoring), [[1.0], [slowest]], Horizon(seconds=400.0))
    most = max(max(steps.values()) for _, steps in supersteps(run))
    assert monitoring * slowest < most <= math.floor(monitoring * slowest) + 5


def leads_by_superstep(run: Simulation) -> list[int]:
    """The largest lead in each superstep, counted from its beginning."""
    ends = [time for time, _ in supersteps(run)]
    leads: dict[int, int] = {}
    counts: dict[int, Counter[int]] = {}
    workers = range(run.view.worker_count)
    for event in run.trace:
        if isinstance(event, Stepped):
            number = bisect_left(ends, event.time)
            own = counts.setdefault(number, Counter())
            own[event.worker] += 1
            ahead = own[event.worker] - min(own[worker] for worker in workers)
            leads[number] = max(leads.get(number, 0), ahead)
    return list(leads.values())


@settings(max_examples=50)
@given(SECONDS, st.integers(1, 5), st.integers(0, 3))
def test_no_lead_in_a_superstep_exceeds_the_statement_s(
    seconds: list[list[float]], lookahead: int, monitoring: int
) -> None:
    run = run_of(ElasticBsp(lookahead, monitoring=monitoring), seconds, Horizon(seconds=60.0))
    every = [second for own in seconds for second in own]
    bound = STATEMENTS["elastic_lead"].fraction(
        monitoring_count=monitoring, look_ahead=lookahead, shortest_duration=min(every), longest_duration=max(every)
    )
    assert max(leads_by_superstep(run)) <= bound


@pytest.mark.parametrize(("monitoring", "lookahead"), [(0, 4), (1, 3), (2, 2), (3, 5)])
def test_workers_of_incommensurable_speeds_attain_the_statement_s_lead(monitoring: int, lookahead: int) -> None:
    slow = lookahead + 0.125
    run = run_of(ElasticBsp(lookahead, monitoring=monitoring), [[1.0], [slow]], Horizon(seconds=100.0))
    bound = STATEMENTS["elastic_lead"].fraction(
        monitoring_count=monitoring, look_ahead=lookahead, shortest_duration=1, longest_duration=slow
    )
    assert max(leads_by_superstep(run)) == bound


def test_with_monitoring_a_superstep_can_hold_more_steps_than_the_lookahead() -> None:
    run = run_of(ElasticBsp(lookahead=5, monitoring=2), [[1.0], [7.0]], Horizon(seconds=400.0))
    assert max(max(steps.values()) for _, steps in supersteps(run)) == 18


def test_workers_whose_steps_fit_never_wait_after_the_first_barrier() -> None:
    run = run_of(ElasticBsp(lookahead=3, monitoring=0), [[2.0], [3.0]], Horizon(seconds=40.0))
    assert [(time, dict(steps)) for time, steps in supersteps(run)] == [
        (3.0, {0: 1, 1: 1}),
        *[(3.0 + 6.0 * number, {0: 3, 1: 2}) for number in range(1, 7)],
    ]
    assert waited(run) == 1.0


def test_intervals_hold_the_journeys_and_no_waiting() -> None:
    """With journeys of 0.5 s intervals are 3 s and 4 s, but the first ones, without a download, 2.5 s and 3.5 s.

    For these, three and two steps are closest, 7.5 s and 7 s, and take 9 s; for those, four and three fit exactly.
    """
    run = run_of(ElasticBsp(lookahead=4, monitoring=0), [[2.0], [3.0]], Horizon(seconds=49.0), latency=0.5)
    assert [(time, dict(steps)) for time, steps in supersteps(run)] == [
        (3.5, {0: 1, 1: 1}),
        (12.5, {0: 3, 1: 2}),
        *[(12.5 + 12.0 * number, {0: 4, 1: 3}) for number in range(1, 4)],
    ]


def test_waiting_falls_with_the_lookahead() -> None:
    horizon = Horizon(seconds=230.5)
    barriers = [Bsp(), *(ElasticBsp(lookahead, monitoring=0) for lookahead in (4, 15, 60))]
    seconds = [waited(run_of(policy, SPEEDS, horizon)) for policy in barriers]
    assert seconds == pytest.approx([100 * (1.3 + 0.6), 91.0, 11.5, 2.4])


def test_the_least_spread_is_not_the_least_waiting() -> None:
    """At 1, 1.5 and 3.5 s the spread is least, 0.5 s, after one step of the slowest already, and so waiting often."""
    found = {}
    for objective in COSTS:
        run = run_of(ElasticBsp(12, objective, monitoring=0), [[1.0], [1.5], [3.5]], Horizon(seconds=200.0))
        (first, _), (second, _) = itertools.islice(supersteps(run), 2)
        found[objective] = (second - first, waited(run))
    assert found == {"spread": (3.5, 60.5), "rate": (11.0, 21.5), "total": (10.5, 13.5)}


def test_leads_add_up_over_supersteps_without_end() -> None:
    leads = [largest_lead(run_of(ElasticBsp(4), [[1.0], [2.0]], Horizon(seconds=t)).trace) for t in (50.0, 500.0)]
    assert leads[1] > 200 > 10 * 4 > leads[0]


@settings(max_examples=50)
@given(SECONDS, st.sampled_from([0.0, 0.25]))
def test_a_lookahead_of_one_is_a_barrier_after_every_step(seconds: list[list[float]], latency: float) -> None:
    runs = [
        run_of(policy, seconds, Horizon(steps=12), latency=latency)
        for policy in (Bsp(), ElasticBsp(lookahead=1, monitoring=0))
    ]
    kept = [[event for event in run.trace if isinstance(event, Stepped | Released)] for run in runs]
    assert [event[:2] for event in kept[0]] == [event[:2] for event in kept[1]]


@pytest.mark.parametrize("monitoring", [0, 1, 2])
@pytest.mark.parametrize("kind", ["crash", "leave"])
def test_a_superstep_does_not_wait_for_those_who_are_gone(kind: str, monitoring: int) -> None:
    changes = (Change(20.2, 2, kind), Change(31.7, 2, "join"), Change(40.1, 0, kind))  # type: ignore[arg-type]
    policy = ElasticBsp(lookahead=6, monitoring=monitoring)
    run = run_of(policy, SPEEDS, Horizon(seconds=300.0), latency=0.1, changes=changes)
    # Beside worker 1, of 1.9 s a step with its journeys, only the returned worker 2, of 2.5 s, is ever waited for.
    assert run.view.clock[1] > 0.75 * 300 / 1.9
    assert run.view.clock[2] > 0.75 * 280 / 2.5
    assert run.view.alive == {1, 2}


def test_the_last_one_waited_for_lets_the_others_go_when_it_is_gone() -> None:
    changes = (Change(30.0, 1, "crash"),)
    run = run_of(ElasticBsp(monitoring=0), [[1.0], [50.0]], Horizon(seconds=35.0), changes=changes)
    assert run.view.clock == [1 + 5, 0]


def test_one_step_of_a_new_worker_is_waited_for() -> None:
    # The others would meet at 3, 9, 15 s; the new one needs 20 s from 4 s on, and then an interval of 20 s is known.
    changes = (Change(0.5, 2, "crash"), Change(4.0, 2, "join"))
    policy = ElasticBsp(lookahead=10, monitoring=0)
    run = run_of(policy, [[2.0], [3.0], [20.0]], Horizon(seconds=25.0), changes=changes)
    assert [time for time, _ in supersteps(run)] == [24.0]
    assert [event.time for event in run.trace if isinstance(event, Released) and event.worker == 1] == [3.0, 6.0, 24.0]


def test_a_report_of_an_earlier_life_neither_ends_a_phase_nor_tells_an_interval() -> None:
    # Worker 1's first report is under way from 20 to 22.5 s; it crashes meanwhile, is back at 21 s and reports at 46 s.
    changes = (Change(20.5, 1, "crash"), Change(21.0, 1, "join"))
    policy = ElasticBsp(lookahead=10, monitoring=0)
    run = run_of(policy, [[2.0], [20.0]], Horizon(seconds=72.0), latency=2.5, changes=changes)
    # The next barrier is chosen by its journeys and steps of 25 s together.
    released = [
        [event.time for event in run.trace if isinstance(event, Released) and event.worker == worker]
        for worker in (0, 1)
    ]
    assert released == [[20.5, 46.0, 53.0, 60.0, 67.0], [46.0, 71.0]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"lookahead": 0}, "got 0"), ({"monitoring": -1}, "got -1"), ({"objective": "mean"}, "'mean'")],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ElasticBsp(**parameters)  # type: ignore[arg-type]
