"""Which bounds is a bound that is the smaller of two? One check of each, where a method knows no minima. Ours."""

import sympy


def alternatives(bound: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """What the bound is with each of the arguments of its minimum; itself if it has none."""
    smallest = next(iter(bound.atoms(sympy.Min)), None)
    return (bound,) if smallest is None else tuple(bound.xreplace({smallest: each}) for each in smallest.args)
