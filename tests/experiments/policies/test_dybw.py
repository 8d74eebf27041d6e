"""Dynamic backup workers: weights are doubly stochastic, and what mixes in a while is connected."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Recorded
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.planners.mixing import Edge, full_rows, metropolis_weights
from sparsync.experiments.policies.dybw import DynamicBackupWorkers
from sparsync.verify.monitors.trace import Mixed, Stepped

Graph = Literal["ring", "complete"]


def mixes(graph: Graph, cluster: Cluster, horizon: Horizon) -> tuple[Simulation, list[Mixed]]:
    simulation = Simulation(DynamicBackupWorkers(graph), cluster, horizon)
    simulation.run()
    return simulation, [event for event in simulation.trace if isinstance(event, Mixed)]


def exact(event: Mixed) -> list[list[Fraction]]:
    """The rationals that the floats round: their denominators are below (n + 1)²."""
    return [
        [Fraction(weight).limit_denominator((len(event.members) + 1) ** 2) for weight in row] for row in event.weights
    ]


def edges(event: Mixed) -> set[Edge]:
    pairs = combinations(range(len(event.members)), 2)
    return {(event.members[i], event.members[j]) for i, j in pairs if event.weights[i][j]}


def is_connected(vertices: range, joined: set[Edge]) -> bool:
    reached = {0}
    for _ in vertices:
        reached |= {other for edge in joined if reached.intersection(edge) for other in edge}
    return reached == set(vertices)


def clusters(most: int) -> st.SearchStrategy[Cluster]:
    def of(worker_count: int) -> st.SearchStrategy[Cluster]:
        rows = st.lists(
            st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=worker_count, max_size=worker_count
        )
        return rows.map(lambda rows: Cluster(worker_count, Recorded(tuple(map(tuple, rows)))))

    return st.integers(2, most).flatmap(of)


def graphs(most: int) -> st.SearchStrategy[tuple[int, set[Edge]]]:
    pairs = {count: list(combinations(range(count), 2)) for count in range(2, most + 1)}
    return st.sampled_from(sorted(pairs)).flatmap(
        lambda count: st.tuples(st.just(count), st.sets(st.sampled_from(pairs[count])))
    )


@given(graphs(7))
def test_metropolis_weights_are_symmetric_and_doubly_stochastic(graph: tuple[int, set[Edge]]) -> None:
    count, joined = graph
    rows = metropolis_weights(range(count), joined)
    weights = [[row.get(other, 0) for other in range(count)] for row in rows]
    assert all(sum(row) == 1 and min(row) >= 0 for row in weights)
    assert [list(column) for column in zip(*weights, strict=True)] == weights
    assert all((weights[i][j] > 0) == ((i, j) in joined) for i, j in combinations(range(count), 2))
    assert full_rows(range(count), rows) == tuple(tuple(map(float, row)) for row in weights)


def test_metropolis_weights_of_a_star_equal_hand_computed_values() -> None:
    quarter = Fraction(1, 4)
    members = [5, 2, 8, 9]
    rows = metropolis_weights(members, [(2, 5), (5, 8), (5, 9)])
    assert rows == (
        dict.fromkeys(members, quarter),
        {5: quarter, 2: 3 * quarter},
        {5: quarter, 8: 3 * quarter},
        {5: quarter, 9: 3 * quarter},
    )
    assert full_rows(members, rows)[1:] == ((0.25, 0.75, 0.0, 0.0), (0.25, 0.0, 0.75, 0.0), (0.25, 0.0, 0.0, 0.75))


@settings(max_examples=30, deadline=None)
@given(cluster=clusters(6), graph=st.sampled_from(["ring", "complete"]))
def test_every_mix_is_doubly_stochastic_exactly(cluster: Cluster, graph: Graph) -> None:
    _, events = mixes(graph, cluster, Horizon(steps=6))
    assert events
    for event in events:
        weights = exact(event)
        assert [[float(weight) for weight in row] for row in weights] == [list(row) for row in event.weights]
        assert all(sum(row) == 1 for row in weights)
        assert all(sum(column) == 1 for column in zip(*weights, strict=True))


@settings(max_examples=40, deadline=None)
@given(cluster=clusters(6), graph=st.sampled_from(["ring", "complete"]))
def test_mixes_that_span_an_epoch_are_connected(cluster: Cluster, graph: Graph) -> None:
    """Each mix uses a new edge of the path, so an epoch has at most n − 1 and any 2n − 3 in a row contain one."""
    count = cluster.worker_count
    _, events = mixes(graph, cluster, Horizon(seconds=60.0))
    span = 2 * count - 3
    for first in range(len(events) - span + 1):
        together = set().union(*(edges(event) for event in events[first : first + span]))
        assert is_connected(range(count), together)


def test_the_fast_go_on_without_the_slow_until_the_epoch_needs_them() -> None:
    """On the path 0−1−2−3 with worker 3 slow, two mixes use the first two edges; the third waits for the last."""
    _, events = mixes("ring", Cluster(4, Constant((1.0, 1.0, 1.5, 7.0))), Horizon(seconds=7.0))
    assert [(event.time, event.members) for event in events] == [
        (1.0, (0, 1)),
        (2.0, (0, 1, 2)),
        (7.0, (0, 1, 2, 3)),
    ]


def test_whoever_has_mixed_does_not_mix_again_when_another_leaves() -> None:
    """At 2 all three mix and worker 0 leaves, while workers 1 and 2 are still at the gate."""
    _, events = mixes("ring", Cluster(3, Constant((1.0,))), Horizon(steps=2))
    assert [(event.time, event.members) for event in events] == [(1.0, (0, 1, 2)), (2.0, (0, 1, 2))]


@pytest.mark.parametrize("graph", ["ring", "complete"])
@pytest.mark.parametrize("seconds", [0.1, 0.3, 1.0])
def test_equal_workers_finish_together_mix_together_and_never_idle(graph: Graph, seconds: float) -> None:
    simulation, events = mixes(graph, Cluster(6, Constant((seconds,))), Horizon(seconds=12.5 * seconds))
    assert simulation.view.clock == [12] * 6
    assert {event.members for event in events} == {(0, 1, 2, 3, 4, 5)}
    assert simulation.report().waiting_share == 0


def test_a_mix_may_wait_a_little_for_those_who_finish_soon() -> None:
    cluster = Cluster(4, Constant((1.0, 1.25, 1.5, 7.0)))
    for together, members in ((0.0, (0, 1)), (0.125, (0, 1)), (0.25, (0, 1, 2)), (6.0, (0, 1, 2, 3))):
        simulation = Simulation(DynamicBackupWorkers(together_seconds=together), cluster, Horizon(seconds=8.0))
        simulation.run()
        first = next(event for event in simulation.trace if isinstance(event, Mixed))
        assert (first.time, first.members) == (1.25 + together, members)


def test_a_finished_worker_without_finished_neighbours_waits() -> None:
    """Worker 2 is a neighbour of 1 and 3 alone: it does not take part when 0 and 4 mix at 3, nor goes on then."""
    cluster = Cluster(6, Constant((3.0, 3.0, 1.0, 20.0, 20.0, 20.0)))
    _, events = mixes("ring", cluster, Horizon(seconds=3.0))
    assert [(event.time, event.members) for event in events] == [(3.0, (0, 1, 2))]
    cluster = Cluster(6, Constant((3.0, 3.0, 20.0, 1.0, 20.0, 20.0)))
    simulation, events = mixes("ring", cluster, Horizon(seconds=5.0))
    assert [(event.time, event.members) for event in events] == [(3.0, (0, 1))]
    assert simulation.view.waiting == {3}


def test_the_path_closes_over_one_that_is_gone() -> None:
    """Without worker 1, workers 0 and 2 are neighbours at once, both waiting for it until then."""
    cluster = Cluster(4, Constant((1.0, 50.0, 1.0, 60.0)), changes=(Change(2.5, 1, "crash"),))
    _, events = mixes("ring", cluster, Horizon(seconds=10.0))
    assert [(event.time, event.members) for event in events] == [(2.5, (0, 2))]


def test_first_and_last_are_neighbours_on_a_ring() -> None:
    """Worker 4 finishes first and waits; its edge with 0 is none of the path, but takes part when 0 and 1 mix."""
    _, events = mixes("ring", Cluster(5, Constant((3.0, 3.0, 20.0, 20.0, 1.0))), Horizon(seconds=3.0))
    third = Fraction(1, 3)
    assert [(event.time, event.members) for event in events] == [(3.0, (0, 1, 4))]
    assert exact(events[0]) == [[third] * 3, [third, 2 * third, 0], [third, 0, 2 * third]]


@pytest.mark.parametrize(
    ("seconds", "changes", "expected"),
    [
        # Its edge is used when another worker goes, so that 0 and 1 wait for 2.
        ((1.0, 1.0, 9.0, 20.0), (Change(1.5, 3, "crash"),), [(1.0, (0, 1)), (9.0, (0, 1, 2))]),
        # It is used still when one of them goes and comes back.
        (
            (1.0, 1.0, 9.0, 9.0),
            (Change(1.5, 1, "crash"), Change(1.75, 1, "join")),
            [(1.0, (0, 1)), (9.0, (0, 1, 2, 3))],
        ),
        # Without worker 2 all edges are used, and the next epoch begins with those who wait.
        ((1.0, 1.0, 50.0), (Change(2.5, 2, "crash"),), [(1.0, (0, 1)), (2.5, (0, 1))]),
    ],
)
def test_an_epoch_survives_a_change_of_membership(
    seconds: tuple[float, ...], changes: tuple[Change, ...], expected: list[tuple[float, tuple[int, ...]]]
) -> None:
    cluster = Cluster(len(seconds), Constant(seconds), changes=changes)
    _, events = mixes("ring", cluster, Horizon(seconds=9.0))
    assert [(event.time, event.members) for event in events][: len(expected)] == expected


def test_the_last_one_alive_goes_on_alone() -> None:
    changes = (Change(0.5, 1, "crash"),)
    simulation, events = mixes("ring", Cluster(2, Constant((1.0,)), changes=changes), Horizon(steps=5))
    assert not events
    assert [event.time for event in simulation.trace if isinstance(event, Stepped)] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_an_unknown_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="'star'"):
        DynamicBackupWorkers("star")  # type: ignore[arg-type]
