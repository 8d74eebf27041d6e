"""Margins are zero where statement and simulation agree, and negative where one of them is off."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from sparsync.verify.cost import collectives, node_collectives
from sparsync.verify.cost.collectives import cases_of, margin_of, numbers_of
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case

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
