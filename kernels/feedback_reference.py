"""The op `sparsync::feedback_select_` in plain PyTorch: what the native op must equal bit for bit, and its substitute.

For every group, one tensor or all of them one after another: u = e + g in the residual's dtype; where u is not finite
the old e stays. A rule selects from u, the first `capacity` selected entries are returned, and they become +0 in e.
Nothing here remembers: `memory`, which lets the native op skip passes but never changes a result, is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sparsync.kernels.chunks import largest_of_chunks
from sparsync.kernels.magnitude import magnitude_bits
from sparsync.kernels.moments import moments
from sparsync.kernels.reference import gaussian_k, released_indices, released_start, threshold, top_k

RULES = ("top_k", "gaussian_k", "gaussian_k_released", "threshold", "chunked_top_k")
"""The rules by name; the op takes the position."""

REPORT_COLUMN_COUNT = 4
"""Columns of the report: returned, selected, first non-finite index or −1, passes over the entries (0: not counted)."""


def feedback_select_(
    gradients: Sequence[Tensor],
    residuals: Sequence[Tensor],
    counts: Sequence[int],
    rule: int,
    parameters: Sequence[float],
    capacities: Sequence[int],
    memory: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Add every gradient to its residual, select, zero what was selected; changes `residuals`.

    Args:
        gradients: vectors of any floating dtype that the residuals' dtype holds.
        residuals: vectors of the same lengths, of one dtype and device.
        counts: k of each tensor, or one k for all tensors one after another.
        rule: position in `RULES`.
        parameters: for each count, the z of gaussian_k_released, the t of threshold; otherwise unused.
        capacities: for each count, how many entries are returned at most.
        memory: unused.

    Returns:
        Values and indices [sum of capacities], each group's entries first in its places and then 0 and −1; the
        report [groups, 4] int32.
    """
    del memory
    step = len(residuals) // len(counts)
    groups = [slice(first, first + step) for first in range(0, len(residuals), step)]
    parts = [
        _select_group(gradients[group], residuals[group], k, RULES[rule], parameter, capacity)
        for group, k, parameter, capacity in zip(groups, counts, parameters, capacities, strict=True)
    ]
    values, indices, reports = zip(*parts, strict=True)
    table = torch.tensor(reports, dtype=torch.int32, device=residuals[0].device)
    return torch.cat(values), torch.cat(indices), table


def _select_group(
    gradients: Sequence[Tensor], residuals: Sequence[Tensor], k: int, rule: str, parameter: float, capacity: int
) -> tuple[Tensor, Tensor, tuple[int, int, int, int]]:
    sums = torch.cat([residual + gradient for gradient, residual in zip(gradients, residuals, strict=True)])
    refused = (~sums.isfinite()).nonzero().flatten()
    corrected = torch.where(sums.isfinite(), sums, torch.cat(list(residuals)))
    usable = corrected.isfinite()
    lengths = [residual.numel() for residual in residuals]
    positions = _positions(corrected, usable, lengths, k, rule, parameter)
    kept = positions[:capacity]
    values = corrected.new_zeros(capacity)
    values[: kept.numel()] = corrected[kept]
    indices = torch.full((capacity,), -1, dtype=torch.int32, device=corrected.device)
    indices[: kept.numel()] = kept.to(torch.int32)
    corrected[kept] = 0
    for residual, piece in zip(residuals, corrected.split(lengths), strict=True):
        residual.copy_(piece)
    first_refused = int(refused[0]) if refused.numel() else -1
    return values, indices, (kept.numel(), positions.numel(), first_refused, 0)


def _positions(corrected: Tensor, usable: Tensor, lengths: list[int], k: int, rule: str, parameter: float) -> Tensor:
    """What a rule selects, ascending.

    Where the residual held NaN or infinity before, it is ranked as zero, behind every other zero (of its chunk, where
    the rule has chunks), and never returned.
    """
    if rule == "chunked_top_k":
        return largest_of_chunks(magnitude_bits(corrected).masked_fill(~usable, -1), k)
    ranked = torch.where(usable, corrected, 0)
    order = torch.argsort(~usable, stable=True)
    positions = order[_chosen(ranked[order], ranked.split(lengths), k, rule, parameter)]
    return positions[usable[positions]].sort().values


def _chosen(ordered: Tensor, pieces: Sequence[Tensor], k: int, rule: str, parameter: float) -> Tensor:
    """Positions in `ordered` that a rule selects; `pieces` are the same finite entries where the moments want them."""
    if rule == "gaussian_k_released":
        return released_indices(ordered, k, released_start(moments(pieces), parameter))
    if rule == "threshold":
        return threshold(ordered, parameter).indices.long()
    selector = {"top_k": top_k, "gaussian_k": gaussian_k}[rule]
    return selector(ordered, k).indices.long()
