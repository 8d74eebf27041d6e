"""Orders of keys a second time: samples, buckets and messages by hand, and bad orders that attain the bounds."""

from __future__ import annotations

import pytest

from sparsync.verify.cost import regular_sampling
from sparsync.verify.cost.regular_sampling import (
    bad_shapes,
    best_length,
    bucket_margin,
    buckets,
    crowding,
    emptying,
    equal_orders,
    long_orders,
    longest_segment,
    orders,
    oversampled_margin,
    received_margin,
    relation_margin,
    sample_margin,
    sample_places,
    segment_margin,
    sort_messages,
    threshold_error,
    threshold_margin,
    tight_order,
    tight_sizes,
)


def test_samples_and_buckets_by_hand() -> None:
    order = (0, 1, 1, 0, 1, 0, 1)
    assert sample_places(order, 2) == [3, 4, 7]
    assert buckets(order, 2, 2) == [(0, 1, 1, 0), (1, 0, 1)]
    assert sample_places(order, 5) == []
    assert buckets(order, 2, 5) == [(), order]


def test_messages_by_hand() -> None:
    opening, samples, counts, keys = sort_messages((0, 0, 1, 1, 1, 1, 0, 0), 2, 2, 8, 4)
    assert opening == {(0, 1): 24, (1, 0): 24}
    assert samples == {(0, 1): 16, (1, 0): 16}
    assert counts == {(0, 1): 8, (1, 0): 8}
    assert keys == {(0, 1): 24, (1, 0): 24}


def test_errors_of_thresholds_by_hand() -> None:
    # Samples at 2 and 6; up to the first are two or three keys, up to the second four or five.
    order = (0, 0, 1, 0, 1, 0)
    assert sample_places(order, 2) == [2, 5, 6]
    assert [threshold_error(order, 2, 2, wanted) for wanted in range(1, 7)] == [1, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("shape", bad_shapes())
def test_bad_orders_attain_the_bounds(shape: tuple[int, int, int]) -> None:
    ranks, length, share = shape
    assert len(crowding(*shape)) == (share * ranks + 1) * length
    assert bucket_margin(crowding(*shape), ranks, length) == 0
    assert sample_margin(crowding(*shape), ranks, length) == 0
    assert [emptying(*shape).count(rank) for rank in range(ranks)] == [share * length] * ranks
    assert received_margin(emptying(*shape), ranks, length) == 0
    assert relation_margin(emptying(*shape), ranks, length, 4, 4) == 0


def test_sizes_with_nothing_to_spare_attain_theirs() -> None:
    assert (2, 1, 3) in tight_sizes()
    assert all(oversampled_margin(tight_order(*size), *size[:2]) == 0 for size in tight_sizes())


def test_segments_are_as_long_as_is_assumed() -> None:
    assert [longest_segment(len(order), ranks, extra) for order, ranks, extra in long_orders()] == [4, 5, 7]
    assert min(oversampled_margin(*case) for case in long_orders()) >= 0


def test_every_length_is_best_for_a_rank_alone() -> None:
    assert best_length(1, 900, 4, 5, 60) == 1
    assert best_length(4, 4 * 9 * 4 * 4, 4, 5, 60) == 8


def test_all_orders_of_a_few_keys_are_listed() -> None:
    assert sum(len(order) == 4 for order in orders(3)) == 81
    assert {ranks for _, ranks, _ in equal_orders()} == {1, 2, 3}


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert threshold_margin((0, 1, 0, 1), 2, 2) >= 0
    assert segment_margin(3, 4, 4, 2) == 0
    monkeypatch.setattr(regular_sampling, "sample_places", lambda *_: [1, 9])
    assert sample_margin((0, 1, 0, 1), 2, 2) == 1 - (9 - 2 * 2)
    monkeypatch.setattr(regular_sampling, "buckets", lambda order, *_: [order, ()])
    assert bucket_margin(crowding(2, 2, 3), 2, 2) < 0
    assert received_margin(emptying(2, 2, 3), 2, 2) == 0
    monkeypatch.setattr(regular_sampling, "buckets", lambda order, *_: [(), [*order, 0, 0]])
    assert received_margin(emptying(2, 2, 3), 2, 2) == -2
