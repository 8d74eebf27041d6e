"""Barriers a second time: a link, awaited workers and commits by hand, and statements that are wrong."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import mean_duration, message_size
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.synchronisation.barriers import (
    expected_order_statistic,
    iteration_times,
    wait_deviation,
    waiting_share_of,
)
from sparsync.verify.tools.outcome import Profile

SMALL = Profile(dimensions=(), examples_count=40)


def test_a_link_by_hand() -> None:
    # Two workers, ten bytes at two per unit of time: four of them pass while the next gradient is computed.
    times = iteration_times(Fraction(5), 2, Fraction(10), Fraction(4), Fraction(2))
    assert times == [11, 11, 11, 11]
    assert iteration_times(Fraction(1), 2, Fraction(10), Fraction(4), Fraction(2))[1:] == [10, 10, 10]


def test_the_second_of_two_exponential_times_by_hand() -> None:
    assert expected_order_statistic(2, 2) == Fraction(3, 2)
    assert expected_order_statistic(3, 2) == Fraction(5, 6)


def test_the_simulation_tells_awaited_workers_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(wait_deviation(8, 6)) < 4.5
    relation = sympy.Eq(STATEMENTS["backup_waiting"].relation.lhs, mean_duration * STATEMENTS["backup_waiting"].bound)
    monkeypatch.setitem(STATEMENTS, "backup_waiting", replace(STATEMENTS["backup_waiting"], relation=relation))
    assert abs(wait_deviation(8, 6)) > 100


def test_a_worker_that_commits_as_soon_as_it_may_by_hand() -> None:
    assert waiting_share_of(Fraction(3), Fraction(1), [Fraction(1)], Fraction(8)) == Fraction(1, 4)
    assert waiting_share_of(Fraction(3), Fraction(1), [Fraction(2)], Fraction(5)) == Fraction(1, 5)
    assert waiting_share_of(Fraction(3), Fraction(1), [Fraction(2)], Fraction(4)) == 0


def test_messages_of_twice_the_size_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS["osp_time"]
    wrong = sympy.Eq(statement.relation.lhs, statement.bound.subs(message_size, 2 * message_size))
    monkeypatch.setitem(STATEMENTS, "osp_time", replace(statement, relation=wrong))
    assert not any(check(SMALL).earned for check in CHECKS["osp_time"].values())
