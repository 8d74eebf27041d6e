"""From whole vectors the k largest entries of the mean are found, for the bytes of a reduce-scatter, or guessed."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.bulk.mean_top_k import gathered_gaussian_k, scattered_top_k
from sparsync.experiments.bulk.shard_top_k import exact_top_k, share_sizes
from sparsync.experiments.bulk.supersteps import LocalRanks, total_bytes
from sparsync.kernels.selection import SELECTORS


@st.composite
def vectors_of_ranks(draw: st.DrawFn) -> tuple[Tensor, int]:
    """Whole numbers in float64, so that their means are sums over a number of ranks, and ties are ties."""
    size, dimension = draw(st.integers(1, 5)), draw(st.integers(1, 14))
    entries = draw(st.lists(st.integers(-4, 4), min_size=size * dimension, max_size=size * dimension))
    return torch.tensor(entries, dtype=torch.float64).view(size, dimension), draw(st.integers(1, dimension))


@given(vectors_of_ranks())
def test_after_a_reduce_scatter_the_k_largest_of_the_mean_are_found(drawn: tuple[Tensor, int]) -> None:
    vectors, k = drawn
    ranks, dimension = vectors.shape
    ended = LocalRanks(ranks).run("scattered", lambda place: scattered_top_k(vectors[place.rank], k, place))
    found = torch.cat([one.found.dense() for one in ended])
    mean = vectors.sum(dim=0) / ranks
    assert torch.equal(found, SELECTORS["top_k"](mean, k).dense())
    assert [one.found.dimension for one in ended] == share_sizes(dimension, ranks)
    parts = mean.split(share_sizes(dimension, ranks))
    alone = LocalRanks(ranks).run("exact", lambda place: exact_top_k(parts[place.rank], k, place))
    before = (ranks - 1) * (24 * ranks + 8 * dimension)
    assert total_bytes([one.traffic for one in ended]) == before + total_bytes([one.traffic for one in alone])


@given(vectors_of_ranks())
def test_what_is_gathered_is_the_mean_of_what_each_selects(drawn: tuple[Tensor, int]) -> None:
    vectors, k = drawn
    ended = LocalRanks(len(vectors)).run("gathered", lambda place: gathered_gaussian_k(vectors[place.rank], k, place))
    total = sum((SELECTORS["gaussian_k"](vector, k).dense() for vector in vectors), torch.zeros(len(vectors[0])))
    assert all(torch.equal(one.found.mean, total.double() / len(vectors)) for one in ended)


def test_what_cancels_is_selected_by_who_sees_its_own_vector_alone() -> None:
    vectors = torch.tensor([[10.0, 1.0, 0.0], [-10.0, 1.0, 0.0]])
    gathered = LocalRanks(2).run("gathered", lambda place: gathered_gaussian_k(vectors[place.rank], 1, place))
    assert gathered[0].found.mean.tolist() == [0.0, 0.0, 0.0]
    scattered = LocalRanks(2).run("scattered", lambda place: scattered_top_k(vectors[place.rank], 1, place))
    assert torch.cat([one.found.dense() for one in scattered]).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("vectors", "k", "scattered", "gathered"),
    [
        ([torch.ones(2), torch.ones(3)], 1, "ranks [1] have other settings", "ranks [1] have other settings"),
        ([torch.ones(2), torch.tensor([0.0, torch.nan])], 1, "entry 0 of rank 1 cannot", "entry 1 of rank 1 cannot"),
        ([torch.ones(2)], 3, "k = 3 entries are wanted of 2", "k must be an int with 1 <= k <= d = 2, got 3"),
        ([[1.0]], 1, "parts [1] are not list", "expected a vector, got list"),
        ([torch.tensor([6e4], dtype=torch.float16)] * 2, 1, "entry 0 of rank 0 cannot", ""),
    ],
)
def test_what_has_no_mean_of_its_own_is_refused(vectors: list[Tensor], k: int, scattered: str, gathered: str) -> None:
    for program, words in ((scattered_top_k, scattered), (gathered_gaussian_k, gathered)):
        if words:
            with pytest.raises(ValueError, match=re.escape(words)):
                LocalRanks(len(vectors)).run("top-k", lambda place: program(vectors[place.rank], k, place))  # noqa: B023
