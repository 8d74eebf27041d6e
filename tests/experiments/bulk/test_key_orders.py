"""Keys of given numbers in every order; the crowding one fills a bucket to the bound, at the length that a sort has."""

from __future__ import annotations

import pytest
import torch

from sparsync.experiments.bulk.key_orders import ORDERS
from sparsync.experiments.bulk.sorting import sample_sort
from sparsync.experiments.bulk.supersteps import LocalRanks
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sizes", [[12], [8, 4, 6], [4, 0, 5], [0, 0]])
def test_every_rank_has_its_number_of_keys_and_all_are_keys_of_one_order(order: str, sizes: list[int]) -> None:
    shards = ORDERS[order](sizes, 3, 0)
    assert [len(shard) for shard in shards] == sizes
    keys = torch.cat(shards)
    assert keys.dtype == torch.int64
    assert order == "equal keys" or len(keys.unique()) == len(keys)
    assert all(torch.equal(*pair) for pair in zip(shards, ORDERS[order](sizes, 3, 0), strict=True))


def test_orders_are_what_they_are_called() -> None:
    assert [shard.tolist() for shard in ORDERS["sorted"]([2, 3], 2, 0)] == [[0, 1], [2, 3, 4]]
    assert [shard.tolist() for shard in ORDERS["reversed"]([2, 3], 2, 0)] == [[4, 3], [2, 1, 0]]
    assert [shard.tolist() for shard in ORDERS["in turns"]([2, 2], 2, 0)] == [[0, 2], [1, 3]]
    assert [shard.tolist() for shard in ORDERS["crowding"]([3, 3, 3], 2, 0)] == [[2, 3, 4], [0, 5, 6], [1, 7, 8]]
    first, other = (ORDERS["random"]([30], 2, seed)[0].tolist() for seed in (0, 1))
    assert first != other


@pytest.mark.parametrize(("ranks", "length"), [(2, 4), (3, 6), (4, 8), (5, 10)])
def test_the_crowding_order_attains_the_bound_and_no_other_exceeds_it(ranks: int, length: int) -> None:
    """Keys and indices of 8 and 4 bytes: L is that of d = (an + 1)L with a = 3L/2."""
    share = 3 * length // 2
    sizes = [(share + 1) * length, *[share * length] * (ranks - 1)]
    stated = STATEMENTS["largest_bucket"].fraction(n=ranks, d=sum(sizes), segment_length=length)
    for name, order in ORDERS.items():
        shards = order(sizes, length, 0)
        ended = LocalRanks(ranks).run("sort", lambda place: sample_sort(shards[place.rank], place))  # noqa: B023
        largest = max(len(one.found.keys) for one in ended)
        assert largest == stated if name == "crowding" else largest <= stated
