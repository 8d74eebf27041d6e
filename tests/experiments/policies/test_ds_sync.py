"""Rows, then columns: two averages in small groups are one of everybody."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Recorded
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.ds_sync import DsSync
from sparsync.verify.monitors.trace import Mixed, Stepped

Matrix = list[list[Fraction]]


def run(worker_count: int, *, horizon: Horizon, group_size: int | None = None, **cluster: Any) -> Simulation:
    simulation = Simulation(DsSync(group_size), Cluster(worker_count, **cluster), horizon)
    simulation.run()
    return simulation


def groups(simulation: Simulation) -> list[tuple[float, tuple[int, ...]]]:
    return [(event.time, event.members) for event in simulation.trace if isinstance(event, Mixed)]


def round_matrices(simulation: Simulation, worker_count: int) -> list[Matrix]:
    """W of each round, from what mixed in it; whoever does not mix keeps its model."""
    rounds: dict[int, Matrix] = defaultdict(
        lambda: [[Fraction(row == column) for column in range(worker_count)] for row in range(worker_count)]
    )
    clock: dict[int, int] = {}
    for event in simulation.trace:
        if isinstance(event, Stepped):
            clock[event.worker] = event.clock
        if isinstance(event, Mixed):
            assert len({clock[member] for member in event.members}) == 1
            matrix = rounds[clock[event.members[0]]]
            for member, row in zip(event.members, event.weights, strict=True):
                for other, weight in zip(event.members, row, strict=True):
                    matrix[member][other] = Fraction(weight).limit_denominator(worker_count)
    return [rounds[number] for number in sorted(rounds)]


def product(left: Matrix, right: Matrix) -> Matrix:
    inner = range(len(right))
    return [[sum((row[k] * right[k][j] for k in inner), Fraction(0)) for j in inner] for row in left]


@pytest.mark.parametrize(
    ("worker_count", "group_size"), [(4, None), (9, None), (16, None), (6, 2), (6, 3), (8, 4), (8, 2)]
)
def test_two_rounds_average_everybody_exactly(worker_count: int, group_size: int | None) -> None:
    simulation = run(worker_count, group_size=group_size, horizon=Horizon(steps=4), durations=Constant((1.0, 1.5)))
    matrices = round_matrices(simulation, worker_count)
    everybody = [[Fraction(1, worker_count)] * worker_count] * worker_count
    assert len(matrices) == 4
    assert all(product(later, earlier) == everybody for earlier, later in pairwise(matrices))


@pytest.mark.parametrize("worker_count", [2, 3, 5, 7, 8, 11])
def test_every_round_is_doubly_stochastic_exactly(worker_count: int) -> None:
    simulation = run(worker_count, horizon=Horizon(steps=3), durations=Constant((1.0, 2.0, 1.5)))
    for matrix in round_matrices(simulation, worker_count):
        assert all(sum(row) == 1 and min(row) >= 0 for row in matrix)
        assert all(sum(column) == 1 for column in zip(*matrix, strict=True))


def test_four_workers_alternate_the_two_partitions_of_the_public_code() -> None:
    assert groups(run(4, horizon=Horizon(steps=2), durations=Constant((1.0,)))) == [
        (1.0, (0, 1)),
        (1.0, (2, 3)),
        (2.0, (0, 2)),
        (2.0, (1, 3)),
    ]


def largest_gap(simulation: Simulation, worker_count: int) -> int:
    clock, gaps = [0] * worker_count, [0]
    for event in simulation.trace:
        if isinstance(event, Stepped):
            clock[event.worker] = event.clock
            gaps.append(event.clock - min(clock))
    return max(gaps)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=9, max_size=9))
def test_on_a_full_grid_nobody_is_more_than_two_steps_ahead(rows: list[list[float]]) -> None:
    simulation = run(9, horizon=Horizon(steps=10), durations=Recorded(tuple(map(tuple, rows))))
    assert largest_gap(simulation, 9) <= 2


def test_two_steps_ahead_is_reached_where_a_barrier_would_allow_one() -> None:
    """Worker 3 is slow: 0 and 1 average their first steps, and 0 its second with nobody's but that of 2."""
    simulation = run(4, horizon=Horizon(seconds=60.0), durations=Constant((1.0, 1.0, 1.0, 50.0)))
    assert largest_gap(simulation, 4) == 2


def test_groups_shrink_to_those_alive() -> None:
    """Worker 1 is gone at 1.5: worker 0 has nobody in its row, and goes on; in its column it meets 2 again."""
    simulation = run(
        4, horizon=Horizon(seconds=4.0), durations=Constant((1.0, 9.0, 1.0, 1.0)), changes=(Change(1.5, 1, "crash"),)
    )
    assert groups(simulation) == [(1.0, (2, 3)), (2.5, (0, 2)), (3.5, (2, 3))]


def test_one_that_joins_takes_part_in_the_round_of_the_last() -> None:
    simulation = run(
        4,
        horizon=Horizon(seconds=4.0),
        durations=Constant((1.0,)),
        absent=frozenset({3}),
        changes=(Change(1.25, 3, "join"),),
    )
    assert groups(simulation) == [(1.0, (0, 1)), (2.0, (0, 2)), (2.25, (1, 3)), (3.25, (0, 1)), (3.25, (2, 3))]


def test_one_that_joins_late_does_not_meet_those_who_are_further_on() -> None:
    """Worker 0 went on alone at 1 and has been in its column since 2; worker 1 makes up its row alone at 4.5."""
    simulation = run(
        4,
        horizon=Horizon(seconds=11.5),
        durations=Constant((1.0, 1.0, 1.0, 10.0)),
        absent=frozenset({1}),
        changes=(Change(3.5, 1, "join"),),
    )
    assert groups(simulation) == [(10.0, (2, 3)), (11.0, (0, 2))]


def test_a_group_needs_members() -> None:
    with pytest.raises(ValueError, match="got 0"):
        DsSync(0)
