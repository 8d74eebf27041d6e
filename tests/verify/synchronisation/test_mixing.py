"""Mixing on a grid a second time: by hand, by search, and with a sign that is wrong."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import eta
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.synchronisation.mixing import (
    averaged,
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
