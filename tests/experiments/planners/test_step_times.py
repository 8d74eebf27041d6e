"""What a worker's steps tell of the seconds of batches that it has not had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.step_times import REMEMBERED, StepTimes

steps = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 99)), min_size=1, max_size=20)


def learnt(*steps: tuple[float, float], smoothing: float = 1.0) -> StepTimes:
    times = StepTimes(smoothing)
    for examples, seconds in steps:
        times.learn(examples, seconds)
    return times


def test_one_batch_tells_a_pace_and_two_a_straight_line() -> None:
    assert learnt((8, 2.0)).seconds(12) == 3.0
    line = learnt((8, 2.0), (16, 3.0))
    assert [line.seconds(examples) for examples in (4, 8, 12, 16, 40)] == [1.5, 2.0, 2.5, 3.0, 6.0]


def test_seconds_are_never_negative() -> None:
    assert learnt((8, 1.0), (16, 5.0)).seconds(4) == 0.0


def test_a_bent_line_is_known_between_its_batches_and_beyond_them_as_they_lie() -> None:
    bent = learnt((4, 1.0), (24, 2.0), (8, 1.0))
    assert [bent.seconds(examples) for examples in (2, 6, 16, 32)] == [1.0, 1.0, 1.5, 2.5]


def test_what_contradicts_a_later_step_is_forgotten() -> None:
    slower = learnt((8, 2.0), (16, 3.0), (4, 2.5))
    assert [slower.seconds(examples) for examples in (4, 10, 16)] == [2.5, 2.75, 3.0]
    assert learnt((8, 2.0), (16, 3.0), (24, 1.5)).seconds(8) == 0.5


def test_a_batch_seen_again_is_smoothed() -> None:
    assert learnt((8, 2.0), (8, 4.0), smoothing=0.25).seconds(8) == 2.5


def test_a_worker_that_takes_longer_for_a_batch_than_before_takes_longer_for_all() -> None:
    slower = learnt((8, 2.0), (16, 3.0), (8, 5.0))
    assert [slower.seconds(examples) for examples in (8, 12, 16)] == [5.0, 6.25, 7.5]
    smoothed = learnt((8, 2.0), (16, 3.0), (8, 4.0), smoothing=0.5)
    assert [smoothed.seconds(examples) for examples in (8, 16)] == [3.0, 4.5]


def test_batches_seen_long_ago_are_forgotten() -> None:
    seen = [(float(batch), 1.0 * batch) for batch in range(2, 3 + REMEMBERED)]
    # Without the first batch, which lay off the line, the line goes on below the second.
    assert learnt((1.0, 0.0), *seen[:-2]).seconds(1) == 0.0
    assert learnt((1.0, 0.0), *seen).seconds(1) == 1.0


@given(steps=steps, other=st.integers(1, 60), more=st.integers(0, 20))
def test_more_examples_never_take_less_and_the_last_step_is_known(
    steps: list[tuple[int, int]], other: int, more: int
) -> None:
    times = learnt(*steps)
    assert times.seconds(steps[-1][0]) == pytest.approx(steps[-1][1], rel=1e-12)
    # Two roundings of numbers below 99 · 61.
    assert times.seconds(other) <= times.seconds(other + more) + 99 * 61 * 2 * 2.0**-52


def test_nothing_is_known_before_the_first_step() -> None:
    with pytest.raises(ValueError, match="seconds of 3 examples"):
        StepTimes().seconds(3)
