"""Which choice of each item is cheapest, where the weights of all that is chosen must not exceed a capacity?

The multiple-choice knapsack problem, exactly: a dynamic programme over the states (weight, cost) that no other
dominates. A state is dropped where the relaxation of what is left, which mixes neighbours on the lower convex hull of
an item's choices, does not reach the best answer that is known. Weights that are integers are added as integers.

Source: classical; identical items are drawn together by us.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-12
"""Relative: a few thousand roundings of doubles. Nothing is excluded by less."""
_TOGETHER = 8
"""Identical items whose choices are counted rather than listed, at a time."""


@dataclass(frozen=True)
class Items:
    """Items that have the same choices.

    Args:
        count: of them.
        weights: of each choice, at least 0; all integers, or all floats.
        costs: of each choice, at least 0; likewise.
    """

    count: int
    weights: tuple[float, ...]
    costs: tuple[float, ...]


class Packing(NamedTuple):
    """What is chosen.

    Args:
        cost: of all items.
        weight: of all items.
        counts: by group of items, how many of them take each choice.
    """

    cost: float
    weight: float
    counts: tuple[tuple[int, ...], ...]


class Exchange(NamedTuple):
    """From one choice to the next on the lower hull of an item's choices: what it saves, and what more it weighs."""

    rate: float
    weight: float
    saved: float
    items: int
    group: int


@dataclass(frozen=True, eq=False)
class Curve:
    """The least cost for each capacity if items may be divided between choices: convex, piecewise linear, a bound.

    Args:
        weight: the lightest; nothing can be chosen below.
        cost: at that weight, the dearest there is.
        weights: where the slope changes.
        costs: there.
    """

    weight: float
    cost: float
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]

    def __call__(self, capacity: NDArray[Any]) -> NDArray[np.float64]:
        """The least cost with each capacity, none of which is below the lightest weight."""
        least: NDArray[np.float64] = np.interp(capacity, self.weights, self.costs)
        return least


