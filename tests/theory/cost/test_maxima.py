"""Expressions in sums and maxima are told apart by their terms."""

from __future__ import annotations

import sympy

from sparsync.theory.cost.maxima import agree_in_both_orders, ordered, same_maximum, terms

X, Y, Z = sympy.symbols("x y z", nonnegative=True)


def test_a_sum_of_maxima_is_the_largest_of_all_sums_of_their_terms() -> None:
    expression = Z + sympy.Max(X, Y, evaluate=False) + sympy.Max(2 * X, Z, evaluate=False)
    assert terms(expression) == {3 * X + Z, X + 2 * Z, 2 * X + Y + Z, Y + 2 * Z}
    assert same_maximum(expression, sympy.Max(*terms(expression))) == sympy.true


def test_a_term_too_many_is_another_maximum() -> None:
    assert same_maximum(sympy.Max(X, Y), sympy.Max(X, Y, Z)) == sympy.false


def test_the_larger_of_two_is_seen_where_its_sign_is() -> None:
    assert ordered(sympy.Max(X + Y, X + 2 * Y, evaluate=False)) == X + 2 * Y
    assert ordered(sympy.Max(X, Y) + 1) == sympy.Max(X, Y) + 1


def test_what_agrees_in_one_order_alone_does_not_agree() -> None:
    assert agree_in_both_orders(sympy.Max(X, Y), (X + Y + sympy.Abs(X - Y)) / 2, X, Y) == sympy.true
    assert agree_in_both_orders(sympy.Max(X, Y), X, X, Y) == sympy.false
