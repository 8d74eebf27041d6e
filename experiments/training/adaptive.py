"""Selectors that learn from their own counts: one object a worker, unlike `SELECTORS`, whose functions keep nothing.

`new_selector` gives a worker its selector, of either kind. A new one is a class here and a line in
`ADAPTIVE_SELECTORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from sparsync.kernels.magnitude import check_selection_input
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.reference import sidco_at
from sparsync.kernels.selection import SELECTORS, Selector

# The released settings of SIDCo.
_CALLS_PER_REVIEW = 5
_TOLERANCE = Fraction(1, 5)
# The released settings of Ok-Topk, those for image networks.
_CALLS_PER_THRESHOLD = 32
_RISE_COUNT = 5
_RISE = 1.03
_CORRECTION = 1.012


@runtime_checkable
class Remembering(Protocol):
    """A selector that learns."""

    def state(self) -> dict[str, Any]:
        """What it has learnt, as JSON can hold it."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Know what `state` returned instead."""
        ...


class SidcoAdaptive:
    """SIDCo's exponential fit, in more stages after too few entries, in fewer after too many: any count from 0 to d.

    It begins with one stage. After every fifth call the mean of count/k over those five is looked at: above 6/5 there
    is one stage fewer from then on, below 4/5 one more, at least 1 and at most ⌈log₂(d/k)⌉. The released code fails
    where a stage is left with nothing, which is a count of 0 here. Source: the code released with Abdelmoniem,
    Elzanaty, Alouini, Canini 2021 (sands-lab/SIDCo), the first of its three ways to adapt, with its settings, written
    anew from its behaviour; the mean is exact here.
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

    def state(self) -> dict[str, Any]:
        """The number of stages, and count/k of the calls since the last review."""
        return {"stage_count": self.stage_count, "recent": [fraction.as_integer_ratio() for fraction in self._recent]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from those."""
        self.stage_count = int(state["stage_count"])
        self._recent = [Fraction(count, k) for count, k in state["recent"]]


class OkTopkReleased:
    """Ok-Topk's local threshold, exact at every 32nd call and carried on in between: any count from 0 to d.

    The first of 32 calls takes the k-th largest magnitude as t; each other one takes the t that the call before left,
    and multiplies it by 1.03, five times at most, while more than ⌊4k/3⌋ entries exceed it. What exceeds t is sent, and
    t is divided by 1.012 if that was less than 2k/3, or multiplied by it if more than 5k/4. So the first of 32 calls
    sends less than k, nothing for k = 1. t is rounded to the dtype of u before comparing. No part of this: the
    selection among what all workers sent, which follows in Ok-Topk, and the 512 dense updates that its program begins
    with. Source: the code released with Li and Hoefler 2022 (Shigangli/Ok-Topk), written anew from its behaviour.
    """

    def __init__(self) -> None:
        self._call_count = 0
        self._least = 0.0

    def __call__(self, corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
        """Select from `corrected` [d], with target count k, and remember the threshold.

        Raises:
            ValueError: see `check_selection_input`.
        """
        del generator
        check_selection_input(corrected, k)
        magnitudes = corrected.abs()
        if self._call_count % _CALLS_PER_THRESHOLD == 0:
            self._least = float(magnitudes.topk(k, sorted=False).values.min())
            indices = _above(magnitudes, self._least)
        else:
            indices = self._raised(magnitudes, k)
        self._call_count += 1
        if 3 * indices.numel() < 2 * k:
            self._least /= _CORRECTION
        elif 4 * indices.numel() > 5 * k:
            self._least *= _CORRECTION
        return SparsePayload(corrected[indices], indices.to(torch.int32), corrected.numel())

    def state(self) -> dict[str, Any]:
        """The number of calls, and the threshold."""
        return {"call_count": self._call_count, "least": self._least}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from those."""
        self._call_count, self._least = int(state["call_count"]), float(state["least"])

    def _raised(self, magnitudes: Tensor, k: int) -> Tensor:
        indices = _above(magnitudes, self._least)
        for _ in range(_RISE_COUNT):
            if indices.numel() <= 4 * k // 3:
                break
            self._least *= _RISE
            indices = _above(magnitudes, self._least)
        return indices


def _above(magnitudes: Tensor, least: float) -> Tensor:
    return (magnitudes > torch.tensor(least, dtype=magnitudes.dtype, device=magnitudes.device)).nonzero().flatten()


ADAPTIVE_SELECTORS: dict[str, Callable[[], Selector]] = {
    "sidco_adaptive": SidcoAdaptive,
    "oktopk_released": OkTopkReleased,
}
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
