"""The slope of the shifted law: taken of the law, and a wrong one is caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws.formulas import CHECKS, shifted_ratio
from sparsync.verify.tools.outcome import Profile

TINY = Profile(dimensions=(2,), examples_count=20)


def make_wrong(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = STATEMENTS[label].relation
    wrong = relation.func(relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=wrong))


def test_a_wrong_slope_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    check = CHECKS["shifted_gaussian_slope"]["numeric"]
    assert check(TINY).earned
    bound = STATEMENTS["shifted_gaussian_slope"].bound
    make_wrong("shifted_gaussian_slope", bound * (1 + sympy.Rational(1, 10**14)), monkeypatch)
    assert not check(TINY).earned


def test_the_difference_quotient_is_taken_of_the_law() -> None:
    with mpmath.workdps(40):
        expected = STATEMENTS["shifted_gaussian_law"].evaluate(kappa=Fraction(1, 8), mean=2.5)
        assert float(shifted_ratio(Fraction(1, 8), mpmath.mpf(2.5))) == pytest.approx(expected, rel=1e-15)
