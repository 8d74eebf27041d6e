"""The clusters by name: what their docstrings say of speeds and of coming and going."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from sparsync.experiments.engine.clusters import CHUNK, Change, Cluster
from sparsync.experiments.engine.presets import (
    ABSENCE_SECONDS,
    CHURN_SECONDS,
    CLUSTERS,
    DEPARTURE_SECONDS,
    SHOCK_SECONDS,
    SHOCK_SPREAD_SECONDS,
    SLOW_FACTOR,
)


def seconds(cluster: Cluster, step: int = 0) -> list[float]:
    return [cluster.durations(worker, step) for worker in range(cluster.worker_count)]


@pytest.mark.parametrize("worker_count", [1, 2, 7, 32])
@pytest.mark.parametrize("name", CLUSTERS)
def test_every_cluster_can_be_made_for_any_number_of_workers(name: str, worker_count: int) -> None:
    cluster = CLUSTERS[name](worker_count, 0)
    assert cluster.worker_count == worker_count
    assert all(0 < value < math.inf for step in (0, CHUNK, 3 * CHUNK) for value in seconds(cluster, step))
    assert CLUSTERS[name].__doc__


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_seed_names_a_cluster(name: str) -> None:
    first, second = CLUSTERS[name](6, 3), CLUSTERS[name](6, 3)
    assert first.changes == second.changes
    assert [seconds(first, step) for step in range(50)] == [seconds(second, step) for step in range(50)]


@pytest.mark.parametrize("name", ["exponential", "pareto", "correlated", "churn", "shocks"])
def test_another_seed_is_other_luck(name: str) -> None:
    first, second = CLUSTERS[name](6, 3), CLUSTERS[name](6, 4)
    tables = [[seconds(cluster, step) for step in range(0, 200, 20)] for cluster in (first, second)]
    assert tables[0] != tables[1] or first.changes != second.changes


def test_constant_clusters_are_as_their_docstrings_say() -> None:
    assert seconds(CLUSTERS["equal"](4, 0), 99) == [1.0] * 4
    assert seconds(CLUSTERS["one_slow"](4, 0), 99) == [1.0, 1.0, 1.0, SLOW_FACTOR]
    assert seconds(CLUSTERS["quarter_speed"](4, 0), 99) == [1.0, 1.0, 1.0, 4.0]
    speeds = seconds(CLUSTERS["spread"](5, 0), 99)
    assert (speeds[0], speeds[-1]) == (1.0, SLOW_FACTOR)
    ratios = [after / before for before, after in pairwise(speeds)]
    assert ratios == pytest.approx([SLOW_FACTOR**0.25] * 4)


@pytest.mark.parametrize(("name", "deviation"), [("exponential", 1.0), ("pareto", math.sqrt(0.8))])
def test_drawn_steps_last_a_second_in_the_mean(name: str, deviation: float) -> None:
    # Pareto of exponent 2.5 and mean 1: variance 1/(2.5 · 0.5).
    cluster, count = CLUSTERS[name](40, 1), 500
    total = math.fsum(value for step in range(count) for value in seconds(cluster, step))
    assert abs(total / (40 * count) - 1) < 5 * deviation / math.sqrt(40 * count)


def test_correlated_slowdowns_hit_neighbours_a_fifth_of_the_time() -> None:
    cluster = CLUSTERS["correlated"](40, 2)
    table = [seconds(cluster, step) for step in range(0, 2000, 20)]
    assert all(row[::2] == row[1::2] for row in table)
    slow = sum(value == 5.0 for row in table for value in row[::2])
    assert abs(slow / 2000 - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 2000)


@pytest.mark.parametrize("worker_count", [2, 3, 8])
def test_workers_that_go_come_back_and_never_all_are_gone(worker_count: int) -> None:
    changes = CLUSTERS["churn"](worker_count, 5).changes
    back = {(change.worker, change.time) for change in changes if change.kind == "join"}
    gone = [change for change in changes if change.kind != "join"]
    assert back == {(change.worker, change.time + ABSENCE_SECONDS) for change in gone}
    assert {change.kind for change in gone} == {"leave", "crash"}
    present = worker_count
    for change in changes:
        present += 1 if change.kind == "join" else -1
        assert present >= 1


def test_a_departure_comes_every_25_seconds_where_workers_are_many() -> None:
    gone = [change.time for change in CLUSTERS["churn"](8, 0).changes if change.kind != "join"]
    assert gone == [start + 0.25 for start in range(DEPARTURE_SECONDS, CHURN_SECONDS, DEPARTURE_SECONDS)]
    assert CLUSTERS["churn"](1, 0).changes == ()
    assert isinstance(CLUSTERS["churn"](8, 0).changes[0], Change)


@pytest.mark.parametrize(("worker_count", "size"), [(2, 1), (5, 2), (8, 4), (13, 4)])
def test_a_shock_hits_a_whole_group_at_about_the_same_time(worker_count: int, size: int) -> None:
    changes = CLUSTERS["shocks"](worker_count, 3).changes
    gone = [change for change in changes if change.kind != "join"]
    assert {change.kind for change in gone} == {"crash"}
    assert [change.time for change in changes if change.kind == "join"] == [c.time + ABSENCE_SECONDS for c in gone]
    struck: dict[int, set[int]] = {}
    for change in gone:
        shock, delay = divmod(change.time, SHOCK_SECONDS)
        assert 0 < delay < SHOCK_SPREAD_SECONDS
        struck.setdefault(int(shock), set()).add(change.worker)
    assert len(struck) == CHURN_SECONDS // SHOCK_SECONDS - 1
    groups = {frozenset(range(first, min(first + size, worker_count))) for first in range(0, worker_count, size)}
    assert {frozenset(workers) for workers in struck.values()} == groups


def test_one_worker_is_spared_all_shocks() -> None:
    assert CLUSTERS["shocks"](1, 0).changes == ()
