"""A query is decided only if both solvers prove the claim and refute its false twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import sympy
from sympy.core.relational import Relational

from sparsync.verify.contraction.samples import law_queries
from sparsync.verify.contraction.shapes import exponent_queries, lorenz_queries
from sparsync.verify.contraction.ties_and_layers import tie_queries
from sparsync.verify.tools import smt
from sparsync.verify.tools.outcome import PROFILES
from sparsync.verify.tools.smt import Query, cvc5_status, decide, smt_check, z3_status

x, y = sympy.symbols("x y", real=True)
STATUSES = (z3_status, cvc5_status)
MEANS = Query(
    claim="arithmetic and geometric mean",
    premises=(x >= 0, y >= 0),
    conclusion=sympy.Ge((x + y) ** 2, 4 * x * y),
    false_twin=sympy.Ge((x + y) ** 2, 5 * x * y),
)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(
    ("conclusion", "expected"),
    [
        (sympy.Ge(x**2, 0), "unsat"),
        (sympy.Gt(x**2, 0), "sat"),
        (sympy.Ne(x**2, 2), "sat"),
        (sympy.Lt(x**3 - x * y, sympy.Rational(1, 3)), "sat"),
        (sympy.Eq((x + y) ** 2 - x**2 - 2 * x * y, y**2), "unsat"),
        (sympy.Le(2 * x * y, x**2 + y**2), "unsat"),
    ],
)
def test_solvers_decide_polynomials(
    status: Callable[[Sequence[Relational], Relational], str], conclusion: Relational, expected: str
) -> None:
    assert status((), conclusion) == expected


@pytest.mark.parametrize("status", STATUSES)
def test_rational_coefficients_reach_the_solver_exactly(
    status: Callable[[Sequence[Relational], Relational], str],
) -> None:
    third = sympy.Rational(1, 3)
    assert status((sympy.Eq(3 * x, 1),), sympy.Eq(x, third)) == "unsat"
    assert status((sympy.Eq(3 * x, 1),), sympy.Eq(x, third + sympy.Rational(1, 10**30))) == "sat"


def test_a_true_claim_with_a_false_twin_is_decided() -> None:
    assert decide(MEANS)


@pytest.mark.parametrize(
    ("conclusion", "twin"),
    [(MEANS.false_twin, MEANS.false_twin), (MEANS.conclusion, MEANS.conclusion)],
    ids=["false claim", "true twin"],
)
def test_a_false_claim_or_a_true_twin_is_not(conclusion: Relational, twin: Relational) -> None:
    assert not decide(Query("wrong", MEANS.premises, conclusion, twin))


@pytest.mark.parametrize("solver", ["z3_status", "cvc5_status"])
def test_one_solver_that_does_not_know_is_not_a_proof(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, solver, lambda _premises, _conclusion: "unknown")
    assert not decide(MEANS)


def test_the_grade_names_the_claims_that_fail() -> None:
    wrong = Query("a false claim", MEANS.premises, MEANS.false_twin, MEANS.false_twin)
    outcome = smt_check(MEANS, wrong)(PROFILES["smoke"])
    assert not outcome.earned
    assert outcome.detail == {"queries_count": 2, "failed_claims": ["a false claim"]}
    assert smt_check(MEANS)(PROFILES["smoke"]).earned
    assert not smt_check()(PROFILES["smoke"]).earned


@pytest.mark.parametrize("conclusion", [sympy.Ge(sympy.sqrt(x), 0), sympy.Ge(sympy.sin(x), 0), sympy.Ge(1 / x, 0)])
@pytest.mark.parametrize("status", STATUSES)
def test_what_is_no_polynomial_is_refused(
    status: Callable[[Sequence[Relational], Relational], str], conclusion: Relational
) -> None:
    with pytest.raises(ValueError, match="polynomial"):
        status((), conclusion)


def test_what_was_asked_before_does_not_change_an_answer() -> None:
    # With one context for all queries cvc5 answered `unknown` to the second law query after these.
    queries = (*exponent_queries(), *lorenz_queries(), *tie_queries(), *law_queries())
    assert all(decide(query) for query in queries)
