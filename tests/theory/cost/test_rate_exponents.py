"""The exponent of the tight rate: against the rate itself, and with a broken root."""

from __future__ import annotations

import pytest
import sympy

from sparsync.theory.cost import rate_exponents
from sparsync.theory.cost.rate_exponents import exponent_is_convex, gap_root, largest_exponent, root_grows, root_of_rate
from sparsync.theory.language.symbols import L, epsilon, mu
from sparsync.theory.statements import STATEMENTS


def test_the_root_is_that_of_the_stated_rate() -> None:
    numbers = {mu: 1, L: 3, epsilon: sympy.Rational(1, 9)}
    theta = sympy.sqrt(STATEMENTS["ef_tight_rate"].bound.subs(numbers))
    kept = gap_root().subs({rate_exponents._THETA: theta, rate_exponents._SPREAD: sympy.Rational(1, 2)})
    assert sympy.simplify(kept - sympy.Rational(1, 3)) == 0


def test_the_largest_exponent_is_that_of_plain_descent() -> None:
    rate = STATEMENTS["ef_tight_rate"].bound.subs(epsilon, 0)
    at = {mu: 1, L: 3}
    assert sympy.simplify(largest_exponent().subs(at) + sympy.log(rate.subs(at))) == 0


def test_a_broken_root_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert root_grows() == exponent_is_convex() == sympy.true
    assert root_of_rate() == 0
    monkeypatch.setattr(rate_exponents, "gap_root", lambda: rate_exponents._THETA)
    assert root_grows() == sympy.false
    assert root_of_rate() != 0
