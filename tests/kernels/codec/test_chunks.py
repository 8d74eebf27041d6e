"""Chunk-wise Top-k sends of every chunk its share, and of that the largest."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels.chunks import CHUNK_SIZE, chunk_count, chunk_shares, chunked_top_k
from sparsync.kernels.reference import top_k
from tests.support.codec.payloads import generator
from tests.support.hard_vectors import DTYPES

DIMENSIONS = (1, 7, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 3 * CHUNK_SIZE + 100)


def counts(dimension: int) -> list[int]:
    return sorted({1, min(2, dimension), max(1, dimension // 1000), max(1, dimension // 3), dimension})


@given(dimension=st.integers(1, 10**9), data=st.data())
def test_shares_add_up_to_k_and_are_rounded_down_or_up(dimension: int, data: st.DataObject) -> None:
    dimension = data.draw(st.integers(1, 10**6)) if dimension > 10**8 else dimension % 10**6 + 1
    k = data.draw(st.integers(1, dimension))
    shares = chunk_shares(k, dimension).tolist()
    sizes = [min(CHUNK_SIZE, dimension - start) for start in range(0, dimension, CHUNK_SIZE)]
    assert (sum(shares), len(shares)) == (k, chunk_count(dimension))
    assert all(
        k * size // dimension <= share <= -(-k * size // dimension) for share, size in zip(shares, sizes, strict=True)
    )
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_of_each_chunk_the_largest_are_sent(dimension: int, dtype: torch.dtype) -> None:
    """By Top-k on the chunk alone. Few different values, so that most are ties."""
    vector = torch.randint(-9, 10, (dimension,), generator=generator()).to(dtype)
    for k in counts(dimension):
        expected = []
        for chunk, share in enumerate(chunk_shares(k, dimension).tolist()):
            piece = vector[chunk * CHUNK_SIZE : (chunk + 1) * CHUNK_SIZE]
            expected += (top_k(piece, share).indices + chunk * CHUNK_SIZE).tolist() if share else []
        assert chunked_top_k(vector, k).indices.tolist() == expected


def test_in_one_chunk_it_is_top_k() -> None:
    vector = torch.randn(CHUNK_SIZE, generator=generator())
    assert torch.equal(chunked_top_k(vector, 41).indices, top_k(vector, 41).indices)


def test_the_bound_on_what_is_kept_holds_and_is_reached() -> None:
    """‖u − C(u)‖² ≤ (1 − min κ_c)‖u‖²: on any vector, and exactly where one chunk alone has entries, all equal."""
    dimension, k = 3 * CHUNK_SIZE, 31
    shares = chunk_shares(k, dimension)
    bound = 1 - int(shares.min()) / CHUNK_SIZE
    vector = torch.randn(dimension, generator=generator()).double()
    assert float(chunked_top_k(vector, k).remainder(vector).square().sum() / vector.square().sum()) < bound
    worst = torch.zeros(dimension, dtype=torch.float64)
    start = int(shares.argmin()) * CHUNK_SIZE
    worst[start : start + CHUNK_SIZE] = 1
    assert float(chunked_top_k(worst, k).remainder(worst).square().sum() / worst.square().sum()) == bound
