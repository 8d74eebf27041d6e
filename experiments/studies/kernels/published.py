"""Published threshold rules as contenders: the same work in PyTorch, in float32 as the released programs have it.

Written anew from their behaviour, without what changes roundings only. What they select is defined in
`kernels/reference.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.laws import Case
from sparsync.kernels.reference import dgc_stride, two_sided_quantile

PublishedRule = Literal["gaussian_k_released", "dgc_released", "sidco_released"]

_RELEASED_PASS_COUNT = 3
_SAMPLE_PASS_COUNT = 10
_FIRST_STAGE_SHARE = 0.25


def gaussian_k_released(case: Case, residual: Tensor) -> Tensor:
    """Deviation, mean, then up to three times the positions above a threshold that is halved or raised by a half."""
    k = case.target_counts[0]
    deviation, mean = float(residual.std()), float(residual.mean())
    magnitudes, threshold = residual.abs(), mean + two_sided_quantile(k, case.dimension) * deviation
    indices = (magnitudes > threshold).nonzero().flatten()
    for _ in range(_RELEASED_PASS_COUNT - 1):
        if 2 * k <= 3 * indices.numel() <= 4 * k:
            break
        threshold *= 0.5 if 3 * indices.numel() < 2 * k else 1.5
        indices = (magnitudes > threshold).nonzero().flatten()
    return indices


def dgc_released(case: Case, residual: Tensor) -> Tensor:
    """The threshold of a strided sample, lowered until enough entries reach it; of too many the largest."""
    k, magnitudes = case.target_counts[0], residual.abs()
    stride = dgc_stride(case.dimension, k)
    sample = magnitudes[int(torch.randint(stride, (1,))) :: stride]
    least = sample.topk(-(-(case.dimension // stride) * k // case.dimension), sorted=False).values.min()
    indices = (magnitudes >= least).nonzero().flatten()
    for _ in range(_SAMPLE_PASS_COUNT if stride > 1 else 0):
        if 10 * indices.numel() > 13 * k:
            indices = indices[magnitudes[indices].topk(k, sorted=False).indices]
        if 5 * indices.numel() >= 4 * k:
            break
        least = least * 0.8
        indices = (magnitudes >= least).nonzero().flatten()
    return indices[:k]


def sidco_released(case: Case, residual: Tensor) -> Tensor:
    """The threshold of two exponential fits, to all magnitudes and to what exceeds the first; one at density 0.1."""
    k, magnitudes = case.target_counts[0], residual.abs()
    share, has_two_stages = k / case.dimension, 10 * k < case.dimension
    least = -magnitudes.mean() * math.log(_FIRST_STAGE_SHARE if has_two_stages else share)
    if has_two_stages:
        left = magnitudes[(magnitudes > least).nonzero().flatten()]
        if left.numel():
            smallest = left.min()
            least = smallest - (left.mean() - smallest) * math.log(share / _FIRST_STAGE_SHARE)
    return (magnitudes > least).nonzero().flatten()


PUBLISHED: dict[PublishedRule, Callable[[Case, Tensor], Tensor]] = {
    "gaussian_k_released": gaussian_k_released,
    "dgc_released": dgc_released,
    "sidco_released": sidco_released,
}
"""From a case and its corrected gradient [d] to the positions that are sent, by the rule's name in `SELECTORS`."""
