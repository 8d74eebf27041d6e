"""Quadrature notices a law that is wrong by a hundred roundings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.laws.quadrature import MAGNITUDES, as_fraction, quadrature_check, quotients
from sparsync.verify.tools.outcome import Profile

TINY = Profile(dimensions=(2,), examples_count=20)


def make_wrong(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = STATEMENTS[label].relation
    wrong = relation.func(relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=wrong))


@pytest.mark.parametrize("label", MAGNITUDES)
def test_a_law_that_is_slightly_wrong_is_caught_by_quadrature(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative change of 10⁻¹⁴, a hundred roundings."""
    few = replace(MAGNITUDES[label], cases=MAGNITUDES[label].cases[-1:], levels=(0.75,))
    monkeypatch.setitem(MAGNITUDES, label, few)
    assert quadrature_check(TINY, label=label).earned
    make_wrong(label, STATEMENTS[label].bound * (1 + sympy.Rational(1, 10**14)), monkeypatch)
    assert not quadrature_check(TINY, label=label).earned


def test_quadrature_knows_the_exponential_law() -> None:
    found = quotients(MAGNITUDES["laplace_law"], {}, 1.0)
    expected = 1 - mpmath.mpf(5) / 2 * mpmath.exp(-1)
    assert abs(found.share - mpmath.exp(-1)) < 1e-15
    assert abs(found.ratio - expected) < 1e-15
    assert found.ratio_error < 1e-20


def test_a_binary_number_is_its_own_fraction() -> None:
    assert as_fraction(mpmath.mpf("-0.75")) == Fraction(-3, 4)
    assert as_fraction(mpmath.mpf(6)) == 6
