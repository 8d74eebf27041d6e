"""Which k entries of the mean of all ranks' vectors are largest? gTop-k guesses them in a tree of pairwise merges.

Every rank selects k of its own entries; then pairs add what they have and keep k of the sums, the lower rank of each
pair goes on, and the last one's k sums go back down the tree: 2(P − 1) messages of k entries in 2⌈log₂ P⌉ supersteps.
The setting is that of Shi et al. 2019 (gTop-k S-SGD), which was not read; what becomes of dropped sums is ours.

A sum that a merge drops is kept by the rank that merged, in its residual: over all ranks nothing is lost, Σ vectors =
Σ sent + Σ residuals. Handing entries back to those who sent them, if they are not among the last k, would lose those
that were dropped in one half of the tree and are selected by way of the other.

So this is no collective of `experiments/averaging/registry.py`, which returns the mean of all payloads and drops
nothing: residuals are settled before, from the payload of the rank itself, and the bits are those of "sparse". Nor is
there a guarantee: of (10, 1) and (−10, 1) it selects, with k = 1, an entry of the mean (0, 1) that is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import Conversation, Place, Swap
from sparsync.experiments.averaging.payloads import Entries, packed, sum_in_order, unpacked
from sparsync.experiments.bulk.supersteps import opened
from sparsync.kernels.magnitude import check_selection_input, magnitude_bits
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS


@dataclass(frozen=True, eq=False)
class Merged:
    """What a rank has in the end.

    Args:
        total: k entries, sums of those entries of all ranks that came through; the same on all ranks.
        residual: [d], what of this rank's vector was not sent, and the sums that it dropped.
    """

    total: SparsePayload
    residual: Tensor


def gtop_k(vector: Tensor, k: int, place: Place) -> Conversation[Merged]:
    """k sums by a tree of merges, and what this rank keeps back; the mean is the total over P.

    Args:
        vector: [d] float16, bfloat16, float32 or float64, finite, of one length on all ranks.
        k: 1 ≤ k ≤ d.
        place: of this rank.

    Raises:
        ValueError: see `begun_alike`; on every rank alike: one of the k sums is larger than the dtype holds.
    """
    vector = yield from begun_alike("gtop-k", vector, k)
    own = SELECTORS["top_k"](vector, k)
    residual = own.remainder(vector)
    held = Entries(own.values, own.indices)
    strides = [2**turn for turn in range((place.size - 1).bit_length())]
    for stride in strides:
        theirs = yield from _passed(held, place, stride, is_up=True)
        if theirs is not None:
            held, dropped = _largest(sum_in_order([held, theirs]), k)
            residual[dropped.indices.long()] += dropped.values
    for stride in reversed(strides):
        theirs = yield from _passed(held, place, stride, is_up=False)
        held = held if theirs is None else theirs
    if wrong := held.indices[~held.values.isfinite()].tolist():
        raise ValueError(f"gtop-k: the sum of entry {wrong[0]} over the ranks is more than {vector.dtype} holds")
    return Merged(SparsePayload(*held, len(vector)), residual)


def begun_alike(kind: str, vector: Tensor, k: int) -> Conversation[Tensor]:
    """The vector without its history, once all ranks are known to have finite ones of one length and dtype, and one k.

    Args:
        kind: the program.
        vector: of this rank.
        k: likewise.

    Raises:
        ValueError: see `check_selection_input`; on every rank alike: an entry that is not finite, or ranks with
            different dimensions, dtypes or k.
    """
    is_dense = isinstance(vector, Tensor) and vector.layout == torch.strided
    wrong = (~vector.isfinite()).nonzero().flatten()[:1].tolist() if is_dense else []
    check_selection_input(vector.new_zeros(vector.shape) if wrong else vector, k)
    settings = {"dimension": len(vector), "dtype": str(vector.dtype), "k": k}
    yield from opened(kind, settings, fault=wrong[0] if wrong else None, count=len(vector), device=vector.device)
    return vector.detach()


def _passed(held: Entries, place: Place, stride: int, *, is_up: bool) -> Conversation[Entries | None]:
    """k entries from the upper rank of each pair to the lower one, or down; what this rank is handed."""
    is_lower = place.rank % (2 * stride) == 0 and place.rank + stride < place.size
    is_upper = place.rank % (2 * stride) == stride
    gives, takes = (is_upper, is_lower) if is_up else (is_lower, is_upper)
    other = place.rank - stride if is_upper else place.rank + stride
    message = packed(held)
    arrived = yield Swap(
        {other: message} if gives else {}, {other: message.numel()} if takes else {}, held.values.device
    )
    return unpacked(arrived[0], held.values.dtype) if takes else None


def _largest(sums: Entries, k: int) -> tuple[Entries, Entries]:
    """The k largest sums, ties by index, and the others; a sum that has overflowed is among the largest."""
    bits = magnitude_bits(sums.values)
    # Of another rank's sums this one alone would be refused, and all others would wait for it.
    chosen = bits.sort(descending=True, stable=True).indices[:k].sort().values
    is_dropped = torch.ones(len(sums.values), dtype=torch.bool, device=sums.values.device)
    is_dropped[chosen] = False
    kept = Entries(sums.values[chosen], sums.indices[chosen])
    return kept, Entries(sums.values[is_dropped], sums.indices[is_dropped])
