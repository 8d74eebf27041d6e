"""The study of planned barriers: its scan is an oracle, its bounds are the statements', its fits find what is there."""

from __future__ import annotations

import math
import timeit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.planners.zipline import Meeting, Objective, Times, exhaustive, zipline
from sparsync.experiments.studies.synchronisation import planned_barriers
from sparsync.experiments.studies.synchronisation.planned_barriers import (
    FAMILIES,
    PLANNERS,
    SIZES,
    Sizes,
    algebraic_intervals,
    case_count,
    compare_small,
    find_spans,
    fitted_exponents,
    run_planned_barriers,
    scan,
    span_bound,
    time_plan,
)
from sparsync.verify.tools.pool import Pool

ROWS = st.lists(st.lists(st.integers(1, 12).map(float), min_size=1, max_size=4).map(sorted), min_size=1, max_size=4)
TINY = Sizes(20, (3, 10), (2, 5), 3, 1, (4, 8), 2)


@given(ROWS)
def test_a_plain_scan_finds_the_least_spread(times: list[list[float]]) -> None:
    assert scan(times) == exhaustive(times).cost


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sweeps_solve_every_small_instance_and_need_their_guard(family: str) -> None:
    found = compare_small((family, 60, 3))
    assert found["instances"] == found["printed_equal"] == 60
    assert found["equal"] == {"spread": 60, "rate": 60, "total": 60}
    assert 15 < found["unguarded_wrong"] < 60


def test_a_sweep_that_takes_the_last_barrier_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def last(times: Times, objective: Objective = "spread", *, begin: float = 0.0) -> Meeting:
        return Meeting(zipline(times, objective, begin=begin).cost, max(row[-1] for row in times), ())

    monkeypatch.setattr(planned_barriers, "zipline", last)
    assert compare_small(("uniform", 60, 3))["equal"]["spread"] < 40


@pytest.mark.parametrize("planner", PLANNERS)
def test_every_planner_finds_the_same_spread_in_some_time(planner: str) -> None:
    row = time_plan((planner, 5, 9, 1, 0))
    assert row["spread"] == time_plan(("sweep", 5, 9, 1, 0))["spread"] > 0
    assert row["wall_seconds"] > 0


def test_the_seconds_are_those_of_one_plan_at_its_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond at first sight, so ten calls fill a repetition, of which the fastest takes twice as long a call."""
    monkeypatch.setattr(timeit, "timeit", lambda _plan, number: 0.001 * number)
    monkeypatch.setattr(
        timeit, "repeat", lambda _plan, repeat, number: [0.002 * number * (1 + place) for place in range(repeat)]
    )
    assert time_plan(("sweep", 5, 9, 3, 0))["wall_seconds"] == pytest.approx(0.002)


def test_exponents_are_those_of_a_power_law() -> None:
    rows = [
        {"planner": planner, "workers": n, "look_ahead": ahead, "wall_seconds": factor * n**1.5 * ahead**0.5}
        for planner, factor in (("scan", 3e-6), ("sweep", 0.0))
        for n in (10, 30, 100)
        for ahead in (15, 50)
    ]
    assert fitted_exponents(rows, "scan") == pytest.approx({"workers": 1.5, "look_ahead": 0.5})


@pytest.mark.parametrize("look_ahead", [2, 5, 12])
def test_the_bound_for_two_workers_is_attained(look_ahead: int) -> None:
    # d_max = (1 + 1/R) d_min, in whole units of d_min/R.
    intervals = [float(look_ahead), float(look_ahead + 1)]
    times = [[step * interval for step in range(1, look_ahead + 1)] for interval in intervals]
    assert zipline(times).cost == span_bound(intervals, look_ahead) == 1


@settings(max_examples=60)
@given(st.lists(st.floats(1, 1.5), min_size=2, max_size=4), st.integers(2, 60))
def test_no_spread_exceeds_its_bound(intervals: list[float], look_ahead: int) -> None:
    bound = span_bound(intervals, look_ahead)
    times = [[step * interval for step in range(1, look_ahead + 1)] for interval in intervals]
    # Products and their difference are rounded at sizes up to 1.5 R.
    assert zipline(times).cost <= (math.inf if bound is None else bound) + 4 * 1.5 * look_ahead * 2**-53


@pytest.mark.parametrize(
    ("intervals", "look_ahead"), [([1.0, 3.0], 2), ([1.0, 1.2, 1.3, 1.4], 3), ([1.0] * 3 + [5.0], 4)]
)
def test_where_the_statements_are_silent_there_is_no_bound(intervals: list[float], look_ahead: int) -> None:
    assert span_bound(intervals, look_ahead) is None


def test_two_workers_meet_at_the_convergents_of_their_ratio() -> None:
    """Multiples of 1 and √2: 3 − 2√2 up to four steps, 7 − 5√2 (in absolute value) up to eight."""
    assert algebraic_intervals(2) == pytest.approx([1, math.sqrt(2)])
    rows = [row for row in find_spans((2, (4, 8), 1, 0)) if row["intervals"] == "algebraic"]
    assert [row["spread"] for row in rows] == pytest.approx([3 - 2 * math.sqrt(2), 5 * math.sqrt(2) - 7], rel=1e-12)
    assert [row["bound"] for row in rows] == pytest.approx([1 / 3, 1 / 6])
    assert [row["share_of_bound"] for row in rows] == pytest.approx([row["spread"] / row["bound"] for row in rows])


def test_of_several_draws_the_nearest_to_its_bound_counts() -> None:
    rows = [row for row in find_spans((3, (16, 64), 5, 0)) if row["intervals"] == "drawn"]
    assert all(row["spread"] / row["bound"] < row["share_of_bound"] <= 1 for row in rows)


def test_the_study_times_and_compares_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", TINY)
    advanced: list[None] = []
    study, again, other = (
        run_planned_barriers("smoke", Pool(advance=lambda: advanced.append(None)), seed=seed) for seed in (1, 1, 2)
    )
    assert len(advanced) == 3 * case_count("smoke")
    sizes = [(row["planner"], row["workers"], row["look_ahead"]) for row in study["timings"]]
    assert sizes[:4] == [("sweep", 3, 2), ("sweep", 3, 5), ("sweep", 10, 2), ("sweep", 10, 5)]
    assert sizes[4:] == [(planner, 3, ahead) for planner in ("printed sweep", "scan") for ahead in (2, 5)]
    assert [row["family"] for row in study["small"]] == list(FAMILIES)
    assert [(row["workers"], row["intervals"], row["look_ahead"]) for row in study["spans"]] == [
        (workers, kind, ahead) for workers in (2, 3, 4) for kind in ("algebraic", "drawn") for ahead in (4, 8)
    ]
    assert (study["small"], study["spans"]) == (again["small"], again["spans"])
    assert study["spans"] != other["spans"]
