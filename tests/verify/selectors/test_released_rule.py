"""The checks of the released rule notice statements and moves that are wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import (
    pass_count,
    window_ratio,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.selectors import released_rule
from sparsync.verify.selectors.released_rule import CHECKS
from sparsync.verify.tools.outcome import Grade, Profile

TINY = Profile(dimensions=(2, 3), examples_count=30)


@pytest.mark.parametrize(
    ("label", "grade", "wrong"),
    [
        ("released_reachable", "property", pass_count**2),
        ("released_starts", "property", pass_count * sympy.log(window_ratio)),
        ("released_reachable", "smt", pass_count**2),
        ("released_reachable", "simulated", pass_count**2),
    ],
)
def test_a_wrong_statement_loses_the_grade(
    label: str, grade: Grade, wrong: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation = sympy.Eq(sympy.Symbol("stated"), wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=relation))
    assert not CHECKS[label][grade](TINY).earned


def test_the_rule_in_fractions_is_traced_by_hand() -> None:
    """8 → 4 → 6 → 3 in [3, 4), since 8, 4, 6 are at least 4; 1 → 3/2 → 9/4 → 27/8."""
    window = (Fraction(3), Fraction(4))
    assert released_rule.passes_to(window, Fraction(8), 3) is None
    assert released_rule.passes_to(window, Fraction(1), 4) == 4
    assert released_rule.passes_to(window, Fraction(1), 3) is None
    assert released_rule.passes_to((Fraction(5), Fraction(7)), Fraction(8), 3) == 3


def test_a_rule_with_other_moves_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_rule, "multiples", lambda passes: {Fraction(1, 2**j): j + 1 for j in range(passes)})
    assert not CHECKS["released_reachable"]["property"](Profile(dimensions=(), examples_count=100)).earned
    assert not CHECKS["released_reachable"]["simulated"](TINY).earned


def test_some_vectors_are_accepted_and_some_are_not() -> None:
    detail = CHECKS["released_reachable"]["simulated"](TINY).detail
    assert 0 < int(str(detail["accepted_count"])) < int(str(detail["vectors_count"]))
