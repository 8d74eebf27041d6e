"""Cuts by trying every one."""

from __future__ import annotations

import itertools
import random

import pytest

from sparsync.experiments.planners.parts.cuts import Cuts, padding_costs, sum_costs


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
        found = Cuts(padding_costs(lengths), "sum").cut(count)
        assert sum(map(padding, pieces(lengths, found.ends))) == found.cost
        assert found.cost == min(sum(map(padding, cut)) for cut in every_cut(lengths, count))


def test_micro_batches_have_the_least_largest_sum_of_all() -> None:
    numbers = random.Random(2)
    for _ in range(60):
        lengths = sorted(numbers.randint(1, 50) for _ in range(numbers.randint(1, 8)))
        count = numbers.randint(1, len(lengths))
        found = Cuts(sum_costs(lengths), "most").cut(count)
        assert max(map(sum, pieces(lengths, found.ends))) == found.cost
        assert found.cost == min(max(map(sum, cut)) for cut in every_cut(lengths, count))


def test_a_cut_does_not_depend_on_those_before() -> None:
    cuts = Cuts(sum_costs([3, 1, 4, 1, 5, 9, 2, 6]), "most")
    many, few = cuts.cut(5), cuts.cut(2)
    assert (few, many) == tuple(Cuts(sum_costs([3, 1, 4, 1, 5, 9, 2, 6]), "most").cut(count) for count in (2, 5))


def test_as_many_buckets_as_lengths_need_no_padding() -> None:
    assert Cuts(padding_costs([1, 5, 9]), "sum").cut(3) == (0, (1, 2, 3))


@pytest.mark.parametrize("count", [0, 4])
def test_too_many_pieces_and_none_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"3 numbers cannot be cut into {count} pieces"):
        Cuts(sum_costs([1, 2, 3]), "sum").cut(count)


def test_lengths_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(ValueError, match="must ascend"):
        padding_costs([2, 1])
