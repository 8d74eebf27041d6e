"""The knapsack by trying everything, with integers and with floats, and its relaxation from both sides."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from sparsync.experiments.planners.parts.knapsack import Items, Packing, Relaxation, cheapest


def drawn(numbers: random.Random, *, is_whole: bool) -> tuple[list[Items], float]:
    def value() -> float:
        return numbers.randint(0, 9) if is_whole else numbers.randint(0, 9) / 7

    groups = []
    for _ in range(numbers.randint(1, 3)):
        choices = numbers.randint(1, 4)
        weights, costs = (tuple(value() for _ in range(choices)) for _ in range(2))
        groups.append(Items(numbers.randint(1, 3), weights, costs))
    most = sum(group.count * max(group.weights) for group in groups)
    return groups, (numbers.randint(0, int(most)) if is_whole else numbers.random() * most)


def least_of_all(groups: list[Items], capacity: float) -> float | None:
    """Of every choice of every item."""
    items = [list(zip(group.weights, group.costs, strict=True)) for group in groups for _ in range(group.count)]
    totals = [tuple(map(sum, zip(*chosen, strict=True))) for chosen in itertools.product(*items)]
    return min((cost for weight, cost in totals if weight <= capacity), default=None)


def require_whole(found: Packing, groups: list[Items], capacity: float) -> None:
    assert [sum(taken) for taken in found.counts] == [group.count for group in groups]
    for total, name in ((found.weight, "weights"), (found.cost, "costs")):
        values = [getattr(group, name) for group in groups]
        added = sum(
            count * value
            for own, taken in zip(values, found.counts, strict=True)
            for value, count in zip(own, taken, strict=True)
        )
        assert total == pytest.approx(added, rel=1e-12)
    assert found.weight <= capacity * (1 + 1e-12)


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_cheapest_is_that_of_everything(is_whole: bool) -> None:
    numbers = random.Random(1)
    outcomes = []
    for _ in range(150):
        groups, capacity = drawn(numbers, is_whole=is_whole)
        found, least = cheapest(groups, capacity), least_of_all(groups, capacity)
        outcomes.append(found is not None)
        assert (found is None) == (least is None)
        if found is not None and least is not None:
            assert math.isclose(found.cost, least, rel_tol=1e-12)
            require_whole(found, groups, capacity)
    assert 0.4 < sum(outcomes) / len(outcomes) < 1


def test_the_relaxation_is_below_and_what_is_rounded_is_above() -> None:
    numbers = random.Random(2)
    for _ in range(100):
        groups, capacity = drawn(numbers, is_whole=True)
        least, relaxation = least_of_all(groups, capacity), Relaxation(groups)
        curve = relaxation.curve()
        assert (curve.weight > capacity) == (least is None)
        if least is not None:
            assert curve(np.asarray([capacity]))[0] <= least + 1e-12
            assert relaxation.rounded(capacity) >= least


def test_an_exchange_waits_for_the_one_before() -> None:
    """From 10 to 12 would fit alone, but not from nothing to 10."""
    groups = [Items(1, (0, 10, 12), (10, 2, 1))]
    assert Relaxation(groups).rounded(5) == 10
    assert cheapest(groups, 5) == Packing(10, 0, ((1, 0, 0),))


def test_a_byte_decides_among_terabytes() -> None:
    heavy = 10**12 + 1
    groups = [Items(40, (heavy, 2 * heavy), (1.0, 0.0))]
    for capacity, cost in ((40 * heavy - 1, None), (40 * heavy, 40.0), (41 * heavy - 1, 40.0), (41 * heavy, 39.0)):
        found = cheapest(groups, capacity)
        assert (None if found is None else found.cost) == cost


def test_identical_items_are_counted_not_listed() -> None:
    """Sixty kinds of a hundred items each: as items, 2 to the 6000 choices."""
    numbers = random.Random(3)
    groups = [Items(100, (0, numbers.randint(1, 50)), (numbers.randint(1, 50), 0)) for _ in range(60)]
    found = cheapest(groups, 50_000)
    assert found is not None
    require_whole(found, groups, 50_000)
    assert found.cost >= Relaxation(groups).curve()(np.asarray([50_000]))[0]
