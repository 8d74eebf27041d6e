"""Limits from two simulated densities agree with a simulation of many more workers, as far as such can be near."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost.collectives import numbers_of, stated
from sparsync.verify.cost.crossover_limits import MARGINS, bandwidth_margin, twice
from sparsync.verify.cost.crossovers import PAIRS, grid, simulated_density

CASE = grid(in_nodes=False)[1]
"""Two workers, messages and additions that cost something."""


@pytest.mark.parametrize("label", MARGINS)
def test_no_margin_is_negative(label: str) -> None:
    assert MARGINS[label](CASE, 0) >= 0


def test_with_sixteen_workers_the_density_is_near_its_limit() -> None:
    many = twice(twice(twice(CASE)))
    assert many.workers == 16
    density = simulated_density(*PAIRS["gather_crossover"], many)
    limit = stated("gather_crossover_limit", numbers_of(many))
    assert 0 < density - limit <= Fraction(2, 16)


def test_the_bandwidth_bound_is_attained_without_additions_and_not_with_them() -> None:
    free = grid(in_nodes=False)[0]
    assert free.merge_seconds == 0 < CASE.merge_seconds
    assert bandwidth_margin(free, 0) == 0 < bandwidth_margin(CASE, 0)
