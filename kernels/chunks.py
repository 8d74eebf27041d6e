"""Chunk-wise Top-k: the vector is cut into chunks of 4096 entries, and each sends the largest of its own.

A position within a chunk takes 12 bits on the wire (`codec_indices.py`), and chunks need not wait for each other.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sparsync.kernels.magnitude import check_selection_input, magnitude_bits
from sparsync.kernels.payload import SparsePayload

CHUNK_SIZE = 4096
"""Entries of a chunk; the last one of a vector may have fewer."""


def chunk_count(dimension: int) -> int:
    """⌈d/4096⌉."""
    return -(-dimension // CHUNK_SIZE)


def chunk_shares(k: int, dimension: int) -> Tensor:
    """How many entries each chunk sends, [chunks] int64: ⌊ke/d⌋ − ⌊ks/d⌋ for the chunk of the entries from s to e.

    They add up to k, and each is k times the chunk's share of the vector, rounded down or up. Ours.
    """
    ends = torch.arange(chunk_count(dimension) + 1) * CHUNK_SIZE
    return (ends.clamp(max=dimension) * k // dimension).diff()


def chunked_top_k(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """Of every chunk its share of k, by largest magnitude; k entries in all, ties go to the lowest index.

    For any vector ‖u − C(u)‖² ≤ (1 − min κ_c)‖u‖², κ_c the density within a chunk, with equality for some. Where k is
    less than the number of chunks, some send nothing. Source: the chunk-wise selection of SparseLoCo (arXiv
    2508.15706); how the shares are rounded is ours.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d, of the whole vector.
        generator: unused.

    Raises:
        ValueError: see `check_selection_input`.
    """
    del generator
    check_selection_input(corrected, k)
    chosen = largest_of_chunks(magnitude_bits(corrected), k)
    return SparsePayload(corrected[chosen], chosen.to(torch.int32), corrected.numel())


def largest_of_chunks(bits: Tensor, k: int) -> Tensor:
    """The positions that `chunked_top_k` selects, int64, ascending.

    Args:
        bits: [d], `magnitude_bits`, or −1 for what is never selected, whoever else there is: then there may be fewer
            than k positions.
        k: 1 ≤ k ≤ d.
    """
    dimension = bits.numel()
    shares = chunk_shares(k, dimension)
    most, shares = int(shares.max()), shares.to(bits.device)
    rows = bits.new_full((chunk_count(dimension), CHUNK_SIZE), -1)
    rows.view(-1)[:dimension] = bits
    largest = rows.topk(most, dim=1).values
    # A chunk without a share has no smallest entry to send: nothing exceeds the largest there is.
    smallest = largest.gather(1, (shares - 1).clamp(min=0).unsqueeze(1))
    above = (rows > smallest) & (shares > 0).unsqueeze(1)
    tied = (rows == smallest) & (rows >= 0)
    tied &= tied.cumsum(dim=1) <= (shares - above.sum(dim=1)).unsqueeze(1)
    return (above | tied).view(-1)[:dimension].nonzero().flatten()
