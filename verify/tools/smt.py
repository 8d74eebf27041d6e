"""Is an algebraic side condition true for all real values? z3 decides the negation, cvc5 gives a second opinion.

A query is a claim "premises imply conclusion" in polynomials, written once in sympy. Each comes with a twin that is
false: both solvers must refute the claim's negation (unsat) and must find a counterexample to the twin (sat), so that
a translation that proves anything would be noticed. Ours; z3: de Moura and Bjørner 2008; cvc5: Barbosa et al. 2022.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cvc5.pythonic as cvc5
import sympy
import z3
from sympy.core.relational import Relational

from sparsync.verify.tools.outcome import Check, Outcome, Profile

TIMEOUT_MILLISECONDS = 60_000
"""After this time a solver answers `unknown`, which earns nothing."""


_OPERATORS = {
    sympy.StrictGreaterThan: operator.gt,
    sympy.GreaterThan: operator.ge,
    sympy.StrictLessThan: operator.lt,
    sympy.LessThan: operator.le,
    sympy.Equality: operator.eq,
    sympy.Unequality: operator.ne,
}


@dataclass(frozen=True)
class Query:
    """A claim about real numbers and a similar claim that is false.

    Args:
        claim: in words.
        premises: polynomial conditions on the symbols.
        conclusion: what follows from them.
        false_twin: a conclusion that does not follow from the same premises.
    """

    claim: str
    premises: tuple[Relational, ...]
    conclusion: Relational
    false_twin: Relational


def smt_check(*parts: Query | Callable[[], Sequence[Query]]) -> Check:
    """The grade `smt`: every claim is proved and every twin refuted, by both solvers.

    Args:
        parts: queries, or functions that make them from the bounds as they stand when the check runs.
    """

    def check(_profile: Profile) -> Outcome:
        queries = [query for part in parts for query in ((part,) if isinstance(part, Query) else part())]
        failed = [query.claim for query in queries if not decide(query)]
        return Outcome(
            earned=bool(queries) and not failed,
            detail={"queries_count": len(queries), "failed_claims": failed},
        )

    return check


def decide(query: Query) -> bool:
    """True iff both solvers prove the claim and find a counterexample to its twin."""
    return all(
        solver(query.premises, query.conclusion) == "unsat" and solver(query.premises, query.false_twin) == "sat"
        for solver in (z3_status, cvc5_status)
    )


def z3_status(premises: Sequence[Relational], conclusion: Relational) -> str:
    """What z3 says of "premises and not conclusion": unsat (the claim holds), sat (it does not) or unknown."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("timeout", TIMEOUT_MILLISECONDS)
    return _status(_Language(z3, context), solver, premises, conclusion)


def cvc5_status(premises: Sequence[Relational], conclusion: Relational) -> str:
    """What cvc5 says of "premises and not conclusion": unsat (the claim holds), sat (it does not) or unknown."""
    context = cvc5.Context()
    solver = cvc5.SolverFor("QF_NRA", ctx=context)
    # Cylindrical algebraic covering: a decision procedure, where the default for products may not end.
    solver.set("nl-cov", "true")
    solver.set("tlimit-per", str(TIMEOUT_MILLISECONDS))
    return _status(_Language(cvc5, context), solver, premises, conclusion)


@dataclass(frozen=True)
class _Language:
    """A solver's terms, in a context of their own: what was asked before must not change an answer."""

    module: Any
    context: Any

    def variable(self, name: str) -> Any:
        return self.module.Real(name, self.context)

    def number(self, value: object) -> Any:
        return self.module.RealVal(str(value), self.context)

    def truth(self, value: bool) -> Any:
        return self.module.BoolVal(value, self.context)


def _status(language: _Language, solver: Any, premises: Sequence[Relational], conclusion: Relational) -> str:
    conditions = (*premises, sympy.Not(conclusion))
    symbols = sorted(set().union(*(condition.free_symbols for condition in conditions)), key=str)
    variables = {symbol: language.variable(f"x{position}") for position, symbol in enumerate(symbols)}
    for condition in conditions:
        solver.add(_relation(language, condition, variables))
    return str(solver.check())


def _relation(language: _Language, relation: Relational, variables: dict[sympy.Symbol, Any]) -> Any:
    if relation in (sympy.true, sympy.false):
        # sympy has decided it already, from the assumptions of the symbols.
        return language.truth(relation == sympy.true)
    if type(relation) not in _OPERATORS:
        raise ValueError(f"a query is made of comparisons of polynomials, got {relation}")
    left, right = (_polynomial(language, side, variables) for side in relation.args)
    return _OPERATORS[type(relation)](left, right)


def _polynomial(language: _Language, expression: sympy.Expr, variables: dict[sympy.Symbol, Any]) -> Any:
    """The expression as a sum of products, which both solvers read alike.

    Raises:
        ValueError: the expression is not a polynomial with rational coefficients.
    """
    generators = tuple(variables)
    try:
        terms = sympy.Poly(expression, *generators, domain="QQ").terms() if generators else [((), expression)]
    except sympy.PolynomialError as error:
        raise ValueError(f"not a polynomial with rational coefficients: {expression}") from error
    total = language.number(0)
    for powers, coefficient in terms:
        term = language.number(coefficient)
        for symbol, power in zip(generators, powers, strict=True):
            for _ in range(power):
                term = term * variables[symbol]
        total = total + term
    return total
