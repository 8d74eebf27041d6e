"""The evidence for the largest stable step: what it decides, and which wrong limits cost which grades."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import beta, tau
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay import stability
from sparsync.verify.delay.root_moduli import is_stable
from sparsync.verify.delay.stability import CHECKS, encloses_limit, growth, joint_polynomial, limit
from sparsync.verify.tools.outcome import Grade, Profile

TINY = Profile(dimensions=(), examples_count=60)
LIMITS = ["delayed_descent_limit", "delayed_momentum_limit"]


def lost(label: str) -> set[Grade]:
    return {grade for grade, check in CHECKS[label].items() if not check(TINY).earned}


def state(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))


@pytest.mark.parametrize("label", LIMITS)
@pytest.mark.parametrize(
    "factor",
    [1 - sympy.Rational(1, 10**6), pytest.param(1 + sympy.Rational(1, 10**6), marks=pytest.mark.slow)],
)
def test_a_limit_wrong_by_a_millionth_loses_every_exact_grade(
    label: str, factor: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    state(label, STATEMENTS[label].bound * factor, monkeypatch)
    assert {"rational", "ball", "property"} <= lost(label)


@pytest.mark.parametrize("label", LIMITS)
@pytest.mark.parametrize("case", [(0, Fraction(0)), (1, Fraction(0)), (4, Fraction(0))])
def test_the_largest_of_several_eigenvalues_decides(label: str, case: tuple[int, Fraction]) -> None:
    assert is_stable(joint_polynomial(label, case, -Fraction(1, 100)))
    assert not is_stable(joint_polynomial(label, case, Fraction(1, 100)))


@pytest.mark.parametrize("curvature", [1, 2])
def test_a_smaller_eigenvalue_does_not_decide(curvature: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stability, "LARGEST_CURVATURE", curvature)
    assert not CHECKS["delayed_descent_limit"]["rational"](TINY).earned


def test_a_limit_wrong_by_a_tenth_loses_the_simulated_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    state("delayed_descent_limit", STATEMENTS["delayed_descent_limit"].bound * sympy.Rational(9, 10), monkeypatch)
    assert "simulated" in lost("delayed_descent_limit")


def test_momentum_without_its_effect_on_the_angle_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    half = sympy.sin(sympy.pi / (2 * (2 * tau + 1)))
    state("delayed_momentum_limit", 2 * half * sympy.sqrt((1 - beta) ** 2 + 4 * beta * half**2), monkeypatch)
    assert lost("delayed_momentum_limit") == {"rational", "ball", "property", "simulated"}


@pytest.mark.parametrize(("steps_late", "momentum"), [(0, Fraction(1, 2)), (1, Fraction(0)), (5, Fraction(9, 10))])
def test_the_limit_is_enclosed_and_its_neighbours_are_not(steps_late: int, momentum: Fraction) -> None:
    value = limit("delayed_momentum_limit", (steps_late, momentum))
    assert encloses_limit(value, (steps_late, momentum))
    assert not encloses_limit(value * (1 + Fraction(1, 10**8)), (steps_late, momentum))
    assert not encloses_limit(value * (1 - Fraction(1, 10**8)), (steps_late, momentum))


def test_descent_without_delay_contracts_by_one_minus_the_step() -> None:
    # 400 steps; the last two and the first two iterates are compared.
    assert growth(0.5, (0, Fraction(0))) == pytest.approx(0.5**399)
