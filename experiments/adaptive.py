"""Selectors that learn from their own counts: one object a worker, unlike `SELECTORS`, whose functions keep nothing.

`new_selector` gives a worker its selector, of either kind. A new one is a class here and a line in
`ADAPTIVE_SELECTORS`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import torch
from torch import Tensor

from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import sidco_at
from sparsync.kernels.selection import SELECTORS, Selector

# The released settings of SIDCo.
_CALLS_PER_REVIEW = 5
_TOLERANCE = Fraction(1, 5)


class SidcoAdaptive:
    """SIDCo's exponential fit, in more stages after too few entries, in fewer after too many: any count from 0 to d.

    It begins with one stage. After every fifth call the mean of count/k over those five is looked at: above 6/5 there
    is one stage fewer from then on, below 4/5 one more, at least 1 and at most ⌈log₂(d/k)⌉. Source: the code released
    with Abdelmoniem, Elzanaty, Alouini, Canini 2021 (sands-lab/SIDCo), the first of its three ways to adapt, with its
    settings, written anew from its behaviour; the mean is exact here.
    """

    def __init__(self) -> None:
        self.stage_count = 1
        self._recent: list[Fraction] = []

    def __call__(self, corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
        """Select from `corrected` [d], with target count k, and remember the count.

        Raises:
            ValueError: see `check_selection_input`.
        """
        del generator
        payload = sidco_at(corrected, k, self.stage_count)
        self._recent.append(Fraction(payload.count, k))
        if len(self._recent) == _CALLS_PER_REVIEW:
            mean = sum(self._recent, Fraction()) / _CALLS_PER_REVIEW
            change = -1 if mean > 1 + _TOLERANCE else int(mean < 1 - _TOLERANCE)
            most = (-(-corrected.numel() // k) - 1).bit_length()
            self.stage_count = max(1, min(self.stage_count + change, most))
            self._recent.clear()
        return payload


ADAPTIVE_SELECTORS: dict[str, Callable[[], Selector]] = {"sidco_adaptive": SidcoAdaptive}
"""By name, which no selector of `SELECTORS` has; each call makes one that has seen nothing."""


def require_selector(name: str) -> None:
    """Refuse what names no selector.

    Raises:
        ValueError: `name` is a key of neither dict.
    """
    known = (*SELECTORS, *ADAPTIVE_SELECTORS)
    if name not in known:
        raise ValueError(f"unknown selector {name!r}; known: {', '.join(known)}")


def new_selector(name: str) -> Selector:
    """The selector of one worker.

    Args:
        name: key of `SELECTORS` or `ADAPTIVE_SELECTORS`.

    Raises:
        ValueError: `name` is neither.
    """
    require_selector(name)
    return ADAPTIVE_SELECTORS[name]() if name in ADAPTIVE_SELECTORS else SELECTORS[name]
