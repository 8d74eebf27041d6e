from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import beta, eta, gradient, tau, virtual_iterate
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay import stability
from sparsync.verify.delay.delayed_rate import best_rate, best_step, rate_margin, step_cases
from sparsync.verify.delay.root_moduli import delayed_polynomial, is_stable, largest_modulus
from sparsync.verify.delay.stability import CHECKS, encloses_limit, growth, joint_polynomial, limit
from sparsync.verify.delay.virtual_iterate import arrivals, identity_margin
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin

TINY = Profile(dimensions=(), examples_count=60)
LIMITS = ["delayed_descent_limit", "delayed_momentum_limit"]


def lost(label: str) -> set[Grade]:
    return {grade for grade, check in CHECKS[label].items() if not check(TINY).earned}


def state(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))


@pytest.mark.parametrize("label", LIMITS)
@pytest.mark.parametrize("factor", [1 - sympy.Rational(1, 10**6), 1 + sympy.Rational(1, 10**6)])
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


def test_a_smaller_rate_is_not_attained_and_a_larger_one_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    state("delayed_descent_rate", tau / (tau + 2), monkeypatch)
    assert lost("delayed_descent_rate") == {"rational", "property"}
    monkeypatch.undo()
    state("delayed_descent_rate", (tau + 1) / (tau + 2), monkeypatch)
    assert lost("delayed_descent_rate") == {"rational", "property"}


def test_the_search_finds_the_best_step() -> None:
    found = search_margin(rate_margin, step_cases(), max_examples=100)
    assert found.case[1] == 1
    assert abs(float(found.smallest_margin)) < 1e-12


@pytest.mark.parametrize("relative", [Fraction(99, 100), Fraction(101, 100)])
@pytest.mark.parametrize("steps_late", [1, 3, 10])
def test_no_other_step_is_as_fast(steps_late: int, relative: Fraction) -> None:
    polynomial = delayed_polynomial(step=best_step(steps_late) * relative, delay=steps_late)
    assert float(largest_modulus(polynomial)) > float(best_rate(steps_late)) + 1e-4


def test_a_virtual_iterate_that_forgets_the_queue_is_caught() -> None:
    def forgets(iterate: Fraction, residual: Fraction, _step_size: Fraction, _queue: Sequence[Fraction]) -> Fraction:
        return iterate - residual

    def margin(step_size: Fraction, events: Sequence[tuple[Fraction, list[int], Fraction]]) -> Fraction:
        return identity_margin(step_size, events, definition=forgets)

    assert search_margin(margin, arrivals(), max_examples=60).found_counterexample


def test_a_virtual_iterate_with_the_wrong_sign_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    state("delayed_virtual_iterate", virtual_iterate + eta * gradient, monkeypatch)
    assert lost("delayed_virtual_iterate") == {"property"}
