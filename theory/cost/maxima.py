"""Are two expressions in sums and maxima the same? They are if they are the largest of the same terms.

What begins as soon as two others have ended begins at a maximum; recursions of such times are proved by their terms.
"""

import sympy

from sparsync.theory.delay.stability import decided

_MORE = sympy.Symbol("more", nonnegative=True)


def terms(expression: sympy.Expr) -> set[sympy.Expr]:
    """The terms of which an expression in maxima and sums is the largest, expanded."""
    if isinstance(expression, sympy.Max):
        return set().union(*(terms(term) for term in expression.args))
    if isinstance(expression, sympy.Add) and expression.has(sympy.Max):
        first, *rest = expression.args
        return {sympy.expand(one + other) for one in terms(first) for other in terms(sympy.Add(*rest))}
    return {sympy.expand(expression)}


def same_maximum(first: sympy.Expr, second: sympy.Expr) -> sympy.Basic:
    """Whether two expressions are the largest of the same terms."""
    return decided(terms(first) == terms(second))


def ordered(expression: sympy.Expr) -> sympy.Expr:
    """The expression with each maximum of two of which one is seen to be larger replaced by that one."""

    def larger(first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
        difference = sympy.factor(first - second)
        return first if difference.is_nonnegative else second if difference.is_nonpositive else sympy.Max(first, second)

    return sympy.expand(expression.replace(sympy.Max, larger))


def agree_in_both_orders(first: sympy.Expr, second: sympy.Expr, one: sympy.Symbol, other: sympy.Symbol) -> sympy.Basic:
    """Whether two expressions are equal where `one` exceeds `other` by anything, and where `other` exceeds `one`."""
    orders = ({one: other + _MORE}, {other: one + _MORE})
    return decided(all(sympy.expand((first - second).subs(order)) == 0 for order in orders))
