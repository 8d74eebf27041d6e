"""How long do the fastest of some workers take whose durations are exponential? What `barriers.py` needs of it.

The first of k takes the mean over k, what is left of a duration is as long as a whole one, and so the waits add up to a
sum of 1/j (Rényi 1953).
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.symbols import awaited_count, mean_duration, n

COUNT = sympy.Symbol("k", integer=True, positive=True)
"""Number of workers."""
TIME = sympy.Symbol("t", positive=True)
"""A time."""


def _survival(time: sympy.Expr) -> sympy.Expr:
    return sympy.exp(-time / mean_duration)


def first_of_many() -> sympy.Expr:
    return sympy.integrate(_survival(TIME) ** COUNT, (TIME, 0, sympy.oo)) - mean_duration / COUNT


def forgets() -> sympy.Expr:
    elapsed = sympy.Symbol("elapsed", positive=True)
    return _survival(elapsed + TIME) / _survival(elapsed) - _survival(TIME)


def expected_wait(workers: sympy.Expr, awaited: sympy.Expr) -> sympy.Expr:
    working = sympy.Symbol("j", integer=True, positive=True)
    return mean_duration * sympy.Sum(1 / working, (working, workers - awaited + 1, workers))


def next_adds() -> sympy.Basic:
    (before,) = expected_wait(n, awaited_count).atoms(sympy.Sum)
    (after,) = expected_wait(n, awaited_count + 1).atoms(sympy.Sum)
    (working, lowest, _), same_end = after.limits[0], after.limits[0][2] == before.limits[0][2]
    gained = mean_duration * after.function.subs(working, lowest) - mean_duration / (n - awaited_count)
    return decided(same_end and before.limits[0][1] - lowest == 1 and sympy.simplify(gained) == 0)


def last_term() -> sympy.Expr:
    left_out = expected_wait(n + 1, n)
    return sympy.expand(sympy.expand_func((expected_wait(n + 1, n + 1) - left_out).doit()) - mean_duration)
