"""Collectives bring the sum to everybody, from any data; and what textbooks say of uneven parts and payloads holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from sparsync.verify.cost.simulated import collective_schedules as schedules
from sparsync.verify.cost.simulated.schedules import Block, Costs, Link, Payload, Schedule, Store, play, sums

UNIT = Fraction(1)
LINK = Link(Fraction(3), Fraction(1, 7))


def costs(merge_seconds: Fraction = Fraction(1, 11)) -> Costs:
    return Costs(lambda _sender, _receiver: LINK, merge_seconds, Fraction(4))


def uneven_parts(count: int, dimension: int) -> list[list[Block]]:
    """Coordinates in parts whose lengths differ by one at most."""
    return [
        [Block(place, UNIT) for place in range(part * dimension // count, (part + 1) * dimension // count)]
        for part in range(count)
    ]


def vectors(workers: int, dimension: int, numbers: random.Random) -> list[Store]:
    return [
        {Block(place, UNIT): Fraction(numbers.randint(-9, 9)) for place in range(dimension)} for _ in range(workers)
    ]


def payloads(workers: int, dimension: int, numbers: random.Random, counts: list[int]) -> list[Store]:
    """Entries at random places, of different numbers."""
    return [
        {
            Block(place, UNIT): Fraction(numbers.randint(-9, 9))
            for place in numbers.sample(range(dimension), counts[rank])
        }
        for rank in range(workers)
    ]


DENSE: dict[str, Callable[[list[Store], list[list[Block]]], Schedule]] = {
    "ring": lambda stores, parts: schedules.ring_all_reduce(stores, range(len(stores)), parts),
    "doubling": schedules.doubling_all_reduce,
    "tree": lambda stores, _parts: schedules.tree_all_reduce(stores),
}
SPARSE: dict[str, Callable[[list[Store]], Schedule]] = {
    "ring": lambda stores: schedules.ring_all_gather(stores, range(len(stores))),
    "doubling": schedules.doubling_all_gather,
    "balanced": lambda stores: schedules.balanced_all_reduce(stores, uneven_parts(len(stores), 23)),
    "nodes of one": lambda stores: schedules.hierarchical_gather(stores, 1),
    "one node": lambda stores: schedules.hierarchical_gather(stores, len(stores)),
}


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", DENSE)
def test_vectors_of_any_length_are_added_everywhere(name: str, workers: int) -> None:
    stores = vectors(workers, 11, random.Random(workers))
    total = sums(stores)
    play(stores, DENSE[name](stores, uneven_parts(workers, 11)), costs())
    assert stores == [total] * workers


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", SPARSE)
def test_payloads_of_any_lengths_are_added_everywhere(name: str, workers: int) -> None:
    numbers = random.Random(workers)
    stores = payloads(workers, 23, numbers, [numbers.randint(0, 9) for _ in range(workers)])
    total = sums(stores)
    play(stores, SPARSE[name](stores), costs())
    assert stores == [total] * workers


@pytest.mark.parametrize(("workers", "node_size"), [(6, 2), (6, 3), (4, 4), (5, 1), (8, 2)])
def test_vectors_are_added_inside_nodes_and_between_them(workers: int, node_size: int) -> None:
    stores = vectors(workers, 29, random.Random(workers))
    total = sums(stores)
    play(stores, schedules.hierarchical_all_reduce(stores, node_size, uneven_parts(workers, 29)), costs())
    assert stores == [total] * workers


@pytest.mark.parametrize(("workers", "dimension"), [(3, 7), (4, 9), (4, 3), (5, 11), (6, 23)])
def test_a_ring_takes_uneven_parts_as_if_all_were_as_long_as_the_longest(workers: int, dimension: int) -> None:
    found = []
    for size in (dimension, -(-dimension // workers) * workers):
        stores = vectors(workers, size, random.Random(size))
        parts = uneven_parts(workers, size)
        found.append(play(stores, schedules.ring_all_reduce(stores, range(workers), parts), costs()))
    assert found[0] == found[1]


def test_a_ring_takes_payloads_as_if_all_were_as_long_as_the_longest() -> None:
    numbers = random.Random(5)
    found = []
    for counts in ([1, 7, 0, 4, 7], [7] * 5):
        stores = payloads(5, 23, numbers, counts)
        found.append(play(stores, schedules.ring_all_gather(stores, range(5)), costs(Fraction(0))))
    assert found[0] == found[1] == 4 * (3 + 7 * 4 * Fraction(1, 7))


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_a_tree_of_merges_keeps_k_and_loses_nothing_that_it_does_not_drop(workers: int) -> None:
    numbers = random.Random(workers)
    stores = payloads(workers, 23, numbers, [4] * workers)
    total, dropped = sums(stores), list[Payload]()
    play(stores, schedules.global_top_k(stores, 4, dropped), costs())
    assert stores == [stores[0]] * workers
    assert len(stores[0]) == 4
    assert sums([stores[0], *dropped]) == total


def test_a_merge_keeps_the_largest_sums() -> None:
    first, second, third = (Block(place, UNIT) for place in range(3))
    stores: list[Store] = [{first: Fraction(5), second: Fraction(3)}, {second: Fraction(4), third: Fraction(-6)}]
    play(stores, schedules.global_top_k(stores, 2, []), costs())
    assert stores[0] == stores[1] == {second: 7, third: -6}


def test_recursive_doubling_needs_a_power_of_two() -> None:
    with pytest.raises(ValueError, match=r"recursive doubling needs 2\^D workers, got 6"):
        next(iter(schedules.recursive_doubling_all_gather([{} for _ in range(6)])))


@pytest.mark.parametrize("size", range(1, 20))
def test_doublings_bring_all_others(size: int) -> None:
    rounds = list(schedules.doublings(size))
    assert len(rounds) == (size - 1).bit_length()
    assert sum(count for _, count in rounds) == size - 1


def test_schedules_of_different_workers_go_on_together() -> None:
    stores = vectors(4, 4, random.Random(0))
    parts = uneven_parts(2, 4)
    rings = (schedules.ring_all_reduce(stores, ring, parts) for ring in ([0, 1], [2, 3]))
    rounds = list(schedules.together(rings))
    assert [len(messages) for messages in rounds] == [4, 4]
