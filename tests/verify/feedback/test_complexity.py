"""The evidence for the crossovers: wrong ones are noticed, the largest step by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback import complexity

ONE, ZERO = Fraction(1), Fraction(0)


@pytest.mark.parametrize("factor", [sympy.Rational(15, 16), sympy.Rational(17, 16)])
def test_a_crossover_where_the_rates_are_not_in_the_quotient_stated_is_noticed(
    factor: sympy.Rational, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS["crossover_variance"]
    wrong = sympy.Eq(statement.relation.lhs, factor * statement.bound)
    monkeypatch.setitem(STATEMENTS, "crossover_variance", replace(statement, relation=wrong))
    assert complexity.constant_cost_margin(Fraction(1, 2), ONE, ONE, ONE, ONE) == -Fraction(1, 16)


def test_the_quotient_of_the_rates_at_the_crossover_by_hand() -> None:
    # a = 1/2, L = 1, √T* = 5/2: 1 − ηL/2 = 4/5 and 1 − 3η/2 = 2/5, so that noise alone has the quotient 3 = 2(1 + a).
    margin = complexity.constant_cost_margin(Fraction(1, 2), ONE, ZERO, ONE, ONE)
    assert margin == 0


def test_at_the_largest_stable_step_error_feedback_flips_its_sign() -> None:
    """(e, x) = (1, y) is mapped to −(1, y), with C(u) = 3u/2 and L = 2."""
    step = complexity.largest_stable_step(Fraction(1, 2), Fraction(2))
    assert step == Fraction(1, 3)
    # −(1 + 2y/3)/2 = −1 gives y = 3/2, and x⁺ = 3/2 − (3/2)(1 + 1) = −3/2.
    corrected = 1 + step * 2 * Fraction(3, 2)
    assert -corrected / 2 == -1
    assert Fraction(3, 2) - Fraction(3, 2) * corrected == -Fraction(3, 2)
