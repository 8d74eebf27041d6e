"""The evidence for the limit of workers that report in turn notices a wrong limit, and its helpers are right."""

from dataclasses import replace
from fractions import Fraction

import numpy
import pytest
import sympy

from sparsync.theory.language.symbols import beta, n, tau
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay import turn_stability
from sparsync.verify.delay.root_moduli import is_stable, turn_matrix_polynomial, turn_polynomial
from sparsync.verify.delay.turn_stability import CHECKS, LABEL, encloses_limit, growth, joint_polynomial, limit
from sparsync.verify.tools.outcome import Grade, Profile

TINY = Profile(dimensions=(), examples_count=60)
ALL_GRADES: set[Grade] = {"rational", "ball", "property", "simulated"}
CASES = [(1, Fraction(1, 2)), (2, Fraction(0)), (5, Fraction(9, 10))]


def lost() -> set[Grade]:
    return {grade for grade, check in CHECKS[LABEL].items() if not check(TINY).earned}


def state(bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[LABEL]
    relation = statement.relation.func(statement.relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, LABEL, replace(statement, relation=relation))


@pytest.mark.slow
def test_the_limit_loses_no_grade() -> None:
    assert set(CHECKS[LABEL]) == ALL_GRADES
    assert lost() == set()


@pytest.mark.parametrize(
    "factor",
    [1 - sympy.Rational(1, 10**6), pytest.param(1 + sympy.Rational(1, 10**6), marks=pytest.mark.slow)],
)
def test_a_limit_wrong_by_a_millionth_loses_every_exact_grade(
    factor: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    state(STATEMENTS[LABEL].bound * factor, monkeypatch)
    assert lost() == ALL_GRADES - {"simulated"}


def test_one_heavy_ball_for_all_workers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    state(n * STATEMENTS["delayed_momentum_limit"].bound.subs(tau, n - 1), monkeypatch)
    assert lost() == ALL_GRADES


def test_a_wrong_sign_under_the_root_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    state(STATEMENTS[LABEL].bound.subs((1 - beta) ** 2, (1 + beta) ** 2), monkeypatch)
    assert lost() == ALL_GRADES


@pytest.mark.parametrize("case", CASES)
def test_the_largest_of_several_eigenvalues_decides(case: tuple[int, Fraction]) -> None:
    assert is_stable(joint_polynomial(case, -Fraction(1, 100)))
    assert not is_stable(joint_polynomial(case, Fraction(1, 100)))


@pytest.mark.parametrize("curvature", [1, 2])
def test_a_smaller_eigenvalue_does_not_decide(curvature: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_stability, "LARGEST_CURVATURE", curvature)
    assert not CHECKS[LABEL]["rational"](TINY).earned


@pytest.mark.parametrize("case", CASES)
def test_the_limit_is_enclosed_and_its_neighbours_are_not(case: tuple[int, Fraction]) -> None:
    value = limit(case)
    assert encloses_limit(value, case)
    assert not encloses_limit(value * (1 + Fraction(1, 10**8)), case)
    assert not encloses_limit(value * (1 - Fraction(1, 10**8)), case)


@pytest.mark.parametrize("case", CASES)
def test_a_turn_of_all_workers_has_the_powers_of_the_recursions_roots(case: tuple[int, Fraction]) -> None:
    count, momentum = case
    step = Fraction(1, 3)
    roots = numpy.roots([float(c) for c in reversed(turn_polynomial(step=step, worker_count=count, momentum=momentum))])
    turn = turn_matrix_polynomial(((1,),), step=step, worker_count=count, momentum=momentum)
    expected = numpy.concatenate((numpy.poly(roots**count), numpy.zeros(count)))
    assert [float(c) for c in reversed(turn)] == pytest.approx(list(expected), abs=1e-12)


def test_one_worker_without_momentum_contracts_by_one_minus_the_step() -> None:
    # 800 steps; the last four and the first four of the 801 models are compared.
    assert growth(0.5, (1, Fraction(0))) == pytest.approx(0.5**797)
