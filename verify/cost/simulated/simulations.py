"""How long does each collective take where its messages are really sent? Instances are made, played and checked.

A simulation raises an error where a worker ends without the result: the sum of what all had, or, of a tree of merges,
entries that are the same everywhere and make up that sum together with what the merges dropped. Ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sparsync.verify.cost.simulated import collective_schedules as schedules
from sparsync.verify.cost.simulated.collective_schedules import Parts, Stores
from sparsync.verify.cost.simulated.schedules import Block, Costs, Link, Payload, Schedule, play, sums
from sparsync.verify.cost.simulated.supports import even_parts, in_nodes, overlapping, with_values

MERGED_BLOCKS = 3
"""Blocks of equal size in which a worker of a tree of merges has its entries; it chooses them from twice as many."""


@dataclass(frozen=True)
class Case:
    """What is to be added up, and where.

    Args:
        dimension: d; parts of it need not be whole.
        count: k of each worker; need not be whole.
        union: U, coordinates that some worker selected.
        node_union: u, those that some worker of a node selected.
        value_bytes: of a value.
        index_bytes: of a position.
        link: between nodes; between all workers for flat collectives.
        inner_link: inside a node.
        merge_seconds: γ.
        node_count: g.
        node_size: m.
    """

    dimension: int | Fraction
    count: Fraction
    union: Fraction
    node_union: Fraction
    value_bytes: Fraction
    index_bytes: Fraction
    link: Link
    inner_link: Link
    merge_seconds: Fraction
    node_count: int
    node_size: int = 1

    @property
    def workers(self) -> int:
        """n = mg."""
        return self.node_count * self.node_size

    @property
    def flat(self) -> Costs:
        """Of entries that go by the link between nodes."""
        return Costs(lambda _sender, _receiver: self.link, self.merge_seconds, self.value_bytes + self.index_bytes)

    @property
    def flat_values(self) -> Costs:
        """Of values that do."""
        return Costs(lambda _sender, _receiver: self.link, self.merge_seconds, self.value_bytes)

    def between(self, sender: int, receiver: int) -> Link:
        """The link of two workers."""
        return self.inner_link if sender // self.node_size == receiver // self.node_size else self.link


def ring_all_reduce(case: Case, numbers: random.Random) -> Fraction:
    """Seconds, where neighbours of the ring are on different nodes, if there are two."""
    ring = [node * case.node_size + place for place in range(case.node_size) for node in range(case.node_count)]
    costs = Costs(case.between, case.merge_seconds, case.value_bytes)
    return _dense(case, numbers, lambda stores, parts: schedules.ring_all_reduce(stores, ring, parts), costs=costs)


def doubling_all_reduce(case: Case, numbers: random.Random) -> Fraction:
    """Seconds."""
    return _dense(case, numbers, schedules.doubling_all_reduce)


def tree_all_reduce(case: Case, numbers: random.Random) -> Fraction:
    """Seconds."""
    return _dense(case, numbers, lambda stores, _parts: schedules.tree_all_reduce(stores))


def ring_all_gather(case: Case, numbers: random.Random) -> Fraction:
    """Seconds."""
    return _sparse(case, numbers, lambda stores: schedules.ring_all_gather(stores, range(case.workers)))


def doubling_all_gather(case: Case, numbers: random.Random) -> Fraction:
    """Seconds; of 2^D workers by recursive doubling, which takes as long as the other schedule, or it is an error.

    Raises:
        ValueError: it takes longer or shorter.
    """
    seconds = _sparse(case, numbers, schedules.doubling_all_gather)
    if case.workers & (case.workers - 1) == 0:
        other = _sparse(case, numbers, schedules.recursive_doubling_all_gather)
        if other != seconds:
            raise ValueError(f"{case.workers} workers gather in {seconds} s, and by recursive doubling in {other} s")
    return seconds


def global_top_k(case: Case, numbers: random.Random) -> Fraction:
    """Seconds.

    Raises:
        ValueError: see above.
    """
    size = case.count / MERGED_BLOCKS
    places = [Block(place, size) for place in range(2 * MERGED_BLOCKS)]
    stores = with_values([numbers.sample(places, MERGED_BLOCKS) for _ in range(case.workers)], numbers)
    total = sums(stores)
    dropped: list[Payload] = []
    seconds = play(stores, schedules.global_top_k(stores, MERGED_BLOCKS, dropped), case.flat)
    if sums([stores[0], *dropped]) != total or any(store != stores[0] for store in stores):
        raise ValueError(f"{case.workers} workers merge {total} into {stores}, and drop {dropped}")
    return seconds


def balanced_all_reduce(case: Case, numbers: random.Random) -> Fraction:
    """Seconds."""
    size = case.workers
    first = overlapping(size, case.count / size, case.union / size)
    block_count = len({block for blocks in first for block in blocks})
    selected = [
        [[Block(region * block_count + block.place, block.width) for block in blocks] for blocks in first]
        for region in range(size)
    ]
    regions = [sorted({block for blocks in region for block in blocks}) for region in selected]
    supports = [[block for region in selected for block in region[worker]] for worker in range(size)]
    stores = with_values(supports, numbers)
    return _played(stores, schedules.balanced_all_reduce(stores, regions), case.flat)


def hierarchical_all_reduce(case: Case, numbers: random.Random) -> Fraction:
    """Seconds."""
    costs = Costs(case.between, case.merge_seconds, case.value_bytes)
    return _dense(
        case,
        numbers,
        lambda stores, parts: schedules.hierarchical_all_reduce(stores, case.node_size, parts),
        costs=costs,
    )


def hierarchical_gather(case: Case, numbers: random.Random) -> Fraction:
    """Seconds."""
    costs = Costs(case.between, case.merge_seconds, case.value_bytes + case.index_bytes)
    supports = in_nodes(case.node_count, case.node_size, count=case.count, node_union=case.node_union, union=case.union)
    stores = with_values(supports, numbers)
    return _played(stores, schedules.hierarchical_gather(stores, case.node_size), costs)


SIMULATIONS: dict[str, Callable[[Case, random.Random], Fraction]] = {
    "ring_all_reduce": ring_all_reduce,
    "doubling_all_reduce": doubling_all_reduce,
    "tree_all_reduce": tree_all_reduce,
    "ring_all_gather": ring_all_gather,
    "doubling_all_gather": doubling_all_gather,
    "global_top_k": global_top_k,
    "balanced_all_reduce": balanced_all_reduce,
    "hierarchical_all_reduce": hierarchical_all_reduce,
    "hierarchical_gather": hierarchical_gather,
}
"""By the label of the statement; every worker selects as the case says, with values that are drawn."""


def _dense(
    case: Case, numbers: random.Random, schedule: Callable[[Stores, Parts], Schedule], *, costs: Costs | None = None
) -> Fraction:
    parts = even_parts(case.workers, Fraction(case.dimension))
    whole: list[Block] = [block for part in parts for block in part]
    stores = with_values([whole] * case.workers, numbers)
    return _played(stores, schedule(stores, parts), costs or case.flat_values)


def _sparse(case: Case, numbers: random.Random, schedule: Callable[[Stores], Schedule]) -> Fraction:
    stores = with_values(overlapping(case.workers, case.count, case.union), numbers)
    return _played(stores, schedule(stores), case.flat)


def _played(stores: list[dict[Block, Fraction]], schedule: Schedule, costs: Costs) -> Fraction:
    """Seconds of a schedule after which all have the sum.

    Raises:
        ValueError: somebody lacks it.
    """
    total = sums(stores)
    seconds = play(stores, schedule, costs)
    for worker, store in enumerate(stores):
        if store != total:
            raise ValueError(f"worker {worker} of {len(stores)} ends with {store} where the sum is {total}")
    return seconds
