"""Rows, then columns: two averages in small groups are one of everybody."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link, Recorded
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.ds_sync import DsSync
from sparsync.verify.monitors.trace import Mixed, Started, Stepped

Matrix = list[list[Fraction]]
Kind = Literal["leave", "crash"]
KINDS: tuple[Kind, ...] = ("leave", "crash")


def run(worker_count: int, *, horizon: Horizon, group_size: int | None = None, **cluster: Any) -> Simulation:
    return run_policy(DsSync(group_size), Cluster(worker_count, **cluster), horizon)


def run_policy(policy: DsSync, cluster: Cluster, horizon: Horizon, message_bytes: int = 0) -> Simulation:
    simulation = Simulation(policy, cluster, horizon, message_bytes=message_bytes)
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


RACKS = [(8, 4, 2, 3), (8, 8, 2, 3), (8, 4, None, 2), (16, 4, None, 2), (12, 6, 3, 3), (18, 6, 6, 2), (6, 1, None, 1)]
"""Workers, workers of a rack, the most of a group, and in how many steps that mixes all."""


@pytest.mark.parametrize(("worker_count", "rack_size", "group_size", "rounds"), RACKS)
def test_on_racks_as_many_steps_as_there_are_digits_average_everybody_exactly_and_no_fewer(
    worker_count: int, rack_size: int, group_size: int | None, rounds: int
) -> None:
    cluster = Cluster(worker_count, Constant((1.0, 1.5, 2.25)))
    simulation = run_policy(DsSync(group_size, rack_size), cluster, Horizon(steps=2 * rounds + 1))
    matrices = round_matrices(simulation, worker_count)
    everybody = [[Fraction(1, worker_count)] * worker_count] * worker_count
    alone = [[Fraction(row == column) for column in range(worker_count)] for row in range(worker_count)]
    assert len(matrices) == 2 * rounds + 1
    for first in range(rounds + 1):
        mixed = [
            *accumulate(matrices[first : first + rounds], lambda sofar, later: product(later, sofar), initial=alone)
        ]
        assert [found == everybody for found in mixed] == [False] * rounds + [True]


@pytest.mark.parametrize(("worker_count", "rack_size", "group_size", "rounds"), RACKS)
def test_groups_of_a_step_on_racks_are_disjoint_and_hold_everybody(
    worker_count: int, rack_size: int, group_size: int | None, rounds: int
) -> None:
    """A group lies within a rack, or holds one worker of each of several racks."""
    simulation = run_policy(DsSync(group_size, rack_size), Cluster(worker_count), Horizon(steps=2 * rounds))
    by_time: dict[float, list[tuple[int, ...]]] = defaultdict(list)
    for time, members in groups(simulation):
        by_time[time].append(members)
        assert len({member // rack_size for member in members}) in (1, len(members))
        assert len(members) <= (group_size or worker_count)
    assert len(by_time) == 2 * rounds
    assert all(sorted(sum(found, ())) == list(range(worker_count)) for found in by_time.values())


def test_groups_of_two_racks_by_digits_are_as_written_by_hand() -> None:
    simulation = run_policy(DsSync(2, rack_size=4), Cluster(8), Horizon(steps=3))
    assert [members for _, members in sorted(groups(simulation))] == [
        *((0, 1), (2, 3), (4, 5), (6, 7)),
        *((0, 2), (1, 3), (4, 6), (5, 7)),
        *((0, 4), (1, 5), (2, 6), (3, 7)),
    ]


def test_only_steps_of_racks_lead_out_of_them_and_wait_for_their_lines() -> None:
    """Two racks of four: at 2 four pairs mix 1000 bytes each way, one after another on a line of 500 bytes/s."""
    cluster = Cluster(8, rack_size=4, between=Link(bytes_per_second=500.0))
    simulation = run_policy(DsSync(rack_size=4), cluster, Horizon(steps=4), message_bytes=1000)
    started = [event.time for event in simulation.trace if isinstance(event, Started)]
    # At 1 racks mix within, so that nobody waits; pairs are mixed 2, 4, 6 and 8 seconds after the second step.
    assert started[:24] == [0.0] * 8 + [1.0] * 8 + [4.0, 4.0, 6.0, 6.0, 8.0, 8.0, 10.0, 10.0]
    assert simulation.rack_bytes == 2 * 8 * 1000


def test_rows_that_take_no_account_of_racks_send_more_out_of_them() -> None:
    """Of nine workers on racks of three rows are the racks, of eight on racks of four they are not."""
    cluster, horizon = Cluster(8, rack_size=4), Horizon(steps=4)
    blind, aware = (run_policy(DsSync(rack_size=size), cluster, horizon, 1000).rack_bytes for size in (None, 4))
    assert aware < blind
    nine = Cluster(9, rack_size=3)
    assert len({run_policy(DsSync(rack_size=size), nine, horizon, 1000).rack_bytes for size in (None, 3)}) == 1


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=8, max_size=8))
def test_on_racks_nobody_is_further_ahead_than_there_are_digits(rows: list[list[float]]) -> None:
    cluster = Cluster(8, Recorded(tuple(map(tuple, rows))))
    assert largest_gap(run_policy(DsSync(2, rack_size=4), cluster, Horizon(steps=10)), 8) <= 3


@settings(max_examples=30, deadline=None)
@given(gone=st.floats(0.5, 20.0), away=st.floats(0.1, 20.0), worker=st.integers(0, 7), kind=st.sampled_from(KINDS))
def test_on_racks_nobody_waits_for_one_that_is_gone(gone: float, away: float, worker: int, kind: Kind) -> None:
    changes = (Change(gone, worker, kind), Change(gone + away + 4.0, worker, "join"))
    cluster = Cluster(8, Constant((1.0, 1.25, 2.0)), changes=changes)
    simulation = run_policy(DsSync(2, rack_size=4), cluster, Horizon(seconds=60.0))
    assert min(simulation.view.clock) >= 8


def test_one_that_waits_for_another_rack_goes_on_when_that_is_gone() -> None:
    """Worker 0 has waited since 3 for worker 4, which crashes at 3.5; in other steps there are others to meet."""
    durations = Recorded(((1.0,), (1.0,), (1.0,), (1.0,), (1.0, 1.0, 99.0), (1.0,), (1.0,), (1.0,)))
    cluster = Cluster(8, durations, changes=(Change(3.5, 4, "crash"),))
    simulation = run_policy(DsSync(2, rack_size=4), cluster, Horizon(seconds=20.0))
    assert [event.time for event in simulation.trace if isinstance(event, Started) and event.worker == 0][3] == 3.5
    assert min(simulation.view.clock[worker] for worker in range(8) if worker != 4) > 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rack_size": 3}, "rack_size must divide 8, the workers, got 3"),
        ({"rack_size": 0}, "rack_size must be at least 1, got 0"),
        ({"rack_size": 4, "group_size": 1}, "group_size 1 is too small: 4 workers or racks are no product"),
        ({"rack_size": 8, "group_size": 9}, "group_size must be at most 8, the workers, got 9"),
    ],
)
def test_racks_that_groups_cannot_mix_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_policy(DsSync(**options), Cluster(8), Horizon(steps=1))


def test_a_group_needs_members() -> None:
    with pytest.raises(ValueError, match="got 0"):
        DsSync(0)
