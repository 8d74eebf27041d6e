"""Where the choice of a collective changes is where the statements say, and nowhere else."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners import collective
from sparsync.experiments.planners.collective import (
    Stretch,
    choices_by_count,
    crossover_map,
    fastest,
    plan,
    workers_with,
)
from sparsync.experiments.planners.parts.collective_seconds import COLLECTIVES, EXACT, IN_NODES, Question
from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.theory.statements import STATEMENTS
from tests.support.planning.collective import small

RESNET = Question(
    workers=16, dimension=25_557_032, density=0.001, link=Link(50e-6, 8e-10), merge_seconds_per_byte=1e-10
)
"""Sixteen workers at 10 Gbit/s, and the parameters of ResNet-50."""
NODES = replace(RESNET, node_size=4, inner_link=Link(5e-6, 4e-12))
PAIRS = {
    "gather_crossover": ("ring_all_gather", "ring_all_reduce"),
    "doubling_crossover": ("doubling_all_gather", "doubling_all_reduce"),
    "global_top_k_crossover": ("global_top_k", "ring_all_reduce"),
    "global_top_k_doubling_crossover": ("global_top_k", "doubling_all_reduce"),
    "balanced_crossover": ("balanced_all_reduce", "ring_all_reduce"),
    "hierarchical_crossover": ("hierarchical_gather", "ring_all_reduce"),
}


def chosen(question: Question) -> Any:
    """The choice of the plan: JSON of several kinds."""
    return plan(question).choice


def stated(label: str, question: Question) -> Fraction:
    """The statement where unions grow with k."""
    inner = question.inner_link or question.link
    share = Fraction(question.fresh_share)
    numbers = {
        "n": question.workers,
        "d": question.dimension,
        "doubling_count": (question.workers - 1).bit_length(),
        "value_bytes": question.value_bytes,
        "index_bytes": question.index_bytes,
        "message_seconds": question.link.latency_seconds,
        "byte_seconds": question.link.seconds_per_byte,
        "merge_seconds": question.merge_seconds_per_byte,
        "inner_message_seconds": inner.latency_seconds,
        "inner_byte_seconds": inner.seconds_per_byte,
        "node_workers": question.node_size,
        "node_count": question.workers // question.node_size,
        "union_ratio": 1 + share * (question.workers - 1),
        "node_union_ratio": 1 + share * (question.node_size - 1),
        "kappa": question.density,
    }
    names = {str(parameter.name) for parameter in STATEMENTS[label].parameters}
    # The planner computes with the binary fractions that its floats are; a statement reads a float as a decimal.
    exact = {name: Fraction(number) if isinstance(number, float) else number for name, number in numbers.items()}
    return STATEMENTS[label].fraction(**{name: exact[name] for name in names})


@pytest.mark.parametrize("label", PAIRS)
@pytest.mark.parametrize("fresh_share", [0.0, 0.015625])
def test_densities_are_those_of_the_statements(label: str, fresh_share: float) -> None:
    asked = replace(NODES if label == "hierarchical_crossover" else RESNET, allowed=PAIRS[label])
    asked = replace(asked, fresh_share=fresh_share)
    sparse, dense = choices_by_count(asked)
    assert (sparse.collective, dense.collective) == PAIRS[label]
    assert sparse.end / asked.dimension == stated(label, asked)
    assert chosen(asked)["densities"] == [0, float(stated(label, asked))]


def test_where_all_is_selected_by_somebody_owners_win_up_to_another_density() -> None:
    """U = d from κ = 1/n on: κ* is the larger of both crossovers, here (2β + γ − ρβ)/(ρ(β + γ)) with ρ = 5/4."""
    asked = replace(RESNET, fresh_share=1.0, index_bytes=1, allowed=PAIRS["balanced_crossover"])
    sparse, _ = choices_by_count(asked)
    beta, gamma = Fraction(asked.link.seconds_per_byte), Fraction(asked.merge_seconds_per_byte)
    expected = (2 * beta + gamma - Fraction(5, 4) * beta) / (Fraction(5, 4) * (beta + gamma))
    assert sparse == Stretch("balanced_all_reduce", Fraction(0), expected * asked.dimension)
    assert expected > max(stated("balanced_crossover", asked), Fraction(1, asked.workers))


def test_workers_are_those_of_the_statement() -> None:
    asked = replace(RESNET, density=0.05, allowed=PAIRS["gather_crossover"])
    limit = stated("gather_workers", asked)
    assert chosen(asked)["workers"] == [2, int(limit)]
    assert limit.denominator > 1


def test_an_exact_tie_goes_to_the_first_and_ends_its_range() -> None:
    """With s = j, γ = 0 and α = 0 a ring gathers one of seven entries as soon as it adds all, with seven workers."""
    link = Link(0.0, 1.0)
    pair = ("ring_all_gather", "ring_all_reduce")
    asked = Question(workers=6, dimension=7, density=1 / 7, link=link, allowed=pair)
    assert fastest(asked, 7, 1) == "ring_all_reduce"
    assert workers_with(asked, "ring_all_gather") == (2, 6)
    assert workers_with(replace(asked, workers=7), "ring_all_reduce") == (7, None)


def test_a_tie_in_between_ends_a_range_too() -> None:
    """With eight workers a tree's six vectors of 14 bytes take as long as seven entries of 12; with nine, longer."""
    pair = ("tree_all_reduce", "ring_all_gather")
    asked = Question(8, 2, 0.5, Link(0.0, 1.0), value_bytes=7, index_bytes=5, allowed=pair)
    assert [fastest(asked, workers, 1) for workers in (7, 8, 9)] == ["ring_all_gather", pair[0], "ring_all_gather"]
    assert workers_with(replace(asked, workers=6), "ring_all_gather") == (2, 7)
    assert workers_with(replace(asked, workers=9), "ring_all_gather") == (9, 10)


