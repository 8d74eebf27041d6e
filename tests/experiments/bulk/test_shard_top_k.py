"""The k largest entries of all shards are found exactly, by few bytes; what others miss is bounded, or is shown."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.messages import Conversation, Place
from sparsync.experiments.bulk.regular_samples import narrowing_segments
from sparsync.experiments.bulk.shard_top_k import exact_top_k, gaussian_top_k, own_top_k, sampled_top_k
from sparsync.experiments.bulk.supersteps import LocalRanks, Traffic, total_bytes
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import two_sided_quantile
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.global_selection import exact_selection

Program = Callable[..., Conversation[SparsePayload]]
VALUES = (-3.0, -1.0, -0.0, 0.0, 1.0, 2.0**-120, 3.0, 3.0078125)


@st.composite
def shard_lists(draw: st.DrawFn) -> tuple[list[Tensor], int]:
    """Shards of one dtype with many ties, some empty, and a k that they reach."""
    dtype = draw(st.sampled_from((torch.float16, torch.bfloat16, torch.float32, torch.float64)))
    lists = draw(
        st.lists(st.lists(st.sampled_from(VALUES), max_size=25), min_size=1, max_size=5).filter(
            lambda shards: any(map(len, shards))
        )
    )
    return [torch.tensor(shard, dtype=dtype) for shard in lists], draw(st.integers(1, sum(map(len, lists))))


def selected(
    shards: list[Tensor], k: int, program: Program = exact_top_k, **settings: object
) -> tuple[list[SparsePayload], list[Traffic]]:
    def start(place: Place) -> Conversation[SparsePayload]:
        return program(shards[place.rank], k, place, **settings)

    ended = LocalRanks(len(shards)).run("top-k", start)
    return [one.found for one in ended], [one.traffic for one in ended]


def order_of(shards: list[Tensor]) -> list[tuple[int, int]]:
    """(rank, index) of all entries, the largest magnitude first, ties by rank and index."""
    entries = [
        (-abs(value), rank, place) for rank, shard in enumerate(shards) for place, value in enumerate(shard.tolist())
    ]
    return [(rank, place) for _, rank, place in sorted(entries)]


def places_of(payloads: list[SparsePayload]) -> set[tuple[int, int]]:
    return {(rank, place) for rank, payload in enumerate(payloads) for place in payload.indices.tolist()}


@given(shard_lists(), st.integers(1, 4))
def test_exactly_the_k_largest_are_found_in_any_number_of_rounds(drawn: tuple[list[Tensor], int], rounds: int) -> None:
    shards, k = drawn
    payloads, _ = selected(shards, k, rounds=rounds)
    assert places_of(payloads) == set(order_of(shards)[:k])
    assert sum(payload.count for payload in payloads) == k
    for payload, shard in zip(payloads, shards, strict=True):
        assert payload.dimension == len(shard)
        assert torch.equal(payload.values, shard[payload.indices.long()])
        assert payload.indices.tolist() == sorted(payload.indices.tolist())


@given(shard_lists())
def test_bytes_are_those_of_the_samples_and_candidates_that_there_are(drawn: tuple[list[Tensor], int]) -> None:
    shards, k = drawn
    ranks, size = len(shards), shards[0].element_size()
    length, *later = narrowing_segments(sum(min(k, len(shard)) for shard in shards), ranks, 2)
    _, traffics = selected(shards, k, rounds=2)
    order = [rank for rank, _ in order_of(shards)]
    _, samples, candidates = exact_selection(order, ranks, length, k)
    numbers = 40 if later else 24
    assert total_bytes(traffics) == (ranks - 1) * (numbers * ranks + size * (samples + (candidates if later else 0)))
    stated = STATEMENTS["exact_selection_bytes"].fraction(n=ranks, k=k, segment_length=length, value_bytes=size)
    assert total_bytes(traffics) <= stated


def test_a_million_entries_are_selected_from_by_a_few_thousand_bytes() -> None:
    generator = torch.Generator().manual_seed(0)
    shards = list(torch.randn(200_000, generator=generator).tensor_split(4))
    _, traffics = selected(shards, 2000)
    few, fewer = total_bytes(traffics), total_bytes(selected(shards, 2000, rounds=3)[1])
    assert fewer < few < 8000
    assert [len(one.sent_bytes) for one in traffics] == [4] * 4


@given(shard_lists(), st.integers(1, 12))
def test_a_threshold_from_samples_is_as_near_as_is_stated(drawn: tuple[list[Tensor], int], samples: int) -> None:
    shards, k = drawn
    payloads, _ = selected(shards, k, sampled_top_k, sample_count=samples)
    count = sum(payload.count for payload in payloads)
    length = -(-sum(min(k, len(shard)) for shard in shards) // (len(shards) * samples))
    assert abs(count - k) <= STATEMENTS["threshold_rank"].fraction(n=len(shards), segment_length=length)
    if count <= k:
        assert places_of(payloads) == set(order_of(shards)[:count])


def test_the_gaussian_threshold_is_that_of_all_entries_and_misses_other_laws() -> None:
    generator = torch.Generator().manual_seed(1)
    whole = torch.randn(40_000, generator=generator) + 0.5
    payloads, _ = selected(list(whole.tensor_split(3)), 400, gaussian_top_k)
    threshold = whole.double().mean() + two_sided_quantile(400, 40_000) * whole.double().std(correction=0)
    assert sum(payload.count for payload in payloads) == int((whole.abs() > threshold.float()).sum())
    cubes = list((whole - 0.5).pow(3).tensor_split(3))
    assert sum(payload.count for payload in selected(cubes, 400, gaussian_top_k)[0]) > 600


def test_alone_each_rank_selects_its_share_or_all_that_it_has() -> None:
    shards = [torch.arange(4.0), torch.arange(9.0), torch.empty(0)]
    payloads, traffics = selected(shards, 11, own_top_k)
    assert [payload.indices.tolist() for payload in payloads] == [[0, 1, 2, 3], [5, 6, 7, 8], []]
    assert total_bytes(traffics) == 6 * 24


@pytest.mark.parametrize("program", [exact_top_k, sampled_top_k, gaussian_top_k, own_top_k])
@pytest.mark.parametrize(
    ("shards", "k", "words"),
    [
        ([torch.ones(2), torch.tensor([1.0, torch.inf])], 1, "entry 1 of rank 1 cannot be ordered"),
        ([torch.tensor([torch.nan])], 1, "entry 0 of rank 0 cannot be ordered: NaN"),
        ([torch.ones(2), torch.ones(1)], 4, "k = 4 entries are wanted of 3"),
        ([torch.ones(2), torch.ones(2)], 0, "k must be at least 1, got 0"),
        ([torch.ones(2, 2)], 1, "a shard must be a dense vector of torch.float16"),
        ([[1.0]], 1, "got list"),
        ([torch.ones(2).to_sparse()], 1, "got torch.float32 (2,), torch.sparse_coo"),
        ([torch.ones(2, dtype=torch.int64)], 1, "got torch.int64 (2,)"),
        ([torch.ones(2), torch.ones(2, dtype=torch.float64)], 1, "ranks [1] have other settings than rank 0"),
    ],
)
def test_what_cannot_be_selected_from_is_refused(program: Program, shards: list[Tensor], k: int, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        selected(shards, k, program)


def test_no_rounds_and_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        selected([torch.ones(2)], 1, rounds=0)
    with pytest.raises(ValueError, match="sample_count must be at least 1, got 0"):
        selected([torch.ones(2)], 1, sampled_top_k, sample_count=0)
    with pytest.raises(ValueError, match=r"rounds must be an int, got 2\.0"):
        selected([torch.ones(2)], 1, rounds=2.0)
    with pytest.raises(ValueError, match=r"sample_count must be an int, got 1\.5"):
        selected([torch.ones(2)], 1, sampled_top_k, sample_count=1.5)


def test_the_gaussian_threshold_is_right_where_the_mean_is_far_larger_than_the_deviation() -> None:
    generator = torch.Generator().manual_seed(2)
    whole = torch.randn(30_000, generator=generator, dtype=torch.float64) + 1e9
    payloads, _ = selected(list(whole.tensor_split(3)), 300, gaussian_top_k)
    threshold = whole.mean() + two_sided_quantile(300, 30_000) * whole.std(correction=0)
    # A value of some 1e9 in float64 is known within 1e-7, where there are a few entries in a thousand.
    assert abs(sum(payload.count for payload in payloads) - int((whole > threshold).sum())) <= 1
    assert 100 < int((whole > threshold).sum()) < 200


def test_entries_whose_squares_are_no_numbers_are_refused_by_what_squares_them() -> None:
    shards = [torch.tensor([1e200, 1.0], dtype=torch.float64), torch.ones(2, dtype=torch.float64)]
    with pytest.raises(ValueError, match=r"entries are too large for a variance in float64, the mean is 2\.5e\+199"):
        selected(shards, 1, gaussian_top_k)
    assert places_of(selected(shards, 1)[0]) == {(0, 0)}


@pytest.mark.parametrize("program", [exact_top_k, sampled_top_k, gaussian_top_k, own_top_k])
def test_more_entries_than_indices_are_refused_and_no_history_is_kept(program: Program) -> None:
    with pytest.raises(ValueError, match="2147483648 entries of one rank do not fit int32 indices"):
        selected([torch.ones(1).expand(2**31)], 1, program)
    payloads, _ = selected([torch.arange(9.0).requires_grad_()], 2, program)
    assert payloads[0].values.tolist()[-1] == 8
    assert not payloads[0].values.requires_grad
