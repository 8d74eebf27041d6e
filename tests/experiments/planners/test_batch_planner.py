"""Four planners, one optimum: no split of the examples finishes earlier."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.planners.batch_planner import (
    Seconds,
    climb_split,
    heap_split,
    level_split,
    proportional_split,
)


@dataclass(frozen=True)
class Task:
    """Workers with tables of seconds by number of examples, 0 included, and caps that suffice."""

    tables: tuple[tuple[float, ...], ...]
    total: int
    caps: tuple[int, ...]

    @property
    def seconds(self) -> list[Seconds]:
        return [table.__getitem__ for table in self.tables]


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Any non-decreasing times, flat pieces and jumps included, for 2 to 4 workers and at most 9 examples."""
    count = draw(st.integers(2, 4))
    total = draw(st.integers(count, 9))
    rows = st.lists(st.integers(0, 6), min_size=total + 1, max_size=total + 1)
    tables = tuple(tuple(float(value) for value in sorted(draw(rows))) for _ in range(count))
    caps = draw(st.lists(st.integers(1, total), min_size=count, max_size=count).filter(lambda caps: sum(caps) >= total))
    return Task(tables, total, tuple(caps))


def every_split(total: int, caps: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(caps) == 1:
        yield from ([(total,)] if 1 <= total <= caps[0] else [])
        return
    for first in range(1, min(caps[0], total) + 1):
        yield from ((first, *rest) for rest in every_split(total - first, caps[1:]))


def makespan(task: Task, split: Sequence[int]) -> float:
    return max(seconds(batch) for seconds, batch in zip(task.seconds, split, strict=True))


@settings(max_examples=200, deadline=None)
@given(tasks())
def test_the_heap_finds_the_least_makespan_of_all_splits(task: Task) -> None:
    split = heap_split(task.seconds, task.total, task.caps)
    assert tuple(split) in set(every_split(task.total, task.caps))
    assert makespan(task, split) == min(makespan(task, other) for other in every_split(task.total, task.caps))


@settings(max_examples=200, deadline=None)
@given(tasks())
def test_the_level_gives_each_example_to_whom_the_heap_does(task: Task) -> None:
    assert level_split(task.seconds, task.total, task.caps) == heap_split(task.seconds, task.total, task.caps)


@given(
    lines=st.lists(st.tuples(st.floats(0, 10), st.floats(1e-3, 10), st.integers(0, 50)), min_size=1, max_size=6),
    examples=st.integers(1, 300),
)
def test_so_it_does_where_steps_are_flat_and_then_straight(
    lines: list[tuple[float, float, int]], examples: int
) -> None:
    seconds = [partial(flat_then_straight, line) for line in lines]
    total = len(lines) + examples
    assert level_split(seconds, total) == heap_split(seconds, total)


def flat_then_straight(line: tuple[float, float, int], batch: int) -> float:
    fixed, pace, flat = line
    return fixed + pace * max(batch, flat)


@settings(max_examples=200, deadline=None)
@given(task=tasks(), step=st.integers(1, 9), data=st.data())
def test_climbing_ends_at_the_least_makespan_from_anywhere(task: Task, step: int, data: st.DataObject) -> None:
    start = data.draw(st.sampled_from(sorted(every_split(task.total, task.caps))))
    split = climb_split(task.seconds, start, step=step, caps=task.caps)
    assert tuple(split) in set(every_split(task.total, task.caps))
    assert makespan(task, split) == makespan(task, heap_split(task.seconds, task.total, task.caps))
    assert makespan(task, split) <= makespan(task, start)


def test_climbing_may_pass_examples_through_a_flat_piece() -> None:
    """Worker 0 takes 9 seconds until it has one example left: the moves before the last one help nobody yet."""
    flat: list[Seconds] = [lambda batch: 1.0 if batch == 1 else 9.0, lambda batch: 1.0 * batch]
    assert climb_split(flat, [5, 1], step=1) == [1, 5]


@given(paces=st.lists(st.floats(0.01, 100), min_size=1, max_size=8), examples=st.integers(1, 64))
def test_proportional_batches_finish_together_and_whole_examples_cost_at_most_one_more(
    paces: list[float], examples: int
) -> None:
    """T* = B/Σv for everybody; the greedy split's slowest worker would be below T* without its last example."""
    total = examples * len(paces)
    split = proportional_split(paces, total)
    common = total / sum(1 / pace for pace in paces)
    assert sum(split) == pytest.approx(total, rel=1e-12)
    assert [pace * batch for pace, batch in zip(paces, split, strict=True)] == pytest.approx([common] * len(paces))
    counts = heap_split([pace.__mul__ for pace in paces], total)
    slowest = max(pace * batch for pace, batch in zip(paces, counts, strict=True))
    # Either everybody's one example is the bottleneck, or the least makespan exceeds T* by at most one example.
    assert common * (1 - 1e-12) <= slowest <= max(max(paces), common + max(paces)) * (1 + 1e-12)


@given(
    paces=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    caps=st.lists(st.integers(1, 9), min_size=6, max_size=6),
    share=st.fractions(0, 1),
)
def test_proportional_batches_under_caps_leave_nobody_later_who_could_be_helped(
    paces: list[int], caps: list[int], share: Fraction
) -> None:
    """Whoever is below its cap finishes with the last, and nobody at its cap would finish later in proportion."""
    limits = caps[: len(paces)]
    total = max(1.0, float(share * sum(limits)))
    split = proportional_split(paces, total, limits)
    assert sum(split) == pytest.approx(total, rel=1e-12)
    assert all(0 < batch <= limit for batch, limit in zip(split, limits, strict=True))
    ends = [pace * batch for pace, batch in zip(paces, split, strict=True)]
    free = [end for end, batch, limit in zip(ends, split, limits, strict=True) if batch < limit * (1 - 1e-12)]
    assert free == pytest.approx([max(ends)] * len(free), rel=1e-12)


def test_a_split_of_many_examples_equals_hand_computed_values() -> None:
    """Paces 1, 2 and 4 share 70 examples as 40, 20 and 10, and all take 40 seconds."""
    seconds: list[Seconds] = [float(pace).__mul__ for pace in (1, 2, 4)]
    assert heap_split(seconds, 70) == [40, 20, 10]
    assert climb_split(seconds, [24, 23, 23]) == [40, 20, 10]
    assert proportional_split([1.0, 2.0, 4.0], 70) == pytest.approx([40, 20, 10], rel=1e-15)
    assert heap_split(seconds, 70, [30, 70, 70]) == [30, 27, 13]
    assert level_split(seconds, 70, [30, 70, 70]) == [30, 27, 13]
    assert level_split(seconds, 70_000_000) == [40_000_000, 20_000_000, 10_000_000]


@pytest.mark.parametrize(("total", "caps"), [(2, None), (10, [3, 3, 3]), (3, [0, 9, 9])])
def test_examples_that_cannot_be_shared_are_refused(total: int, caps: list[int] | None) -> None:
    for split in (heap_split, level_split):
        with pytest.raises(ValueError, match=f"{total} examples"):
            split([float] * 3, total, caps)


def test_bad_starts_steps_and_paces_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0"):
        climb_split([float] * 2, [1, 1], step=0)
    with pytest.raises(ValueError, match=r"got \[0, 2\]"):
        climb_split([float] * 2, [0, 2])
    with pytest.raises(ValueError, match=r"got \[4, 1\]"):
        climb_split([float] * 2, [4, 1], caps=[3, 3])
    with pytest.raises(ValueError, match=r"2 workers that hold at most \[1, 0.5\] cannot share 2"):
        proportional_split([1.0, 1.0], 2, [1, 0.5])
    with pytest.raises(ValueError, match=r"got \[1.0, 0.0\]"):
        proportional_split([1.0, 0.0], 2)
    with pytest.raises(ValueError, match=r"paces must be there and positive, got \[nan, 1.0\]"):
        proportional_split([math.nan, 1.0], 2)
    with pytest.raises(ValueError, match=r"paces must be there and positive, got \[\]"):
        proportional_split([], 2)
    with pytest.raises(ValueError, match="total must be finite and at least 0, got -2"):
        proportional_split([1.0], -2)


def test_who_would_take_for_ever_gets_what_is_done_in_time_and_what_never_is_is_refused() -> None:
    def endless(examples: int) -> float:
        return math.inf if examples > 2 else 1.0

    assert level_split([endless, float], 9) == heap_split([endless, float], 9) == [2, 7]
    with pytest.raises(ValueError, match="2 workers are not done with 5 examples in any time that a double holds"):
        level_split([endless] * 2, 5)
