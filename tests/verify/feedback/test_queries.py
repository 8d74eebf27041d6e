"""Bounds as solvers read them: their sides, and a false claim that is not decided."""

from dataclasses import replace

import sympy

from sparsync.verify.feedback import queries
from sparsync.verify.tools.smt import decide


def test_the_sides_of_a_bound_by_hand() -> None:
    numerator, denominator = queries.bound_sides("residual_square", {})
    c, step, energy = (sympy.Symbol(name, real=True) for name in ("compression", "step_size", "second_moment"))
    assert sympy.expand(numerator - (c - 1) ** 2 * step**2 * energy) == 0
    assert denominator == 1


def test_a_claim_that_is_false_is_not_decided() -> None:
    (query,) = queries.lyapunov_queries()
    assert decide(query)
    assert not decide(replace(query, conclusion=query.false_twin))
