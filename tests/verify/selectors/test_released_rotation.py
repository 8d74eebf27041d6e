"""The checks of the passes without a limit notice statements that are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy

from sparsync.theory.language.statement import Statement
from sparsync.theory.language.symbols import (
    fall_count,
    rise_count,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.selectors.released_rotation import CHECKS
from sparsync.verify.tools.outcome import Grade, Profile

TINY = Profile(dimensions=(2, 3), examples_count=30)


@pytest.mark.parametrize(
    ("label", "grade", "wrong"),
    [
        ("released_passes", "property", sympy.Integer(2)),
        ("released_passes", "rational", STATEMENTS["released_passes"].bound + 1),
        ("released_passes", "rational", STATEMENTS["released_passes"].bound - 1),
        ("released_worst_passes", "smt", rise_count + fall_count - 1),
        ("released_worst_passes", "rational", rise_count + fall_count + 1),
        ("released_worst_passes", "property", rise_count + fall_count - 1),
    ],
)
def test_a_wrong_statement_loses_the_grade(
    label: str, grade: Grade, wrong: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation = sympy.Eq(sympy.Symbol("stated"), wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=relation))
    assert not CHECKS[label][grade](TINY).earned


def scaled(label: str, factor: sympy.Rational) -> Statement:
    """The statement with a multiple of its bound."""
    relation = STATEMENTS[label].relation
    return replace(STATEMENTS[label], relation=type(relation)(relation.lhs, factor * relation.rhs, evaluate=False))


@pytest.mark.parametrize(
    "label",
    [
        "released_passes",
    ],
)
def test_a_weaker_bound_is_still_proved_by_the_solvers(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATEMENTS, label, scaled(label, sympy.Rational(17, 16)))
    assert CHECKS[label]["smt"](TINY).earned
