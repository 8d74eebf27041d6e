"""A flat ring over nodes takes what it takes with the link between them, wherever the nodes are."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from sparsync.verify.cost.collectives import QUICK, SLOW, cases_of
from sparsync.verify.cost.simulated.collective_schedules import ring_all_reduce
from sparsync.verify.cost.simulated.schedules import Costs, play
from sparsync.verify.cost.simulated.simulations import SIMULATIONS
from sparsync.verify.cost.simulated.supports import even_parts, with_values


@pytest.mark.parametrize(("workers", "node_size"), [(4, 2), (6, 2), (6, 3)])
def test_a_ring_over_nodes_is_as_slow_as_the_link_between_them(workers: int, node_size: int) -> None:
    (case, *_) = cases_of(workers, node_size, 3)
    assert (case.link, case.inner_link) == (SLOW, QUICK)
    parts = even_parts(workers, Fraction(case.dimension))
    stores = with_values([[block for part in parts for block in part]] * workers, random.Random(0))
    costs = Costs(case.between, case.merge_seconds, case.value_bytes)
    over_nodes = play(stores, ring_all_reduce(stores, range(workers), parts), costs)
    assert over_nodes == SIMULATIONS["ring_all_reduce"](case, random.Random(0))
