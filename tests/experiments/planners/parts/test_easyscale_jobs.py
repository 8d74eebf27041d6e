"""Devices to jobs: greedily where gains fall, and by all divisions where they do not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.planners.easyscale import DeviceType
from sparsync.experiments.planners.parts.easyscale_jobs import (
    best_division,
    gains_fall,
    greedy_division,
    throughputs,
    total,
)

MOST_DEVICES = 5
DEVICE_COUNTS = st.integers(0, MOST_DEVICES)
# Whole numbers, so that sums are exact.
ANY_TABLE = st.lists(st.integers(0, 9), min_size=MOST_DEVICES + 1, max_size=MOST_DEVICES + 1)
FALLING_TABLE = st.lists(st.integers(0, 9), min_size=MOST_DEVICES, max_size=MOST_DEVICES).map(
    lambda gains: list(itertools.accumulate(sorted(gains, reverse=True), initial=0))
)


def largest_total(tables: Sequence[Sequence[float]], device_count: int) -> float:
    divisions = itertools.product(range(device_count + 1), repeat=len(tables))
    return max(total(tables, division) for division in divisions if sum(division) <= device_count)


@settings(max_examples=60, deadline=None)
@given(st.lists(ANY_TABLE, min_size=1, max_size=4), DEVICE_COUNTS)
def test_the_best_division_is_the_best_of_all(tables: list[list[int]], device_count: int) -> None:
    found = best_division(tables, device_count)
    assert sum(found) <= device_count
    assert total(tables, found) == largest_total(tables, device_count)
    assert total(tables, greedy_division(tables, device_count)) <= total(tables, found)


@settings(max_examples=60, deadline=None)
@given(st.lists(FALLING_TABLE, min_size=1, max_size=4), DEVICE_COUNTS)
def test_greedy_is_best_where_gains_fall(tables: list[list[int]], device_count: int) -> None:
    assert all(gains_fall(table) for table in tables)
    found = greedy_division(tables, device_count)
    assert sum(found) == device_count
    assert total(tables, found) == largest_total(tables, device_count)


def test_whole_logical_workers_make_greedy_miss_a_fifth() -> None:
    """Jobs of four and of two logical workers and five devices: 2 + 2 steps per second, where 4 + 1 can be had."""
    four, two = (throughputs(count, DeviceType(5, 1.0)) for count in (4, 2))
    assert four == [0.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert not gains_fall(four)
    assert total([four, two], greedy_division([four, two], 5)) == 4
    assert best_division([four, two], 5) == [4, 1]
    assert total([four, two], [4, 1]) == 5


def test_a_job_does_nothing_before_its_devices_hold_all_its_workers() -> None:
    assert throughputs(5, DeviceType(4, 2.0, cap=2)) == [0.0, 0.0, 0.0, 5.0, 5.0]


def test_a_program_finds_as_much() -> None:
    cvxpy: Any = import_module("cvxpy")

    tables = [throughputs(count, DeviceType(9, speed)) for count, speed in ((7, 1.0), (4, 1.0), (9, 1.0))]
    chosen = [cvxpy.Variable(10, boolean=True) for _ in tables]
    gained = sum((one @ table for one, table in zip(chosen, tables, strict=True)), cvxpy.Constant(0))
    given_count = sum((one @ list(range(10)) for one in chosen), cvxpy.Constant(0))
    program = cvxpy.Problem(cvxpy.Maximize(gained), [one.sum() == 1 for one in chosen] + [given_count == 9])
    program.solve(solver=cvxpy.HIGHS)
    # The solver's feasibility tolerance.
    assert total(tables, best_division(tables, 9)) == pytest.approx(program.value, rel=1e-6)


def test_bad_questions_are_refused() -> None:
    for division in (greedy_division, best_division):
        with pytest.raises(ValueError, match="job 1 has 2 throughputs, for fewer than 2 devices"):
            division([[0.0, 1.0, 2.0], [0.0, 1.0]], 2)
        with pytest.raises(ValueError, match="3 devices are for no job"):
            division([], 3)
        with pytest.raises(ValueError, match="device_count must be at least 0, got -1"):
            division([[0.0]], -1)