class Relaxation:
    """Items that may be divided between choices."""

    def __init__(self, groups: Sequence[Items]) -> None:
        """The lightest choices, and exchanges in the order of what they save per weight."""
        lightest = [(group.count, *min(zip(group.weights, group.costs, strict=True))) for group in groups]
        self._weights = [count * weight for count, weight, _ in lightest]
        self._costs = [count * cost for count, _, cost in lightest]
        found = (exchange for place, group in enumerate(groups) for exchange in _exchanges(group, place))
        self._exchanges = sorted(found, reverse=True)
        self._steps = np.asarray([(step.weight * step.items, -step.saved * step.items) for step in self._exchanges])
        self._groups = np.asarray([step.group for step in self._exchanges])

    def curve(self, first: int = 0) -> Curve:
        """Of all groups from some place on."""
        weight, cost = sum(self._weights[first:]), sum(self._costs[first:])
        steps = self._steps[self._groups >= first] if self._exchanges else np.zeros((0, 2))
        weights, costs = np.cumsum(np.vstack([[(weight, cost)], steps]), axis=0).T
        return Curve(weight, cost, weights, costs)

    def rounded(self, capacity: float) -> float:
        """The cost of whole exchanges while they fit, those that save most per weight first: it can be had."""
        weight, cost = sum(self._weights), sum(self._costs)
        stuck = set[int]()
        """groups some of whose items are behind, so that they cannot all make a later exchange"""
        for step in self._exchanges:
            room = capacity - weight - ROUNDING * abs(capacity)
            taken = 0 if step.group in stuck else max(0, min(step.items, int(room // step.weight)))
            weight, cost = weight + taken * step.weight, cost - taken * step.saved
            if taken < step.items:
                stuck.add(step.group)
        return cost


def cheapest(groups: Sequence[Items], capacity: float) -> Packing | None:
    """The cheapest choice whose weight is at most the capacity; None where the lightest is heavier.

    Args:
        groups: items by their choices.
        capacity: an integer where the weights are; of floats it is kept but for roundings.
    """
    parts = sorted(_divided(groups), key=lambda part: -max(part[1].weights) * part[1].count)
    relaxation = Relaxation([items for _, items in parts])
    room = capacity if isinstance(capacity, int) else capacity + ROUNDING * abs(capacity)
    whole = relaxation.curve()
    if whole.weight > room:
        return None
    limit = relaxation.rounded(capacity) + ROUNDING * whole.cost
    weights = np.zeros(1, dtype=np.int64 if isinstance(capacity, int) else np.float64)
    costs = np.zeros(1)
    trail = []
    for place, (_, items) in enumerate(parts):
        options = _counted(items)
        weights = np.add.outer(weights, options @ np.asarray(items.weights)).ravel()
        costs = np.add.outer(costs, options @ np.asarray(items.costs)).ravel()
        kept = _promising(weights, costs, room, relaxation.curve(place + 1), limit)
        weights, costs = weights[kept], costs[kept]
        trail.append((options, kept))
    best = int(np.argmin(costs))
    return Packing(costs[best].item(), weights[best].item(), _followed(groups, parts, trail, best))


def _exchanges(items: Items, place: int) -> list[Exchange]:
    """Along the lower hull of the choices, from the lightest to the cheapest."""
    hull: list[tuple[float, float]] = []
    for weight, cost in sorted(zip(items.weights, items.costs, strict=True)):
        if hull and cost >= hull[-1][1]:
            continue
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], (weight, cost)):
            hull.pop()
        hull.append((weight, cost))
    return [
        Exchange((dear - cheap) / (heavy - light), heavy - light, dear - cheap, items.count, place)
        for (light, dear), (heavy, cheap) in itertools.pairwise(hull)
    ]


def _is_above(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether the middle point is not below the line from left to right."""
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (middle[0] - left[0])


def _divided(groups: Sequence[Items]) -> list[tuple[int, Items]]:
    """Groups in parts of a few items, with the place of the group."""
    return [
        (place, Items(min(_TOGETHER, group.count - first), group.weights, group.costs))
        for place, group in enumerate(groups)
        for first in range(0, group.count, _TOGETHER)
    ]


def _counted(items: Items) -> NDArray[np.int64]:
    """[ways, choices]: how many items take each choice, in every way, without choices that another one dominates."""
    useful, least = list[int](), float("inf")
    for _, cost, choice in sorted(zip(items.weights, items.costs, itertools.count())):
        if cost < least:
            useful.append(choice)
            least = cost
    ways = itertools.combinations_with_replacement(useful, items.count)
    return np.asarray([np.bincount(way, minlength=len(items.weights)) for way in ways], dtype=np.int64)


def _promising(
    weights: NDArray[Any], costs: NDArray[np.float64], room: float, rest: Curve, limit: float
) -> NDArray[np.int64]:
    """Places of states that can be completed within room and limit, and that no other dominates."""
    fitting = np.flatnonzero(weights <= room - rest.weight)
    fitting = fitting[costs[fitting] + rest(room - weights[fitting]) <= limit]
    order = fitting[np.lexsort((costs[fitting], weights[fitting]))]
    cheaper = np.ones(len(order), dtype=bool)
    cheaper[1:] = costs[order][1:] < np.minimum.accumulate(costs[order])[:-1]
    return order[cheaper]


def _followed(
    groups: Sequence[Items],
    parts: Sequence[tuple[int, Items]],
    trail: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    state: int,
) -> tuple[tuple[int, ...], ...]:
    """How many items of each group take each choice, back from a last state."""
    found = [np.zeros(len(group.weights), dtype=np.int64) for group in groups]
    for (place, _), (options, kept) in zip(reversed(parts), reversed(trail), strict=True):
        state, option = divmod(int(kept[state]), len(options))
        found[place] += options[option]
    return tuple(tuple(row.tolist()) for row in found)
