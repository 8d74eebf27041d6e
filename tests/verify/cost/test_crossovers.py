"""Densities from simulations: by hand, and where the simulated seconds are no line."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.verify.cost.crossovers import PAIRS, faster_up_to, grid, margin_of, simulated_density, with_count
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case


def case_of(label: str) -> Case:
    return grid(in_nodes=label == "hierarchical_crossover")[-1]


@pytest.mark.parametrize("label", PAIRS)
def test_at_the_density_both_are_played_in_the_same_time_and_above_it_the_sparse_one_in_more(label: str) -> None:
    case = case_of(label)
    sparse, dense = PAIRS[label]
    count = simulated_density(sparse, dense, case) * case.dimension
    target = SIMULATIONS[dense](case, random.Random(0))
    at, above = (SIMULATIONS[sparse](with_count(case, factor * count), random.Random(0)) for factor in (1, 2))
    assert at == target < above
    assert margin_of(label)(case, 0) == 0


def test_seconds_that_are_no_line_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIMULATIONS, "ring_all_gather", lambda case, _numbers: case.count**2)
    with pytest.raises(ValueError, match="ring_all_gather takes 1, 4 and 16 s"):
        simulated_density("ring_all_gather", "ring_all_reduce", case_of("gather_crossover"))


def test_a_worker_alone_is_never_faster_and_who_is_always_faster_is_up_to_the_largest_density() -> None:
    case = replace(grid(in_nodes=False)[0], union=Fraction(1))
    assert faster_up_to("gather_crossover", replace(case, node_count=1)) == 0
    few_rounds = replace(case, link=replace(case.link, message_seconds=Fraction(99)))
    assert simulated_density(*PAIRS["gather_crossover"], few_rounds) > 1 == faster_up_to("gather_crossover", few_rounds)
    apart = replace(case, node_count=4, union=Fraction(4), index_bytes=Fraction(1, 9))
    assert faster_up_to("balanced_crossover", apart) == Fraction(1, 4)


def test_the_grid_has_densities_of_every_kind() -> None:
    for label in PAIRS:
        cases = grid(in_nodes=label == "hierarchical_crossover")
        found = [simulated_density(*PAIRS[label], case) for case in cases]
        ends = [density == faster_up_to(label, case) for density, case in zip(found, cases, strict=True)]
        assert any(ends)
        assert all(ends) == (label == "global_top_k_doubling_crossover")
        assert (min(found) < 0) == (label == "hierarchical_crossover")


def test_unions_grow_with_the_count() -> None:
    case = replace(case_of("gather_crossover"), union=Fraction(3))
    assert with_count(case, Fraction(4)).union == 12
