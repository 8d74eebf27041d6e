from collections.abc import Iterable
from dataclasses import replace

import pytest
import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, k, ratio
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.contraction.ladder import certified_cases
from sparsync.verify.contraction.margins import MARGINS
from sparsync.verify.contraction.solution import WorstCase
from sparsync.verify.contraction.weights import CLASS_WEIGHTS
from sparsync.verify.contraction.worst_case import SOLVERS, Rows, worst_cases
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.evidence import Row, collect
from sparsync.verify.tools.outcome import EXACT_GRADES, GRADES, PROFILES, Grade, Outcome, Profile
from tests.support.slow_cases import LONG, slow_except

TINY = Profile(dimensions=(2, 3), examples_count=8)
"""Enough where a statement is right; that a wrong one is noticed is the claim of `test_mutants.py`, with more."""


@pytest.fixture(autouse=True)
def _solved_anew() -> None:
    certified_cases.cache_clear()


SAMPLE = {next(label for label in family if label not in LONG) for family in FAMILIES.values() if {*family} - LONG}
"""One of each family: `make reproduce` runs all derivations and checks, and `.ci/run` does that twice."""


@pytest.mark.parametrize("label", slow_except(SAMPLE, STATEMENTS))
def test_every_statement_earns_every_grade_that_applies(label: str) -> None:
    """Tests of a family try what must fail."""
    row = collect(label, TINY)
    assert row.lost == ()
    assert set(row.earned) == {"symbolic", *CHECKS[label]}
    assert len(row.earned) >= 2
    assert EXACT_GRADES & set(row.earned)


def test_every_check_belongs_to_a_statement() -> None:
    assert set(CHECKS) == set(STATEMENTS)


def test_every_long_statement_exists() -> None:
    assert set(STATEMENTS) >= LONG


@pytest.mark.parametrize("label", CLASS_WEIGHTS)
def test_statements_about_top_k_have_exact_certificates(label: str) -> None:
    assert set(CHECKS[label]) == {"rational", "numeric", "property"}


def test_grades_are_listed_strongest_first() -> None:
    outcomes: dict[Grade, Outcome] = {grade: Outcome(earned=True, detail={}) for grade in reversed(GRADES)}
    assert Row(label="any", outcomes=outcomes).earned == GRADES


def test_a_grade_that_is_not_earned_is_lost() -> None:
    outcomes: dict[Grade, Outcome] = {
        "property": Outcome(earned=False, detail={}),
        "symbolic": Outcome(earned=True, detail={}),
    }
    row = Row(label="any", outcomes=outcomes)
    assert (row.earned, row.lost) == (("symbolic",), ("property",))


@pytest.mark.parametrize(
    ("wrong", "lost"),
    [
        pytest.param(1 - (k + 1) / d, ("rational", "numeric", "property"), id="one coordinate more"),
        pytest.param((1 - k / d) ** 2, ("rational", "numeric", "property"), id="a larger exponent"),
        pytest.param(1 - k / (d + 1), ("rational",), id="true but not sharp"),
    ],
)
def test_a_wrong_bound_loses_grades(wrong: sympy.Expr, lost: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    relation = sympy.Le(ratio, wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, "top_k", replace(STATEMENTS["top_k"], relation=relation))
    assert collect("top_k", TINY).lost == ("symbolic", *lost)


@pytest.mark.parametrize("disagreeing", SOLVERS)
def test_a_solver_that_disagrees_loses_the_numeric_grade(disagreeing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def inaccurate(rows: Rows, counts: Iterable[int], *, solver: str = "CLARABEL") -> tuple[WorstCase, ...]:
        error = 1e-5 if solver == disagreeing else 0.0
        solutions = worst_cases(rows, counts, solver=solver)
        return tuple(replace(solution, optimum=solution.optimum + error) for solution in solutions)

    monkeypatch.setattr("sparsync.verify.contraction.ladder.worst_cases", inaccurate)
    assert collect("square_convex", TINY).lost == ("numeric",)


def test_a_certificate_that_fails_its_check_loses_the_rational_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsync.verify.contraction.ladder.check", lambda _certificate: False)
    assert collect("square_convex", TINY).lost == ("rational",)


@pytest.mark.parametrize("label", MARGINS)
def test_a_broken_step_loses_the_symbolic_grade(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*STATEMENTS[label].derivation, Step("one is two", lambda: sympy.Integer(1)))
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], derivation=broken))
    row = collect(label, TINY)
    assert row.lost == ("symbolic",)
    assert row.outcomes["symbolic"].detail["unproved_claims"] == ["one is two"]


def test_a_statement_without_a_derivation_is_not_symbolic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATEMENTS, "random_k", replace(STATEMENTS["random_k"], derivation=()))
    assert collect("random_k", TINY).lost == ("symbolic",)


def test_larger_profiles_do_more() -> None:
    sizes = [(len(PROFILES[name].dimensions), PROFILES[name].examples_count) for name in ("smoke", "quick", "full")]
    assert sizes == sorted(sizes)
