"""ZipLine finds the best barrier, and its printed loop needs a guard at the end of the line."""

import heapq
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.zipline import COSTS, Choice, Objective, exhaustive, printed_zipline, zipline

ROWS = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=4).map(sorted), min_size=1, max_size=4)


def smallest_range(times: list[list[float]]) -> float:
    """The least spread by advancing the earliest of n pointers until its row ends."""
    pointers = [(row[0], worker, 0) for worker, row in enumerate(times)]
    heapq.heapify(pointers)
    latest, best = max(row[0] for row in times), float("inf")
    while True:
        earliest, worker, place = pointers[0]
        best = min(best, latest - earliest)
        if place + 1 == len(times[worker]):
            return best
        following = times[worker][place + 1]
        latest = max(latest, following)
        heapq.heapreplace(pointers, (following, worker, place + 1))


def arithmetic_rows(worker_count: int, lookahead: int, seed: int) -> list[list[float]]:
    intervals = [random.Random(f"{seed} {worker}").uniform(1.0, 1.5) for worker in range(worker_count)]
    return [[step * interval for step in range(1, lookahead + 1)] for interval in intervals]


@given(ROWS, st.sampled_from(sorted(COSTS)), st.integers(-5, 0))
def test_the_sweep_finds_the_least_cost_and_its_earliest_barrier(
    times: list[list[int]], objective: Objective, begin: int
) -> None:
    found, best = zipline(times, objective, begin=begin), exhaustive(times, objective, begin=begin)
    assert (found.cost, found.barrier) == (best.cost, best.barrier)
    chosen = [row[step - 1] for row, step in zip(times, found.steps, strict=True)]
    assert max(chosen) == found.barrier


@given(ROWS)
def test_the_guarded_printed_sweep_makes_the_same_choice(times: list[list[int]]) -> None:
    assert printed_zipline(times) == zipline(times)


def test_without_the_guard_a_barrier_without_some_worker_looks_best() -> None:
    assert zipline([[1], [2]]) == printed_zipline([[1], [2]]) == (1, 2, (1, 1))
    assert printed_zipline([[1], [2]], is_guarded=False) == (0, 2, (0, 1))


def test_without_the_guard_many_random_instances_go_wrong() -> None:
    generator = random.Random(1)
    wrong = 0
    for _ in range(400):
        lookahead = generator.randint(1, 5)
        times = [sorted(generator.random() for _ in range(lookahead)) for _ in range(generator.randint(2, 4))]
        unguarded = printed_zipline(times, is_guarded=False)
        assert (unguarded == zipline(times)) == (0 not in unguarded.steps)
        wrong += 0 in unguarded.steps
    assert 200 < wrong < 400


def test_of_equal_costs_the_first_is_taken() -> None:
    assert zipline([[1, 3], [2, 4]]) == (1, 2, (1, 1))


def test_objectives_disagree() -> None:
    times = [[2, 4, 6, 8], [5, 9]]
    assert zipline(times, "spread") == (1, 5, (2, 1))
    assert zipline(times, "rate") == (1 / 9, 9, (4, 2))
    assert zipline(times, "rate", begin=-1) == (1 / 10, 9, (4, 2))
    lone = [[3, 8], [3, 10], [3, 10], [4, 10]]
    assert zipline(lone, "spread") == (1, 4, (1, 1, 1, 1))
    assert zipline(lone, "total") == (2, 10, (2, 2, 2, 2))


def test_a_thousand_workers_are_planned_in_one_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time is looked at once at most; how many seconds that takes is in the study of planned barriers."""
    times, looks = arithmetic_rows(1000, 150, seed=0), itertools.count()

    def spread(choice: Choice) -> float:
        next(looks)
        return choice.barrier - choice.earliest

    monkeypatch.setitem(COSTS, "spread", spread)
    assert zipline(times).cost == smallest_range(times)
    assert 1 < next(looks) <= 1000 * 150


@pytest.mark.parametrize("worker_count", [2, 3, 4])
@pytest.mark.parametrize("lookahead", [16, 128, 1024])
def test_looking_ahead_helps_as_dirichlet_says(worker_count: int, lookahead: int) -> None:
    """A spread of at most 2 τ_max Q^(−1/(n−1)), with Q = ⌊(R − 1) τ_min/τ_max⌋ ≥ 2.

    By Dirichlet's theorem some q ≤ Q brings all q τ_max/τ_i within Q^(−1/(n−1)) of integers p_i, which lie between 1
    and R.
    """
    for seed in range(5):
        times = arithmetic_rows(worker_count, lookahead, seed)
        intervals = [row[0] for row in times]
        largest = (lookahead - 1) * min(intervals) // max(intervals)
        assert largest >= 2
        assert zipline(times).cost <= 2 * max(intervals) * largest ** (-1 / (worker_count - 1))


@pytest.mark.parametrize(
    ("times", "begin", "message"),
    [
        ([], 0, "at least one time"),
        ([[1], []], 0, "at least one time"),
        ([[2, 1]], 0, "ascend"),
        ([[1], [2]], 2, "begin"),
    ],
)
def test_times_that_are_none_are_refused(times: list[list[float]], begin: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        zipline(times, begin=begin)


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="'mean'"):
        zipline([[1]], "mean")  # type: ignore[arg-type]
