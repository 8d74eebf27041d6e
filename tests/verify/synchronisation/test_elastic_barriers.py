"""Planned barriers and capped leads a second time: by hand, and where they attain the bounds."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.synchronisation.elastic_barriers import (
    capped,
    capped_runs,
    closest,
    largest_lead,
    lead_margin,
    swept_range,
)
from sparsync.verify.synchronisation.event_simulation import run
from sparsync.verify.tools.outcome import Profile
from sparsync.verify.tools.properties import search_margin

SMALL = Profile(dimensions=(), examples_count=40)


def test_a_bound_on_the_wait_that_nothing_attains_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    check, statement = CHECKS["zipline_two_workers"]["rational"], STATEMENTS["zipline_two_workers"]
    assert check(SMALL).earned
    relation = sympy.Le(statement.relation.lhs, statement.bound * sympy.Rational(5, 4), evaluate=False)
    monkeypatch.setitem(STATEMENTS, "zipline_two_workers", replace(statement, relation=relation))
    assert not check(SMALL).earned


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([[1, 4], [2, 6]], 1),
        ([[1, 10], [4, 11], [8, 30]], 3),
        ([[5], [1, 2, 9]], 3),
        # Without the last time of the first worker, the others are closer to each other.
        ([[1], [5, 6], [6, 7]], 5),
    ],
)
def test_the_sweep_by_hand(times: list[list[int]], expected: int) -> None:
    assert swept_range(times) == expected


def test_multiples_of_two_durations_by_hand() -> None:
    assert closest(Fraction(2), Fraction(3), 3) == 0
    assert closest(Fraction(2), Fraction(3), 2) == 1


@pytest.mark.parametrize(("size", "expected"), [((2, 0, 0), 1), ((2, 1, 2), 4), ((3, 0, 2), 3)])
def test_some_schedule_attains_the_lead(size: tuple[int, int, int], expected: int) -> None:
    assert largest_lead(*size) == expected


def test_a_permission_that_never_comes_leaves_the_lower_staleness() -> None:
    durations = [[Fraction(1)] * 8, [Fraction(40)] * 8]
    assert max(run(durations, capped(2, 3, [False])).leads) == 3
    assert max(run(durations, capped(2, 3, [True])).leads) == 6


def test_a_search_reaches_the_lead() -> None:
    assert search_margin(lead_margin, capped_runs(), max_examples=100).smallest_margin == 0
