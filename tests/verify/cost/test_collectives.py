"""Margins are zero where statement and simulation agree, and negative where one of them is off."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from sparsync.verify.cost import collectives, node_collectives
from sparsync.verify.cost.collectives import assumed, cases_of, margin_of, numbers_of, stated
from sparsync.verify.cost.simulated import collective_schedules as schedules
from sparsync.verify.cost.simulated.schedules import Block, play
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case
from sparsync.verify.cost.simulated.supports import with_values

LABELS = (*collectives.CHECKS, *node_collectives.CHECKS)


@pytest.mark.parametrize("label", LABELS)
def test_a_simulation_that_takes_longer_is_seen(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (case, *_) = cases_of(6, 2, 3) if label in node_collectives.CHECKS else cases_of(3, 1, 3)
    margin = margin_of(label)
    assert margin(case, 1) == 0
    right: Callable[[Case, random.Random], Fraction] = SIMULATIONS[label]
    monkeypatch.setitem(SIMULATIONS, label, lambda *arguments: right(*arguments) + Fraction(1, 1000))
    assert margin(case, 1) == -Fraction(1, 1000)


def test_numbers_are_those_of_the_case() -> None:
    (case, *_) = cases_of(6, 2, 3)
    numbers = numbers_of(case)
    assert (numbers["n"], numbers["node_workers"], numbers["node_count"], numbers["doubling_count"]) == (6, 2, 3, 3)
    assert (numbers["k"], numbers["node_union_size"], numbers["union_size"]) == (4, 7, 10)


def test_parts_and_regions_are_those_assumed() -> None:
    (case, *_) = cases_of(3, 1, 3)
    assert assumed("ring_all_reduce", case) == assumed("balanced_all_reduce", case) == case
    assert assumed("ring_all_gather", case) is not case


@pytest.mark.parametrize("counts", [(4, 1, 1), (1, 4, 2, 1), (2, 0, 5, 5, 1)])
def test_on_a_ring_payloads_take_what_they_would_if_all_were_as_long_as_the_longest(counts: tuple[int, ...]) -> None:
    (case, *_) = cases_of(len(counts), 1, 0)
    supports = [
        [Block(10 * worker + place, Fraction(1)) for place in range(size)] for worker, size in enumerate(counts)
    ]
    stores = with_values(supports, random.Random(0))
    seconds = play(stores, schedules.ring_all_gather(stores, range(len(counts))), case.flat)
    assert seconds == stated("ring_all_gather", {**numbers_of(case), "k": max(counts)})
