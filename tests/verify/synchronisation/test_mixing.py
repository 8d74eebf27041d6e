"""Mixing in groups a second time: by hand, by search, in a policy that runs, and with a sign that is wrong."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.ds_sync import DsSync
from sparsync.theory.language.symbols import eta
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Mixed
from sparsync.verify.synchronisation.mixing import (
    after_digits,
    averaged,
    digit_groups,
    digit_margin,
    disagreement_margin,
    mean_margin,
    mean_queries,
    spread,
    training_cases,
)
from sparsync.verify.tools.properties import search_margin
from sparsync.verify.tools.smt import decide


def test_a_search_reaches_the_disagreement() -> None:
    assert search_margin(disagreement_margin, training_cases(), max_examples=60).smallest_margin == 0


def test_rows_then_columns_reach_the_mean_and_rows_alone_do_not() -> None:
    values = [Fraction(value) for value in (0, 4, 8, 20)]
    rows = averaged(values, (2, 2), by_rows=True)
    assert rows == [2, 2, 14, 14]
    assert averaged(rows, (2, 2), by_rows=False) == [8] * 4
    assert spread(values) == 56


def test_digits_by_hand() -> None:
    """Six workers are numbered in digits of two and three values."""
    assert digit_groups((2, 3), 0) == [[0, 1], [2, 3], [4, 5]]
    assert digit_groups((2, 3), 1) == [[0, 2, 4], [1, 3, 5]]
    assert after_digits((2, 3), (1,), 2) == [Fraction(1, 3), 0] * 3
    assert after_digits((2, 3), (1, 0), 2) == [Fraction(1, 6)] * 6
    assert digit_margin((2, 3), (1, 0), 2) == 0
    # A digit of one value needs no round of its own.
    assert digit_margin((2, 1), (0, 1), 0) == 0


@pytest.mark.parametrize(
    ("workers", "rack_size", "group_size", "bases"),
    [(8, 4, 2, (2, 2, 2)), (12, 6, 3, (3, 2, 2)), (8, 4, None, (4, 2))],
)
def test_a_policy_mixes_by_the_digits_of_the_statement(
    workers: int, rack_size: int, group_size: int | None, bases: tuple[int, ...]
) -> None:
    run = Simulation(DsSync(group_size, rack_size), Cluster(workers), Horizon(steps=len(bases)))
    run.run()
    for place in range(len(bases)):
        mixed = [event.members for event in run.trace if isinstance(event, Mixed) and event.time == place + 1]
        assert sorted(mixed) == list(map(tuple, digit_groups(bases, place)))


def test_weights_that_favour_one_sender_move_the_mean() -> None:
    own = [(Fraction(0), Fraction(0), Fraction(1)), (Fraction(0), Fraction(0), Fraction(0))]
    assert mean_margin([((1, 0), 1)], Fraction(1), Fraction(1), own) == 0
    # Both read the first worker: columns no longer sum to 1.
    assert mean_margin([((0, 0), 1)], Fraction(1), Fraction(1), own) == -Fraction(1, 2)


def test_a_sign_in_the_mean_is_refuted_by_both_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(decide, mean_queries()))
    statement = STATEMENTS["mixing_mean"]
    wrong = sympy.Eq(statement.relation.lhs, statement.bound.subs(eta, -eta))
    monkeypatch.setitem(STATEMENTS, "mixing_mean", replace(statement, relation=wrong))
    assert not any(map(decide, mean_queries()))
