"""Calls of `feedback_select_` whose work threads share: one alone, and each of two, takes several stretches."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES
from sparsync.kernels.native import Rule
from tests.support.feedback_cases import Case

LENGTH = 600_001
PLACE = torch.arange(4 * LENGTH)
NORMAL = torch.randn(LENGTH, generator=torch.Generator().manual_seed(5))
LONG = NORMAL.repeat(4)
ONES = torch.ones(LENGTH)
LATE = torch.where(PLACE[:LENGTH] > LENGTH - 2000, 2.0, 1.0)
# Four per cent are not zero, all of them near the end.
FEW = NORMAL * (PLACE[:LENGTH] > LENGTH - 24_000)
# Gradients, targets, rule, parameter and remembered bound in one.
WORK: dict[str, tuple[list[Tensor], list[int], Rule, float]] = {
    "sampled": ([NORMAL], [600], "gaussian_k", 0.0),
    "sampled by all threads": ([LONG], [2400], "top_k", 0.0),
    "remembered": ([NORMAL], [600], "top_k", 3.0),
    "a long list": ([NORMAL], [10_500], "gaussian_k", 2.19),
    "a long list among others": ([NORMAL[:99], NORMAL, NORMAL[:70_000]], [9, 14_000, 1000], "top_k", 2.19),
    "remembered in vain": ([NORMAL], [60], "gaussian_k", 4.8),
    "remembered too low": ([NORMAL], [600], "top_k", 0.5),
    "counted": ([NORMAL], [200_000], "gaussian_k", 0.0),
    "ties": ([ONES], [300_000], "top_k", 0.0),
    "few of many ties": ([ONES], [70], "gaussian_k", 0.0),
    "ties before what is larger": ([LATE], [2500], "top_k", 0.0),
    "ties of one tensor after another": ([NORMAL, ONES, LATE, NORMAL[:9]], [600, 90, 2500, 9], "top_k", 0.0),
    "ties of all tensors together": ([LATE, LATE.roll(7), ONES], [9000], "gaussian_k", 0.0),
    "zeros": ([FEW], [30_000], "top_k", 0.0),
    "many tensors": (list(NORMAL.split(40_000)), [40, *[400] * 14, 1], "gaussian_k", 0.0),
    "moments": ([NORMAL, LATE], [600, 600], "gaussian_k_released", 3.2),
    "a threshold": ([NORMAL, NORMAL[:70]], [600, 1], "threshold", 2.4),
    "chunks": ([NORMAL, LATE, FEW, NORMAL[:99]], [6000, 600, 100, 9], "chunked_top_k", 0.0),
}


def thread_case(name: str) -> Case:
    """A call of its own for each caller, which may change it; every 70,000th residual is not finite."""
    sums, counts, rule, number = WORK[name]
    lengths = [u.numel() for u in sums] if len(counts) > 1 else [sum(u.numel() for u in sums)]
    return Case(
        gradients=tuple(1.25 * u for u in sums),
        residuals=tuple(torch.where(PLACE[: u.numel()] % 70_000 == 69_999, math.nan, -0.25 * u) for u in sums),
        counts=tuple(counts),
        rule=RULES.index(rule),
        parameters=(number,) * len(counts),
        capacities=tuple(lengths),
        memory=torch.tensor([[number, 0.0]] * len(counts)).view(torch.int32),
    )
