"""Groups by hand: what is even, what is bounded, and what is moved."""

from __future__ import annotations

import numpy as np
import pytest

from sparsync.experiments.planners.parts import sequence_packing
from sparsync.experiments.planners.parts.sequence_packing import (
    Group,
    Jobs,
    even,
    fewest_seconds,
    grouped,
    least_seconds,
    makespan,
)

SIZES = np.asarray([1, 2, 4])


def jobs(*tokens: int, capacity: int = 10, slowdown: float = 2.0) -> Jobs:
    """A token takes a second on a device; a group of two or four takes `slowdown` times as many device-seconds."""
    lengths = np.asarray(tokens)
    seconds = lengths[:, np.newaxis] * np.asarray([1.0, slowdown / 2, slowdown / 4])
    fits = lengths[:, np.newaxis] <= capacity * SIZES
    return Jobs(lengths, np.where(fits, seconds, np.inf), SIZES, capacity)


def test_even_groups_take_the_longest_first_where_they_end_earliest() -> None:
    asked = jobs(2, 5, 4, 3)
    groups = even(asked, 2)
    assert groups is not None
    assert groups == (Group(2, (0, 1)), Group(2, (2, 3)))
    assert makespan(asked, groups) == 7.0


def test_groups_that_have_no_room_are_none() -> None:
    assert even(jobs(11, 1), 1) is None
    assert even(jobs(7, 7, 7, 7, 7), 1) is None
    assert even(jobs(7, 7, 7, 7, 7), 4) == (Group(4, (0, 1, 2, 3, 4)),)


def test_a_sequence_is_moved_where_both_groups_then_end_earlier() -> None:
    asked = jobs(3, 3, 2, 2, 2)
    state = sequence_packing._Spread(
        asked, np.asarray([1, 1]), np.asarray([12.0, 0.0]), np.asarray([8, 20]), [[0, 1, 2, 3, 4], []]
    )
    while sequence_packing._moved(state):
        pass
    assert sorted(state.loads) == [6.0, 6.0]
    assert sorted(map(sum, ([asked.tokens[place] for place in own] for own in state.sequences))) == [6, 6]


def test_the_bound_counts_work_only_on_groups_that_are_done_in_time() -> None:
    """Ten tokens take 10 s on a device and 5 on four: by then, 20 device-seconds of the four in a second."""
    assert least_seconds(jobs(10, 1)) == pytest.approx(5.25)
    assert least_seconds(jobs(1, 1, 1, 1)) == pytest.approx(1.0, rel=1e-12)


def test_micro_batches_are_worth_their_fixed_time_or_not() -> None:
    asked = jobs(40, 10, 10, 10, 10)
    apart = fewest_seconds(asked, 1.0)
    # The long one needs all devices: with the others in the same micro-batch they would wait for it on all four.
    assert sorted(len(groups) for groups in apart) == [1, 4]
    assert sum(makespan(asked, groups) for groups in apart) == 30.0
    # All together on four devices hold 40 tokens only.
    assert len(fewest_seconds(jobs(40, 10, 10, 10, 10, capacity=20), 1000.0)) == 1


def test_many_sequences_are_grouped_no_worse_than_evenly() -> None:
    generator = np.random.default_rng(1)
    asked = jobs(*generator.integers(1, 9, 12).tolist(), 30, capacity=40)
    rivals = [groups for size in SIZES if (groups := even(asked, int(size))) is not None]
    found = grouped(asked, 4)
    assert makespan(asked, found) <= min(makespan(asked, groups) for groups in rivals)
    assert sorted(place for group in found for place in group.sequences) == list(range(13))
    assert sum(group.size for group in found) <= 4
    assert least_seconds(asked) <= makespan(asked, found)


def test_idle_devices_are_split_into_the_largest_groups() -> None:
    assert sorted(sequence_packing._idle(13)) == [1, 4, 8]
    near = list(sequence_packing._neighbours([1, 1, 2], 4))
    assert near == [[1, 1, 2], [2, 2], [1, 1, 1, 1]]
