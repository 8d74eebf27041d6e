"""Which payloads break a wire format? Positions of every shape, values of every hard vector; drawn ones too. Ours."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

from sparsync.kernels.payload import SparsePayload
from sparsync.verify.contraction.strategies import finite_tensors
from tests.support.hard_vectors import HARD_VECTORS

LARGEST_DIMENSION = 2**31 - 1
SEED = 7
_RESTS = st.integers(0, 5000)


def generator(*, seed: int = SEED) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def scattered(count: int, dimension: int, *, seed: int = SEED) -> Tensor:
    """Uniformly random positions without replacement, [count] int32."""
    return torch.randperm(dimension, generator=generator(seed=seed))[:count].sort().values.int()


def of_gaps(gaps: Tensor) -> Tensor:
    """Positions with so many entries left out before each, [n] int32."""
    return ((gaps + 1).cumsum(0) - 1).int()


def clustered(count: int) -> Tensor:
    """Runs of 64 neighbours of which every other is sent, far from each other."""
    gaps = torch.ones(count, dtype=torch.int64)
    gaps[::64] = 100_000
    return of_gaps(gaps)


def in_regions(count: int, *, seed: int = SEED) -> Tensor:
    """By turns 2048 positions at density 1/10 and 2048 at density 1/2000, random within each."""
    means = torch.where(torch.arange(count) // 2048 % 2 == 0, 10.0, 2000.0)
    return of_gaps((means * torch.empty(count).exponential_(generator=generator(seed=seed))).long())


POSITIONS: dict[str, Callable[[], tuple[Tensor, int]]] = {
    "none": lambda: (torch.zeros(0, dtype=torch.int32), 9),
    "none of none": lambda: (torch.zeros(0, dtype=torch.int32), 0),
    "the first": lambda: (torch.tensor([0], dtype=torch.int32), 1),
    "the last of most": lambda: (torch.tensor([LARGEST_DIMENSION - 1], dtype=torch.int32), LARGEST_DIMENSION),
    "both ends of most": lambda: (torch.tensor([0, LARGEST_DIMENSION - 1], dtype=torch.int32), LARGEST_DIMENSION),
    "all": lambda: (torch.arange(4500, dtype=torch.int32), 4500),
    "the end": lambda: (torch.arange(5000, 6500, dtype=torch.int32), 6500),
    "one block": lambda: (scattered(1024, 50_000), 50_000),
    "one more than a block": lambda: (scattered(1025, 50_000), 50_000),
    "one less than two blocks": lambda: (scattered(2047, 1_000_000), 1_000_000),
    "one in a chunk": lambda: (torch.arange(50, dtype=torch.int32) * 4096, 49 * 4096 + 1),
    "a full chunk beside empty ones": lambda: (torch.arange(8192, 12288, dtype=torch.int32), 20_000),
    "clustered": lambda: (clustered(3000), 10_000_000),
    "gaps of powers of two": lambda: (of_gaps(2 ** (torch.arange(1500) % 20)), 2**28),
    "one gap of all": lambda: (of_gaps(torch.tensor([0] * 2000 + [2**30])), LARGEST_DIMENSION),
}
"""Positions of every shape: indices [m] and d."""


def payload_at(positions: str) -> SparsePayload:
    """Values like those that Top-k keeps of a Gaussian, at the positions of a name."""
    indices, dimension = POSITIONS[positions]()
    drawn = torch.randn(len(indices), generator=generator())
    return SparsePayload(drawn.sign() * (drawn.abs() + 3), indices, dimension)


def payload_of(vector: str, dtype: torch.dtype) -> SparsePayload:
    """All entries of a hard vector, two places apart."""
    values = HARD_VECTORS[vector](dtype)
    return SparsePayload(values, 2 * torch.arange(len(values), dtype=torch.int32), 2 * len(values))


def payloads(dtype: torch.dtype) -> st.SearchStrategy[SparsePayload]:
    """Drawn ones: finite values, gaps of any size, a rest after the last."""
    gaps = st.one_of(st.integers(0, 3), st.integers(0, 2**20), st.sampled_from([2**bit for bit in range(24)]))

    def with_positions(values: Tensor) -> st.SearchStrategy[SparsePayload]:
        count = len(values)
        drawn = st.lists(gaps, min_size=count, max_size=count).map(lambda found: of_gaps(torch.tensor(found).long()))
        return st.builds(lambda at, rest: SparsePayload(values, at, sum(at[-1:].tolist(), 1 + rest)), drawn, _RESTS)

    return finite_tensors(dtype, min_size=0).flatmap(with_positions)
