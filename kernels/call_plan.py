"""What a call of `feedback_select` asks of the op, from its numbers alone: checked once, then remembered.

A model has hundreds of tensors and takes the same numbers at every step.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from sparsync.kernels.given_numbers import is_threshold, shown
from sparsync.kernels.reference import two_sided_quantile

Rule = Literal["top_k", "gaussian_k", "gaussian_k_released", "threshold", "chunked_top_k"]

_LARGEST_DIMENSION = 2**31 - 1


class Plan(NamedTuple):
    """What a call asks of the op, from its numbers alone: the op's arguments, and where each group's places lie."""

    parameters: list[float]
    capacities: list[int]
    places: list[tuple[int, int]]


def plan_of(
    rule: Rule,
    counts: list[int],
    dimensions: list[int],
    thresholds: Sequence[float | None],
    capacities: Sequence[int | None],
) -> Plan:
    """The plan of a call, the one made before if the numbers are the same; not to be changed.

    Raises:
        ValueError: a number is not one that the rule can take.
    """
    numbers = tuple(counts), tuple(dimensions), tuple(thresholds), tuple(capacities)
    # True and 1.0 would find the plan of 1, and a tensor may hold another number when it is seen again.
    is_plain = _WHOLE.issuperset(map(type, chain(counts, capacities))) and _REAL.issuperset(map(type, thresholds))
    if torch.compiler.is_compiling() or not is_plain:
        return _make_plan(rule, *numbers)
    return _cached_plan(rule, *numbers)


def dimensions_of(residuals: list[Tensor], counts: list[int]) -> list[int]:
    """The length of each selection: of each tensor, or of all tensors together when there is one count."""
    lengths = [residual.numel() for residual in residuals]
    if len(counts) == 1:
        lengths = [sum(lengths)]
    if max(lengths) > _LARGEST_DIMENSION:
        raise ValueError(f"d = {max(lengths)} does not fit int32 indices")
    return lengths


def _make_plan(
    rule: Rule,
    counts: tuple[int, ...],
    dimensions: tuple[int, ...],
    thresholds: tuple[float | None, ...],
    capacities: tuple[int | None, ...],
) -> Plan:
    plan, first = Plan([], [], []), 0
    for k, dimension, threshold, capacity in zip(counts, dimensions, thresholds, capacities, strict=True):
        _check_count(k, dimension)
        plan.parameters.append(_parameter(rule, k, dimension, threshold))
        plan.capacities.append(_capacity(rule, k, dimension, capacity))
        plan.places.append((first, first + plan.capacities[-1]))
        first = plan.places[-1][1]
    return plan


_cached_plan = functools.lru_cache(maxsize=256)(_make_plan)
_WHOLE = {int, type(None)}
_REAL = {float, int, type(None)}


def _check_count(k: int, dimension: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= dimension:
        raise ValueError(f"k must be an int with 1 <= k <= d = {dimension}, got {shown(k)}")


def _parameter(rule: Rule, k: int, dimension: int, threshold: float | None) -> float:
    if rule == "threshold":
        if threshold is None or not is_threshold(threshold):
            raise ValueError(f"rule 'threshold' needs a finite threshold of at least 0, got {shown(threshold)}")
        return float(threshold)
    if threshold is not None:
        raise ValueError(f"rule {rule!r} takes no threshold, got {shown(threshold)}")
    return _quantile(k, dimension) if rule == "gaussian_k_released" else 0.0


def _capacity(rule: Rule, k: int, dimension: int, asked: int | None) -> int:
    """As many places as the rule can fill, but no more than were asked for."""
    if rule in ("top_k", "chunked_top_k"):
        natural = k
    elif rule == "gaussian_k" and k < dimension:
        natural = min(dimension, 4 * k // 3)
    else:
        natural = dimension
    if asked is None:
        return natural
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise ValueError(f"the capacity must be an int of at least 1, got {shown(asked)}")
    return min(natural, asked)


def _quantile(k: int, dimension: int) -> float:
    return _cached_quantile(k, dimension)


_cached_quantile = functools.lru_cache(maxsize=4096)(two_sided_quantile)
# What `torch.compiler.assume_constant_result` sets, without importing the compiler for it (a second or more).
_quantile._dynamo_marked_constant = True  # type: ignore[attr-defined]
