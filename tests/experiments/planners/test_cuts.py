"""Cuts by trying every one."""

from __future__ import annotations

import itertools
import random

import pytest

from sparsync.experiments.planners.cuts import cheapest_cut, padding_costs, sum_costs


def pieces(numbers: list[int], ends: tuple[int, ...]) -> list[list[int]]:
    return [numbers[first:end] for first, end in itertools.pairwise((0, *ends))]


def every_cut(numbers: list[int], count: int) -> list[list[list[int]]]:
    places = itertools.combinations(range(1, len(numbers)), count - 1)
    return [pieces(numbers, (*inner, len(numbers))) for inner in places]


def padding(piece: list[int]) -> int:
    return max(piece) * len(piece) - sum(piece)


def test_buckets_have_the_least_padding_of_all() -> None:
    numbers = random.Random(1)
    for _ in range(60):
        lengths = sorted(numbers.randint(1, 50) for _ in range(numbers.randint(1, 8)))
        count = numbers.randint(1, len(lengths))
        found = cheapest_cut(padding_costs(lengths), count, "sum")
        assert sum(map(padding, pieces(lengths, found.ends))) == found.cost
        assert found.cost == min(sum(map(padding, cut)) for cut in every_cut(lengths, count))


def test_micro_batches_have_the_least_largest_sum_of_all() -> None:
    numbers = random.Random(2)
    for _ in range(60):
        lengths = sorted(numbers.randint(1, 50) for _ in range(numbers.randint(1, 8)))
        count = numbers.randint(1, len(lengths))
        found = cheapest_cut(sum_costs(lengths), count, "most")
        assert max(map(sum, pieces(lengths, found.ends))) == found.cost
        assert found.cost == min(max(map(sum, cut)) for cut in every_cut(lengths, count))


def test_as_many_buckets_as_lengths_need_no_padding() -> None:
    assert cheapest_cut(padding_costs([1, 5, 9]), 3, "sum") == (0, (1, 2, 3))


@pytest.mark.parametrize("count", [0, 4])
def test_too_many_pieces_and_none_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"3 numbers cannot be cut into {count} pieces"):
        cheapest_cut(sum_costs([1, 2, 3]), count, "sum")


def test_lengths_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(ValueError, match="must ascend"):
        padding_costs([2, 1])