def test_what_is_faster_by_less_than_roundings_ends_a_range() -> None:
    """(n − 1)(α + S/n) is D(α + S) for n = 8 where α = 17S/32; a trifle more, and the tree is faster there."""
    pair = ("ring_all_reduce", "tree_all_reduce")
    for latency, most in ((17.0, 10), (17.0 + 2**-48, 7)):
        asked = Question(6, 8, 1.0, Link(latency, 1.0), allowed=pair)
        assert workers_with(asked, "ring_all_reduce") == (2, most)


def test_ranges_and_stretches_are_those_of_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collective, "MOST_WORKERS", 24)
    numbers = random.Random(5)
    for _ in range(20):
        asked = small(numbers)
        if not asked.able:
            continue
        stretches = choices_by_count(asked)
        for count in range(1, asked.dimension + 1):
            inside = {one.collective for one in stretches if one.start < count < one.end}
            assert inside <= {fastest(asked, asked.workers, count)}
        name = fastest(asked, asked.workers, asked.count)
        low, high = workers_with(asked, name)
        counts = range(max(asked.node_size, min(2, asked.workers)), 25, asked.node_size)
        same = [fastest(asked, workers, asked.count) == name for workers in counts]
        place = counts.index(asked.workers)
        below = next((at for at in reversed(range(place)) if not same[at]), -1) + 1
        above = next((at for at in range(place, len(counts)) if not same[at]), None)
        if asked.workers > 1:
            assert (low, high) == (counts[below], None if above is None else counts[above - 1])


def test_a_plan_says_what_would_change_it() -> None:
    asked = replace(RESNET, allowed=("ring_all_reduce", "ring_all_gather", "balanced_all_reduce"))
    found = plan(asked)
    assert found.choice["collective"] == "ring_all_gather"
    assert found.choice["is_exact"]
    assert found.binding == ("allowed",)
    low, high = chosen(asked)["densities"]
    assert low == 0 < high
    assert found.remarks[0] == f"above a density of {high:.6g}: balanced_all_reduce"
    faster = {remark.split(",")[0] for remark in found.remarks if "not allowed" in remark}
    assert faster == {"doubling_all_gather", "global_top_k"}
    assert plan(replace(RESNET, allowed=COLLECTIVES)).binding == ()
    assert not plan(replace(RESNET, allowed=COLLECTIVES)).choice["is_exact"]


def test_parts_are_the_whole_and_the_others_are_told() -> None:
    found, choice = plan(NODES), chosen(NODES)
    assert sum(found.parts.values()) == pytest.approx(found.objective, rel=1e-15)
    assert set(choice["seconds"]) == set(EXACT)
    assert min(choice["seconds"].values()) == found.objective
    assert choice["parts"][choice["collective"]] == dict(found.parts)


def test_a_worker_alone_needs_no_time() -> None:
    found = plan(replace(RESNET, workers=1, allowed=("tree_all_reduce",)))
    assert (found.objective, found.choice["workers"]) == (0, [1, 1])
    assert (found.binding, found.remarks) == ((), ())


def test_a_node_alone_stays_inside() -> None:
    asked = replace(NODES, workers=4, allowed=("ring_all_reduce",))
    inside = replace(RESNET, workers=4, allowed=("ring_all_reduce",), link=Link(5e-6, 4e-12))
    assert plan(asked).objective == plan(inside).objective


def test_without_nodes_what_needs_them_is_refused_by_name() -> None:
    with pytest.raises(InfeasibleError, match="allowed: hierarchical_all_reduce, hierarchical_gather need nodes"):
        plan(replace(RESNET, allowed=IN_NODES))


def test_a_map_has_a_row_for_each_density() -> None:
    densities, workers = (1e-4, 0.01, 1.0), (4, 16, 64, 4096)
    found = crossover_map(NODES, densities, workers)
    assert [len(row) for row in found] == [4, 4, 4]
    for row, density in zip(found, densities, strict=True):
        plans = [plan(replace(NODES, density=density, workers=number)) for number in workers]
        assert row == [one.choice["collective"] for one in plans]
    assert len({name for row in found for name in row}) > 2


@pytest.mark.parametrize(
    ("densities", "workers", "fault"),
    [
        ((0.1, 0.0), (4,), "density must lie in (0, 1], got 0.0"),
        ((0.1,), (4, 6), "workers must be whole nodes of 4, got 6"),
    ],
)
def test_a_map_of_nothing_is_refused(densities: tuple[float, ...], workers: tuple[int, ...], fault: str) -> None:
    with pytest.raises(ValueError, match=fault.replace("(", r"\(").replace("]", r"\]")):
        crossover_map(NODES, densities, workers)
