"""A simulation notices a collective that loses something."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from sparsync.theory.cost import collectives, node_collectives
from sparsync.verify.cost.collectives import QUICK, SLOW
from sparsync.verify.cost.simulated import collective_schedules
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case

CASE = Case(
    dimension=12,
    count=Fraction(3),
    union=Fraction(6),
    node_union=Fraction(4),
    value_bytes=Fraction(4),
    index_bytes=Fraction(4),
    link=SLOW,
    inner_link=QUICK,
    merge_seconds=Fraction(1, 11),
    node_count=2,
    node_size=2,
)


def test_every_statement_on_seconds_has_a_simulation() -> None:
    assert set(SIMULATIONS) == {*collectives.STATEMENTS, *node_collectives.STATEMENTS}


@pytest.mark.parametrize("label", SIMULATIONS)
def test_values_do_not_matter_for_seconds(label: str) -> None:
    assert len({SIMULATIONS[label](CASE, random.Random(seed)) for seed in range(3)}) == 1


@pytest.mark.parametrize("label", ["ring_all_gather", "balanced_all_reduce", "hierarchical_all_reduce"])
def test_a_collective_that_stops_early_is_noticed(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = getattr(collective_schedules, label)
    monkeypatch.setattr(collective_schedules, label, lambda *arguments: list(whole(*arguments))[:-1])
    with pytest.raises(ValueError, match="where the sum is"):
        SIMULATIONS[label](CASE, random.Random(0))


def test_a_merge_that_loses_what_it_drops_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = collective_schedules.global_top_k
    monkeypatch.setattr(collective_schedules, "global_top_k", lambda stores, kept, _dropped: whole(stores, kept, []))
    with pytest.raises(ValueError, match="4 workers merge"):
        SIMULATIONS["global_top_k"](CASE, random.Random(0))


def test_two_schedules_of_one_statement_that_differ_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = collective_schedules.ring_all_gather
    name = "recursive_doubling_all_gather"
    monkeypatch.setattr(collective_schedules, name, lambda stores: ring(stores, range(len(stores))))
    with pytest.raises(ValueError, match="and by recursive doubling in"):
        SIMULATIONS["doubling_all_gather"](CASE, random.Random(0))
