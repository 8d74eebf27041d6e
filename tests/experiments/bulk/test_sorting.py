"""Buckets of all ranks are the sorted keys, stable, and none is larger than the bound; bytes are the statement's."""

from __future__ import annotations

import re
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.bulk.regular_samples import best_segment
from sparsync.experiments.bulk.sorting import DTYPES, Bucket, sample_sort
from sparsync.experiments.bulk.supersteps import LocalRanks, Traffic, relation_bytes
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.regular_sampling import crowding, emptying

FLOATS = (-torch.inf, -1.5, -0.0, 0.0, 1e-300, 2.0, torch.inf)
INTEGERS = (-(2**63), -1, 0, 1, 2**53 + 1, 2**53, 2**63 - 1)


def sorted_by(shards: list[Tensor], oversampling: int | None = None) -> tuple[list[Bucket], list[Traffic]]:
    ended = LocalRanks(len(shards)).run(
        "sort", lambda place: sample_sort(shards[place.rank], place, oversampling=oversampling)
    )
    return [one.found for one in ended], [one.traffic for one in ended]


def in_order(orders: list[int], ranks: int) -> list[Tensor]:
    """Shards whose keys, sorted, lie on the given ranks."""
    return [torch.tensor([place for place, own in enumerate(orders) if own == rank]) for rank in range(ranks)]


@given(st.data())
def test_buckets_hold_the_sorted_keys_stable_and_bounded(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    some = st.sampled_from(INTEGERS) if dtype == torch.int64 else st.sampled_from(FLOATS)
    drawn = data.draw(st.lists(st.lists(some, max_size=30), min_size=1, max_size=5))
    shards = [torch.tensor(keys, dtype=dtype) for keys in drawn]
    oversampling = data.draw(st.integers(1, 3))
    buckets, _ = sorted_by(shards, oversampling)
    keys, order = torch.cat(shards).sort(stable=True)
    ranks = torch.cat([torch.full((len(shard),), rank) for rank, shard in enumerate(shards)])[order]
    indices = torch.cat([torch.arange(len(shard)) for shard in shards])[order]
    assert torch.equal(torch.cat([bucket.keys for bucket in buckets]), keys)
    assert torch.equal(torch.cat([bucket.ranks for bucket in buckets]).long(), ranks)
    assert torch.equal(torch.cat([bucket.indices for bucket in buckets]).long(), indices)
    # Of zeros the sign stays with its place.
    assert torch.equal(torch.cat([bucket.keys for bucket in buckets]).signbit(), keys.signbit())
    if len(keys):
        stated = STATEMENTS["oversampled_bucket"].fraction(n=len(shards), d=len(keys), oversampling=oversampling)
        assert max(len(bucket.keys) for bucket in buckets) <= stated


@pytest.mark.parametrize(("ranks", "oversampling", "length"), [(2, 1, 3), (3, 1, 4), (2, 2, 7)])
def test_the_worst_order_fills_a_bucket_to_the_bound(ranks: int, oversampling: int, length: int) -> None:
    keys = oversampling * ranks**2 * (length - 1) + 1
    buckets, _ = sorted_by(in_order(crowding(ranks, length, (keys // length - 1) // ranks), ranks), oversampling)
    stated = STATEMENTS["oversampled_bucket"].fraction(n=ranks, d=keys, oversampling=oversampling)
    assert max(len(bucket.keys) for bucket in buckets) == stated


@pytest.mark.parametrize(("ranks", "oversampling"), [*product((2, 3, 4), (1, 3))])
def test_bytes_of_the_worst_order_of_equal_shards_are_the_statements(ranks: int, oversampling: int) -> None:
    share, length = oversampling * ranks, 5
    _, traffics = sorted_by(in_order(emptying(ranks, length, share), ranks), oversampling)
    stated = STATEMENTS["sort_relation"].fraction(
        n=ranks, segment_count=share, segment_length=length, value_bytes=8, index_bytes=4
    )
    assert relation_bytes(traffics) == stated
    assert all(len(one.sent_bytes) == 4 for one in traffics)


def test_by_itself_a_sort_tells_the_best_number_of_samples() -> None:
    generator = torch.Generator().manual_seed(0)
    buckets, traffics = sorted_by([torch.randn(2000, generator=generator) for _ in range(4)])
    length = best_segment(8000, 4, 4, 4)
    assert {one.sent_bytes[1] for one in traffics} == {3 * (2000 // length) * 4}
    stated = STATEMENTS["largest_bucket"].fraction(n=4, d=8000, segment_length=length)
    assert max(len(bucket.keys) for bucket in buckets) <= stated


def test_a_key_that_all_have_fills_no_bucket() -> None:
    buckets, _ = sorted_by([torch.zeros(100) for _ in range(4)])
    assert max(len(bucket.keys) for bucket in buckets) <= 100 + 30
    assert torch.cat([bucket.ranks for bucket in buckets]).diff().min() >= 0


def test_zeros_of_both_signs_are_one_key() -> None:
    (first, second), _ = sorted_by([torch.tensor([0.0, -0.0]), torch.tensor([-0.0, 0.0])])
    assert torch.cat([first.keys, second.keys]).signbit().tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("keys", "oversampling", "words"),
    [
        (torch.tensor([1.0, torch.nan]), None, "entry 1 of rank 0 cannot be ordered: NaN"),
        (torch.ones(2, 2), None, "expected a vector of keys, got (2, 2)"),
        ([1.0], None, "expected a vector of keys, got list"),
        (
            torch.ones(2, dtype=torch.float16),
            None,
            "torch.int64, got torch.float16",
        ),
        (torch.ones(2).to_sparse(), None, "expected a vector of keys, got (2,)"),
        (torch.ones(2), 0, "oversampling must be at least 1, got 0"),
        (torch.ones(2), 1.5, "oversampling must be an int, got 1.5"),
    ],
)
def test_what_cannot_be_sorted_is_refused_by_name(keys: Tensor, oversampling: int | None, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        sorted_by([keys], oversampling)


def test_ranks_that_sort_otherwise_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ranks \[1\] have other settings than rank 0"):
        sorted_by([torch.ones(2), torch.ones(2, dtype=torch.int64)])


def test_sorted_keys_have_no_history() -> None:
    buckets, _ = sorted_by([torch.arange(5.0).requires_grad_()] * 2)
    assert not any(bucket.keys.requires_grad for bucket in buckets)
